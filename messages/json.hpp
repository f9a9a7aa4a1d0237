// The one codec between values and JSON: names on disk, on the wire and between nodes are decided
// here. Encoding never fails (text is valid UTF-8 by the time it is a value). Decoding answers a
// failure (persistence_failed) that names the field; unknown fields are ignored, unknown kinds are
// failures.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "messages/events.hpp"
#include "messages/journal_entry.hpp"
#include "messages/result.hpp"

namespace rind {

// Each enum has its wire spelling; the reader, from_word<Enum> in messages/words.hpp, answers
// nullopt for an unknown word.
const char* to_string(message_role value);
const char* to_string(user_origin value);
const char* to_string(tool_status value);
const char* to_string(input_mode value);
const char* to_string(operation_kind value);
const char* to_string(sampling_kind value);
const char* to_string(cancel_reason value);
const char* to_string(entries::turn_outcome value);
const char* to_string(token_source value);
const char* to_string(finish_reason value);
const char* to_string(compaction_phase value);
const char* to_string(replacement_kind value);

/// Compact JSON text. Never fails: bytes that are no UTF-8 become U+FFFD.
std::string dump_json(const nlohmann::json& value);

/// Arrays and objects that JSON text from outside may nest (S40), the outermost one included.
inline constexpr std::size_t json_depth_limit = 64;
/// Whether JSON text nests deeper than `limit`; reads the text once and keeps no stack, so that any
/// text is safe. Of text that is no JSON only the brackets outside of strings are counted.
bool nests_deeper_than(std::string_view text, std::size_t limit);

/// A message as it is journaled; the digest of a compaction record is taken over this text (dump of
/// this value, compact).
nlohmann::json to_json(const message& value);
result<message> message_from_json(const nlohmann::json& value);

nlohmann::json to_json(const token_usage& value); // null where nothing is known
token_usage usage_from_json(const nlohmann::json& value);

nlohmann::json to_json(const failure_details& value);
nlohmann::json to_json(const failure& value); // as it is journaled
std::optional<failure> failure_from_json(const nlohmann::json& value);

/// The record exactly as docs/protocol.md gives it; the summary's model and the shortened bodies
/// stand in `diagnostics`, which is left out where there is nothing to say. Reading back gives the
/// same record, for times from year 0 to 9999.
nlohmann::json to_json(const compaction_record& value);
result<compaction_record> record_from_json(const nlohmann::json& value);

/// The kind of an entry as it is stored (`user_message`, `boundary`, …).
const char* kind_of(const entry_body& body);
/// The body as stored, without its kind.
std::string encode_body(const entry_body& body);
result<entry_body> decode_body(std::string_view kind, std::string_view text);

/// `stats` of `context_built` and of `rind/context/inspect` share this form.
nlohmann::json to_json(const context_stats& value);

/// The form of the terminal events' `undelivered`: `{"input_id","mode","input"}`.
nlohmann::json to_json(const undelivered_input& value);

/// Milliseconds since the epoch as `2026-01-01T00:00:00.000Z`, and back (nullopt for any other
/// form). Times outside of the years 0 to 9999 are moved to the nearest one inside.
std::string format_time(std::int64_t time_ms);
std::optional<std::int64_t> parse_time(std::string_view text);

/// Text without invalid UTF-8: each bad byte sequence becomes U+FFFD. Well-formed text comes back
/// unchanged.
std::string repair_utf8(std::string_view text);
bool is_valid_utf8(std::string_view text);
/// Unicode code points in well-formed UTF-8.
std::int64_t count_characters(std::string_view text);
/// The first `characters` code points of well-formed UTF-8; the whole text where it has no more.
std::string_view first_characters(std::string_view text, std::int64_t characters);

} // namespace rind
