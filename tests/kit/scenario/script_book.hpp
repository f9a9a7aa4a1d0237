// What a scenario's model and tools answer: the lines of each session in order, and polite answers
// after them. The model counts tokens its own way and refuses what does not fit, as a real one
// would.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "tests/kit/scenario/scenario.hpp"
#include "tests/kit/simulation/scripted_model.hpp"
#include "tests/kit/simulation/scripted_tool.hpp"

namespace rind::kit {

/// A text of about so many tokens that begins with its mark, "s0:i7 ", so that it tells where it
/// came from: an input, an answer (r), what was thought before it (k), a tool's result (t).
std::string marked_text(const std::string& session, char kind, const std::string& id,
                        std::int64_t tokens);

class script_book {
public:
  explicit script_book(const scenario& s);

  /// Whether a line of the scenario, or the window, says how this is answered.
  bool has_answer(const sampling_request& request) const;
  scripted_reply reply_to(const sampling_request& request);
  tool_script reply_to(const tools::invocation& call);
  /// From here on everything is answered politely.
  void be_polite();
  /// Tokens of a request as the model counts them.
  std::int64_t counted(const sampling_request& request) const;

private:
  struct shelf {
    std::deque<model_line> conversation;
    std::deque<model_line> summaries;
    std::deque<tool_line> tools;
    std::int64_t answers = 0; // given so far, for marks and call ids
    std::int64_t results = 0;
  };
  bool fits(const sampling_request& request, std::int64_t count) const;
  scripted_reply refusal(const model_line& line, std::int64_t count) const;
  scripted_reply answer(const model_line& line, const sampling_request& request,
                        std::int64_t count);

  scenario_world world_;
  std::map<std::string, shelf> shelves_; // by session
};

} // namespace rind::kit
