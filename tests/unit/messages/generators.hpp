// RapidCheck generators of the values in messages/. All texts are well-formed UTF-8, as they are by
// the time they are values.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <rapidcheck.h>

#include "messages/words.hpp"

namespace rind::gen {

inline rc::Gen<std::string> text() {
  const std::vector<std::string> pieces{
      "a",  "Z", " ",   "\n", "\t", "\"", "\\", "é", "漢", "🦊", std::string(1, '\0'),
      "{}", "0", "null"};
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(pieces)),
                      [](const std::vector<std::string>& chosen) {
                        std::string out;
                        for (const auto& piece : chosen)
                          out += piece;
                        return out;
                      });
}

template <class Enum>
rc::Gen<Enum> word() {
  return rc::gen::map(rc::gen::inRange(0, static_cast<int>(last_word<Enum>) + 1),
                      [](int value) { return static_cast<Enum>(value); });
}

inline rc::Gen<std::int64_t> number() {
  return rc::gen::arbitrary<std::int64_t>();
}

template <class T>
std::optional<T> maybe(const rc::Gen<T>& generator) {
  return *rc::gen::arbitrary<bool>() ? std::optional<T>(*generator) : std::nullopt;
}

template <class Make>
auto some(Make make) {
  std::vector<decltype(make())> out;
  for (int left = *rc::gen::inRange(0, 3); left > 0; --left)
    out.push_back(make());
  return out;
}

inline token_usage usage() {
  return {maybe(number()), maybe(number()), maybe(number()), maybe(number())};
}

inline tool_call call() {
  return {*text(), *text(), *text()};
}

inline message any_message() {
  message m;
  m.role = *word<message_role>();
  m.content = *text();
  m.origin = *word<user_origin>();
  m.input_id = *text();
  m.tool_calls = some(call);
  if (*rc::gen::arbitrary<bool>())
    m.reasoning = reasoning_block{*text(), *text()};
  m.model = *text();
  m.tool_call_id = *text();
  m.name = *text();
  m.is_error = *rc::gen::arbitrary<bool>();
  return m;
}

inline message_ptr shared_message() {
  return std::make_shared<const message>(any_message());
}

inline failure any_failure() {
  failure f;
  f.code = *word<error_code>();
  f.message = *text();
  f.error_type = *text();
  f.source = *word<error_source>();
  f.status = *word<failure_status>();
  f.details.estimated_tokens = maybe(number());
  f.details.limit_tokens = maybe(number());
  if (*rc::gen::arbitrary<bool>())
    f.details.retry_after_s = static_cast<double>(*rc::gen::arbitrary<std::int32_t>()) / 7.0;
  f.details.bytes = maybe(number());
  f.details.limit_bytes = maybe(number());
  f.details.attempts = some([] { return refused_attempt{*number(), *number()}; });
  return f;
}

inline compaction_record record() {
  constexpr std::int64_t year_2200_ms = 7'258'118'400'000;
  compaction_record r;
  r.id = *text();
  r.created_at_ms = *rc::gen::inRange<std::int64_t>(-year_2200_ms, year_2200_ms);
  r.reason = *word<compaction_reason>();
  r.phase = *word<compaction_phase>();
  r.detail = *word<phase_detail>();
  r.strategy = *word<compaction_strategy>();
  r.generation = *number();
  r.message_start_index = *number();
  r.message_end_index_exclusive = *number();
  r.tool_call_ids = some([] { return *text(); });
  r.history_digest = *text();
  r.continuation_text = maybe(text());
  r.handoff_text = maybe(text());
  r.replaced = some([] { return replacement{*number(), *number(), *word<replacement_kind>()}; });
  r.tokens_before = *number();
  r.tokens_after = *number();
  if (*rc::gen::arbitrary<bool>())
    r.usage = usage();
  if (*rc::gen::arbitrary<bool>())
    r.fallback = fallback_cause{*text(), *text(), *text()};
  r.summary_model = *text();
  r.shortened_bodies = *number();
  return r;
}

/// A body of the given alternative with every field chosen.
inline entry_body body(std::size_t alternative) {
  switch (alternative) {
  case 0:
    return entries::session_created{*text(), *text()};
  case 1:
    return entries::turn_started{*word<operation_kind>(), *number(), *rc::gen::arbitrary<bool>(),
                                 *rc::gen::arbitrary<bool>(), *text()};
  case 2:
    return entries::user_message{shared_message()};
  case 3:
    return entries::assistant_message{shared_message(), usage(),   *number(),
                                      *number(),        *number(), *number()};
  case 4:
    return entries::tool_requested{call()};
  case 5:
    return entries::tool_result{shared_message(), *word<tool_status>(), *text(), *text(),
                                *number()};
  case 6:
    return entries::input_accepted{*text(), *word<input_mode>(), *text()};
  case 7:
    return entries::input_delivered{shared_message()};
  case 8:
    return entries::input_promoted{*text()};
  case 9:
    return entries::input_taken_back{*text()};
  case 10:
    return entries::attempt_started{*number(), *number(),       *number(),      *number(),
                                    *number(), maybe(number()), maybe(number())};
  case 11:
    return entries::usage_recorded{*word<sampling_kind>(), *text(), usage()};
  case 12:
    return entries::boundary{std::make_shared<const compaction_record>(record())};
  case 13:
    return entries::model_set{*text()};
  case 14:
    return entries::window_learned{*text(), *number()};
  default: {
    entries::turn_ended ended;
    ended.outcome = *word<entries::turn_outcome>();
    ended.duration_ms = *number();
    ended.samplings = *number();
    ended.compactions = *number();
    if (*rc::gen::arbitrary<bool>())
      ended.error = any_failure();
    ended.reason = *word<cancel_reason>();
    ended.undelivered = some([] {
      return undelivered_input{*text(), *word<input_mode>(), *text()};
    });
    return ended;
  }
  }
}

} // namespace rind::gen
