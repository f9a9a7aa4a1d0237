// How a recording is played: which message is a prompt, which one the model answers with, which
// results the tools give, where the client cancels, and what cannot be played at all. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "hosts/replay/recording.hpp"

namespace rind::hosts::replay {

enum class step_kind : std::uint8_t {
  answer,      // the assistant message, whole
  cut,         // streamed, then the client cancels: no message (counted as discarded)
  interrupted, // streamed, then the stream breaks and the next step answers the retry (discarded)
};

/// What the model does with one request. Numbers are places in the recording.
struct step {
  step_kind kind = step_kind::answer;
  std::vector<std::size_t> assistants; // one; `interrupted` may stand for several in a row
  std::vector<std::size_t> results;    // answer: of its calls, in recorded order
  bool hangs = false;                  // answer: some call has no result; the client cancels
};

/// One prompt and what follows it. A request beyond the last step is left open until the client
/// cancels: the recording has the user's next words there, or its end.
struct turn {
  std::size_t prompt = 0;
  std::vector<step> steps;
};

struct plan {
  std::vector<turn> turns;
  std::vector<std::size_t> journaled; // in the order in which the journal has to hold them
  std::size_t discarded = 0;          // assistant messages that are streamed and thrown away
  std::size_t skipped = 0; // nothing can bring them about: an answer to nobody, a result of no call
};

/// Every message of the recording is in exactly one of journaled, discarded and skipped.
plan make_plan(const recording& r);

} // namespace rind::hosts::replay
