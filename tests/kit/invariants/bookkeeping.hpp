// What several invariants keep of a run, each for itself: which operation a session's journal shows
// as open, which marks stand in a text, and words for breaches. Nothing here knows the runtime.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "messages/journal_entry.hpp"
#include "runtime/journal/port.hpp"

namespace rind::kit {

/// The body of an entry where it is of that kind, else null.
template <class Body>
const Body* as(const entry& e) {
  return std::get_if<Body>(&e.body);
}

/// Its parts in a row, numbers in digits.
template <class... Parts>
std::string words(const Parts&... parts) {
  std::string text;
  const auto add = [&text](const auto& part) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(part)>>)
      text += std::to_string(part);
    else
      text += part;
  };
  (add(parts), ...);
  return text;
}

/// "s0 turn-3: ", as breaches begin.
inline std::string at(const std::string& session_id, const std::string& turn_id) {
  return turn_id.empty() ? session_id + ": " : session_id + " " + turn_id + ": ";
}

/// Bytes at the beginning of a tool's result that no shortening takes away.
inline constexpr std::size_t kept_bytes = 1'000;

/// The operation that a session's journal shows as open.
struct open_operation {
  std::string turn_id; // empty: none
  operation_kind kind = operation_kind::turn;

  /// After an entry was looked at with the state before it.
  void take(const entry& e) {
    if (const auto* started = as<entries::turn_started>(e)) {
      turn_id = e.turn_id;
      kind = started->operation;
    } else if (as<entries::turn_ended>(e)) {
      turn_id.clear();
    }
  }
};

/// Which operation may be carried on by somebody who lost it: its session was taken over while it
/// was open, or its runner died. What still reaches a model or a tool in its name says nothing of
/// the owner.
class ownership {
public:
  void on_append(const journal::append_request& request, const std::string& open_turn) {
    if (request.epoch <= epoch_)
      return;
    if (epoch_ != 0 && !crashed_ && !open_turn.empty())
      orphan_ = open_turn;
    epoch_ = request.epoch;
    crashed_ = false;
  }
  /// Nothing is left that could carry it on.
  void on_crash() { crashed_ = true; }
  void on_runner_lost(const std::string& turn_id) { orphan_ = turn_id; }
  bool is_orphan(const std::string& turn_id) const {
    return !turn_id.empty() && turn_id == orphan_;
  }

private:
  std::uint64_t epoch_ = 0;
  bool crashed_ = false;
  std::string orphan_;
};

/// Whether an operation ended because the actor that carried it out was lost.
inline bool ended_without_runner(const entries::turn_ended& end) {
  return end.error && end.error->code == error_code::internal_error &&
         end.error->message.find("runner was lost") != std::string::npos;
}

/// A mark of a scripted text, "s0:r12 ": whose session, what it is ('i' input, 'r' answer, 't' tool
/// result), and its id.
struct text_mark {
  std::string_view session;
  char kind = 0;
  std::string_view id;
};

/// Calls `found` with each mark in a text; texts without a colon cost one look.
template <class Found>
void each_mark(std::string_view text, Found found) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (auto colon = text.find(':'); colon != std::string_view::npos;
       colon = text.find(':', colon + 1)) {
    auto begin = colon;
    while (begin > 0 && is_digit(text[begin - 1]))
      --begin;
    if (begin == colon || begin == 0 || text[begin - 1] != 's' || colon + 2 >= text.size())
      continue;
    --begin;
    const char kind = text[colon + 1];
    if (kind != 'i' && kind != 'r' && kind != 't')
      continue;
    const auto end = text.find(' ', colon);
    if (end == std::string_view::npos || end == colon + 2)
      continue; // cut off: no whole mark
    found(text_mark{text.substr(begin, colon - begin), kind,
                    text.substr(colon + 2, end - colon - 2)});
  }
}

/// Where one map entry a session is kept.
template <class T>
using by_session = std::map<std::string, T, std::less<>>;

} // namespace rind::kit
