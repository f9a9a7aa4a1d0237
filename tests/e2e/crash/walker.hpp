// A client that talks with one session across crashes of the host: it prompts, steers, follows up,
// takes back, promotes and compacts as chance has it, and writes down in its ledger what it was
// told. When the host is killed belongs to the test.
#pragma once

#include <functional>
#include <memory>
#include <random>

#include "tests/e2e/crash/ledger.hpp"
#include "tests/kit/protocol_peer.hpp"

namespace rind::e2e {

/// Which work the prompts ask for, as weights.
struct appetite {
  int talk = 2;     // long texts: the context fills and is compacted
  int tools = 2;    // a batch of tool calls
  int overflow = 1; // the provider refuses twice: compaction, then a rescue
  int compact = 1;  // by hand
};

class walker {
public:
  walker(std::string session_id, std::uint64_t seed)
      : session_id_(std::move(session_id)), chance_(seed) {}

  /// Connects, replays everything, checks it against the ledger, follows from where the last
  /// connection ended, and goes on: what was interrupted is resumed, settled or sent again.
  void connect(const std::string& socket_path, complaints& out);
  /// The host is dead: what it still sent is read and told, nothing is sent any more.
  void lose_connection(complaints& out);
  /// One frame that arrived.
  void take(const nlohmann::json& frame, complaints& out);

  void set_appetite(const appetite& what) { appetite_ = what; }
  /// From now on nothing new is begun; what is open ends.
  void wind_down();
  bool is_idle() const { return open_requests_.empty() && !is_running_; }

  const std::string& session_id() const { return session_id_; }
  ledger& book() { return book_; }
  kit::protocol_peer& peer() { return *peer_; }
  /// Both replays in full.
  whole_session replay();

private:
  struct open_request {
    std::string kind; // prompt, resume, steer, follow_up, take_back, promote, compact, settle
    std::string input_id;
  };

  void send(const std::string& kind, const std::string& input_id, const std::string& method,
            nlohmann::json params);
  void on_event(const nlohmann::json& event, complaints& out);
  void on_answer(const open_request& request, const nlohmann::json& frame, complaints& out);
  void on_refusal(const open_request& request, const nlohmann::json& error, complaints& out);
  void go_on();
  void go_on_after_crash(const nlohmann::json& turn_state);
  void send_new_prompt();
  void send_prompt_again();
  void meddle();
  std::vector<nlohmann::json> replay_pages(const std::string& mode, nlohmann::json* turn_state);

  bool happens(int percent) { return static_cast<int>(chance_() % 100) < percent; }
  std::string next_name(const std::string& kind) {
    return session_id_ + "-" + kind + std::to_string(++names_);
  }

  std::string session_id_;
  std::mt19937_64 chance_;
  appetite appetite_;
  ledger book_;
  std::unique_ptr<kit::protocol_peer> peer_;
  std::map<std::int64_t, open_request> open_requests_;
  std::string prompt_id_; // the prompt that is out, answered by nobody yet; survives the connection
  std::string prompt_text_;
  std::string last_follow_up_;
  bool is_running_ = false;
  bool is_winding_down_ = false;
  bool is_lost_ = false;
  int names_ = 0;
};

} // namespace rind::e2e
