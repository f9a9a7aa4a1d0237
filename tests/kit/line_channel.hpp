// Lines over a pair of descriptors without a thread: the test decides when bytes move. Nothing is
// known of what the lines mean.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rind::kit {

class line_channel {
public:
  /// Owns both; they may be the same. -1: that direction is closed.
  line_channel(int in_fd, int out_fd);
  ~line_channel();
  line_channel(const line_channel&) = delete;
  line_channel& operator=(const line_channel&) = delete;

  /// Connects to a Unix socket. Throws std::system_error.
  static std::unique_ptr<line_channel> connect(const std::string& path);

  /// Queues bytes and writes what the other side takes now.
  void send(const std::string& bytes);
  void send_line(const std::string& line) { send(line + "\n"); }
  /// Everything queued before was written, then the end of input is told.
  void close_input();

  /// A whole line that has arrived, without its newline.
  std::optional<std::string> take_line();
  /// The same, waiting at most `deadline_ms`; none: the other side ended, or the deadline passed.
  std::optional<std::string> next_line(std::int64_t deadline_ms = 30'000);
  /// Reads until the other side ends, or the deadline.
  void read_to_end(std::int64_t deadline_ms = 30'000);
  /// What arrived and is no whole line.
  const std::string& rest() const { return partial_; }
  /// The other side ended; lines that came before can still be taken.
  bool is_ended() const { return ended_; }

  /// Moves bytes in both directions on any of the channels; waits for the first at most
  /// `deadline_ms`. False: nothing moved.
  static bool move_bytes(const std::vector<line_channel*>& channels, std::int64_t deadline_ms);

private:
  void read_some();
  void write_some();

  int in_fd_;
  int out_fd_;
  bool ended_ = false;
  bool close_when_written_ = false;
  std::string unsent_;
  std::string partial_;
  std::deque<std::string> lines_;
};

} // namespace rind::kit
