// Journal entries for tests, each in a line: what matters is passed in, the rest has a plausible
// value.
#pragma once

#include "runtime/journal/port.hpp"

namespace rind::kit {

/// The moment at which the sample entries begin.
inline constexpr std::int64_t sample_time_ms = 1'767'225'600'000;

entry sample_entry(std::string id, entry_body body, std::int64_t time_ms = sample_time_ms,
                   std::string turn_id = {});

entry_body sample_created(std::string model = "model-a");
entry_body sample_turn_started(operation_kind operation = operation_kind::turn);
entry_body sample_prompt(std::string text, std::string input_id = {});
entry_body sample_answer(std::string text);
entry_body sample_accepted(std::string input_id, input_mode mode, std::string text);
entry_body sample_delivered(std::string input_id, input_mode mode, std::string text);
entry_body sample_boundary(std::int64_t generation);
entry_body sample_ended(entries::turn_outcome outcome);

journal::append_request sample_append(std::string session_id, std::uint64_t epoch,
                                      std::vector<entry> entries);
/// Creates a session by one session_created entry with the id `<session_id>/1`.
journal::append_request sample_create(const std::string& session_id,
                                      std::int64_t time_ms = sample_time_ms);

} // namespace rind::kit
