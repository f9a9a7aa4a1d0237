// Golden transcripts of the session protocol: a file says what is started, what is sent and up to
// where is read; the frames that have to come stand under each step, masked. docs/testing.md says
// how to write one.
//
// Lines of a file:
//   # text                     a comment
//   @ start {"arguments": [...], "mock": [...]}   starts `rind` with the arguments; `mock`: rules
//   of a mock provider, started before > line                     sends the line as it stands
//   @ until response ID        reads up to and with the response to the request (JSON: 3, "a",
//   null)
//   @ until event TYPE         reads up to and with the first event of the type
//   @ until end                reads to the end of the output
//   @ open NAME                lets a tool go on that reads the fifo NAME of the test's folder
//   @ signal TERM|INT|KILL     sends a signal
//   @ close-input              ends the program's input
//   @ exit CODE                waits for the program and compares its exit code
//   < frame                    a frame that the step above has to give
// In all lines {folder} is the test's folder, {url} the mock provider and {repeat N TEXT} the text
// N times. `gate` is a fifo.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace rind::protocol_test {

/// Makes frames comparable. Masked are what chance and the clock choose and what only the estimator
/// decides:
/// - ids that the host makes: `<turn-1>`, `<session-2>`, numbered by their first appearance in the
/// transcript;
/// - times: `<time>`; `duration_ms` and a delay: `<ms>`; `version`, digests, the test's folder and
/// the mock provider's address;
/// - numbers whose name ends in `_tokens`, `tokens_before`, `tokens_after` and percentages: `<n>`;
/// so are numbers of three digits and
///   more in a text that speaks of tokens;
/// - texts of more than 2,000 bytes keep their head;
/// - `sequence` is left out: check_sequence looks at it.
/// Neighbouring deltas of one sampling become one frame with the whole text.
class frame_mask {
public:
  frame_mask(std::string folder, std::string url)
      : folder_(std::move(folder)), url_(std::move(url)) {}
  void set_url(std::string url) { url_ = std::move(url); }

  std::vector<std::string> apply(const std::vector<nlohmann::json>& frames);

private:
  std::string mask_text(std::string text);
  nlohmann::json mask_value(const std::string& key, const nlohmann::json& value);

  std::string folder_;
  std::string url_;
  std::vector<std::string> ids_; // in order of appearance
};

/// Plays a file and gives it back as it should read: the same lines, with the frames that really
/// came. `problems` are what no comparison of frames would show: steps that got stuck, wrong exit
/// codes, a sequence with a gap.
std::string play(const std::string& text, std::vector<std::string>& problems);

} // namespace rind::protocol_test
