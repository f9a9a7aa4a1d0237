// An answer in words of no format: what is said, in pieces and with all ids and counts made, before
// a format gives it its form. Pure: the same rule and request always give the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "hosts/mock_provider/script.hpp"

namespace rind::hosts::mock_provider {

/// Code points of one piece of reasoning and of tool arguments.
inline constexpr std::size_t piece_chars = 16;

/// In tokens. `cached` is a part of `input`, `reasoning` one of `output`.
struct token_counts {
  std::int64_t input = 0;
  std::int64_t cached = 0;
  std::int64_t output = 0;
  std::int64_t reasoning = 0;
};

struct spoken_answer {
  std::string id;  ///< of the answer: conversation and place in it
  std::string tag; ///< a short form of `id`, hexadecimal, for the ids of its parts
  std::string model;
  bool reasons = false;               ///< false: no reasoning at all, not even an empty one
  std::vector<std::string> reasoning; ///< pieces; none where it is hidden
  std::string hidden_reasoning;       ///< only its sealed form may be sent
  std::vector<std::string> text;      ///< pieces
  std::vector<scripted_call> calls;   ///< each has an id
  std::string finish;                 ///< a neutral word or the script's own; empty: none is sent
  usage_mode usage = usage_mode::counted;
  nlohmann::json usage_object; ///< of usage_mode::scripted
  token_counts counts;         ///< of usage_mode::counted
  bool reports_usage = true;   ///< false: the client did not ask for a report in the stream
  bool seals_reasoning = false;
  bool done_marker = true;
  nlohmann::json stream_error; ///< null: none
  nlohmann::json error_field;  ///< null: none
};

spoken_answer speak(const picked_answer& picked, const mock_request& request);

std::string joined(const std::vector<std::string>& pieces);

/// A neutral word and what a format says for it.
struct format_word {
  std::string_view neutral;
  std::string_view own;
};

/// The format's word; a word that is not in the table stays what it is.
std::string in_words_of(std::span<const format_word> words, const std::string& word);

/// Tokens of so many bytes: a quarter, rounded up.
std::int64_t tokens_in(std::size_t bytes);

/// Compact JSON; bytes that are not UTF-8 are replaced.
template <class Json>
std::string dumped(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace rind::hosts::mock_provider
