// Turns the events of a session into what a person reads. Pure: event frames in, pieces of text and
// a status out; wrapping, colours and the terminal are left to screen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "runtime/protocol/number_text.hpp"

namespace rind::hosts::chat {

enum class text_style : std::uint8_t { answer, user, quiet, notice, warning, error };

/// A piece of text without newlines that goes on where the piece before it stopped; `ends_line`:
/// what follows starts a new line.
struct piece {
  text_style style = text_style::answer;
  std::string text;
  bool ends_line = true;
  friend bool operator==(const piece&, const piece&) = default;
};

/// everything: for a person at a terminal. answers_only: for a pipe; whole messages as the model
/// wrote them, and errors.
enum class transcript_detail : std::uint8_t { everything, answers_only };

/// `[###.....] 41 % of 32k, generation 2`; without a known window an empty text.
std::string context_gauge(double used_percent, std::int64_t window_tokens, std::int64_t generation);
using protocol::grouped;
/// 900, 8.2k, 32k, 1.5M
std::string short_count(std::int64_t number);

class transcript_renderer {
public:
  explicit transcript_renderer(transcript_detail detail) : detail_(detail) {}

  /// One event frame, live or from a replay. An event of a type that is not known is ignored.
  void take_event(const nlohmann::json& frame);
  /// What the user sent, as it shall stand in the transcript.
  void take_user_text(const std::string& text, const std::string& mark);
  /// Lines that are no event: an answer to a command, a refused request.
  void say(text_style style, const std::string& text);
  /// The stats of a session that nothing was heard of yet: for the gauge.
  void take_stats(const nlohmann::json& stats);
  /// Another session is shown from here on.
  void forget_session();

  std::vector<piece> take_pieces();
  /// The gauge and what is going on; empty while nothing is known.
  std::string status() const;
  bool is_turn_running() const { return running_; }
  bool has_failed() const { return failed_; }
  /// Compactions that were told since the start.
  std::int64_t compactions_told() const { return compactions_told_; }

private:
  void context_built(const nlohmann::json& event);
  void token_stats_updated(const nlohmann::json& event);
  void delta(const nlohmann::json& event);
  void message_completed(const nlohmann::json& event);
  void tool_requested(const nlohmann::json& event);
  void tool_result(const nlohmann::json& event);
  void compaction_started(const nlohmann::json& event);
  void compaction_ended(const nlohmann::json& event);
  void context_compacted(const nlohmann::json& event);
  void retry(const nlohmann::json& event);
  void input_delivered(const nlohmann::json& event);
  void turn_started(const nlohmann::json& event);
  void turn_ended(const nlohmann::json& event, const std::string& type);
  void stream(const std::string& text);
  void end_open_line();
  void line(text_style style, const std::string& text);
  bool is_quiet() const { return detail_ == transcript_detail::answers_only; }

  transcript_detail detail_;
  std::vector<piece> pieces_;
  bool open_line_ = false; // the last piece did not end its line
  std::string streamed_;   // of the message that is being written
  bool running_ = false;
  bool failed_ = false; // a turn, since the start
  std::int64_t compactions_told_ = 0;
  std::string activity_;
  double used_percent_ = 0;
  std::int64_t window_tokens_ = 0;
  std::int64_t generation_ = 0;
};

} // namespace rind::hosts::chat
