// A way to a PostgreSQL server that breaks when a test wants it to: bytes go both ways over a Unix
// socket of its own until a cut was asked for.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "tests/kit/temp_folder.hpp"

namespace rind::test {

/// Where the connection breaks, counted in flights of the client from the next one on.
enum class cut_at : std::uint8_t {
  request, // before the server gets it
  answer,  // the server has answered, and the client never hears it
};

class cutting_proxy {
public:
  /// Throws std::runtime_error where the system refuses.
  explicit cutting_proxy(std::string server_socket);
  ~cutting_proxy();
  cutting_proxy(const cutting_proxy&) = delete;
  cutting_proxy& operator=(const cutting_proxy&) = delete;

  /// The address of a database through this, from its address on the server.
  std::string address(const std::string& database) const;
  /// Breaks the connection once, at the `flight`th flight from now (1: the next one).
  void cut(cut_at where, int flight);
  /// Whether the cut that was asked for has been made.
  bool has_cut() const { return flights_left_ == 0; }
  /// Connections that were accepted so far.
  int accepted() const { return accepted_; }

private:
  void serve();
  /// Carries bytes until one side ends or the cut is made.
  void carry(int client, int server);
  bool reaches_cut();

  kit::temp_folder folder_;
  std::string server_socket_;
  int listener_ = -1;
  int stop_[2] = {-1, -1};
  std::atomic<cut_at> where_ = cut_at::request;
  std::atomic<int> flights_left_ = -1; // below 0: none was asked for
  std::atomic<int> accepted_ = 0;
  std::thread thread_;
};

} // namespace rind::test
