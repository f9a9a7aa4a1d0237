// The client of one session: plays its part of the demo step by step and keeps what it was told.
#pragma once

#include <future>
#include <map>
#include <set>

#include "hosts/demo/crash_gate.hpp"
#include "hosts/demo/links.hpp"
#include "hosts/demo/provider_watch.hpp"
#include "hosts/demo/session_log.hpp"
#include "hosts/demo/workload.hpp"

namespace rind::hosts::demo {

/// What one client can testify when the run is over.
struct session_evidence {
  std::string session_id;
  std::string failed_step; // why it stopped early; empty: it did all of its steps
  session_view seen;
  std::vector<nlohmann::json> replayed;        // durable events, read anew at the end
  std::map<std::string, std::string> accepted; // input id -> mode, as answered
  std::set<std::string> taken_back;            // input ids that an answer gave back
  std::map<std::string, std::string> outcomes; // turn id -> outcome, as answered
};

/// What the drivers share.
struct demo_stage {
  const run_state& run;
  links& connections;
  provider_watch& watch;
  crash_gate& gate;
  progress& totals;
};

class session_driver {
public:
  session_driver(demo_stage stage, int session);

  /// All steps. Blocks; bounded by the waits of the run.
  void play();
  /// After `play`.
  session_evidence evidence() const;

private:
  using response = client::response;
  struct step_failed {
    std::string why;
  };

  void play_steps();
  void work();
  void steer();
  void steer_while_it_runs();
  void cancel();
  void compact();
  void meet_the_crash();
  void crash_in_stream(bool with_inputs);
  void crash_in_manual_compaction();
  void crash_in_auto_compaction();
  void fill_until(const char* prompt, const std::string& what, const session_log::event_test& seen);
  void read_again();

  /// A prompt on its way.
  struct sent_prompt {
    nlohmann::json params;
    std::future<response> reply;
  };
  sent_prompt send_prompt(const char* text);
  void finish(sent_prompt sent, const std::string& outcome);
  /// After the host was killed under a prompt.
  void finish_after_crash(sent_prompt sent, bool resume);
  std::string new_input_id();
  /// False: no operation runs any more.
  bool queue(const char* method, const char* text, std::string* id = nullptr);

  client_ptr connection();
  void follow(const client_ptr& client);
  std::future<response> request(const std::string& method, nlohmann::json params);
  response wait(std::future<response>& reply, const std::string& what);
  response call(const std::string& method, nlohmann::json params);
  void arrive_at_gate();
  void wait_for_delta_after(std::int64_t deltas);
  [[noreturn]] void fail(const std::string& why) const;

  demo_stage stage_;
  int session_;
  std::string id_;
  std::string step_ = "start";
  bool at_gate_ = false;
  int inputs_ = 0;
  std::shared_ptr<session_log> log_; // shared with callbacks of connections
  client_ptr followed_;
  session_evidence evidence_;
};

} // namespace rind::hosts::demo
