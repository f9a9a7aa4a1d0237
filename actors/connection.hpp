// A client's actor: reads requests, hands them to the directory and the sessions, and holds the
// bounded outgoing queue (S38, S40). Owns the client's subscriptions; decides nothing about
// sessions. The bytes come and go through a net::connection on its own thread.
#pragma once

#include <functional>
#include <map>
#include <set>

#include <caf/typed_event_based_actor.hpp>

#include "actors/node.hpp"
#include "runtime/net/connection_port.hpp"
#include "runtime/protocol/access_list.hpp"
#include "runtime/protocol/frames.hpp"
#include "runtime/protocol/outgoing_queue.hpp"
#include "runtime/protocol/requests.hpp"
#include "runtime/protocol/responses.hpp"

namespace rind::actors {

/// Requests of one client that may be open at once; reading pauses past it.
inline constexpr std::size_t open_requests_max = 512;
/// Unsent responses past which no further request is read.
inline constexpr std::size_t unsent_responses_max_bytes = 8u << 20;
/// Bytes handed to the system in one write.
inline constexpr std::size_t write_bytes_max = 256u << 10;
/// Wrong tokens that a client may try on one connection.
inline constexpr int token_tries_max = 3;
/// How often a command is sent again to a session that was let go while it was on its way.
inline constexpr int session_tries_max = 3;

struct connection_options {
  connection_id id = 0;
  std::string default_session; // answered by initialize where the client names none; empty: the
                               // newest, or a new one
  bool resume_latest = false;  // without a default: the session with the newest change
  bool stop_host_on_shutdown = false; // stdio: `shutdown` stops the host before it is answered
  std::shared_ptr<const protocol::access_list> access; // who may come in; null: everybody
  bool over_network = false; // has to initialize in time, and is not kept while it is idle
};

class connection final : public connection_actor::base {
public:
  connection(caf::actor_config& cfg, node_ptr n, directory_actor directory,
             net::connection_ptr wire, connection_options options);

  const char* name() const override { return "connection"; }
  behavior_type make_behavior() override;
  /// Lets go of its sessions: each holds it as a listener.
  void on_exit() override;

private:
  using request_id = nlohmann::json;
  /// A request without an answer yet. Answering takes it out, so that a second answer finds
  /// nothing.
  struct open_request {
    request_id id;
    std::string session_id;  // that is asked; empty: none
    std::string subscribes;  // to this session, unless it is refused; empty: to none
    bool is_counted = false; // by the pass
  };
  using serial = std::uint64_t;

  // -- bytes and frames (connection.cpp) --
  void on_bytes(const bytes_received& b);
  void on_written(const bytes_written& w);
  void on_event(const session_event_message& m);
  void on_input_ended();
  void leave_if_done();
  void on_closed();
  void on_down(const caf::down_msg& m);
  void read_lines();
  void take_line(const std::string& line);
  void push(protocol::response_text frame);
  void flush();
  void give_up();
  void leave();
  void leave_with(const failure& why);

  // -- who may stay (connection_access.cpp) --
  /// Lets the client in, or refuses the request.
  bool enter(serial s, const std::string& token);
  /// Whether it may follow this session, too, beside those that stay; else the request is refused.
  bool may_follow(serial s, const std::string& session_id, bool in_place_of_current);
  void count_followed();
  void on_tokens_changed();
  void on_quiet_tick();
  void look_again_in(std::int64_t delay_ms);

  // -- requests --
  static bool changes_current(const protocol::method_call& call);
  void close_request(serial s);
  void dispatch(serial s, const protocol::method_call& call);
  void answer(serial s, const nlohmann::json& result);
  void answer(serial s, protocol::response_text frame);
  void refuse(serial s, const failure& why);

  // -- sessions (connection_methods.cpp) --
  using with_handle = std::function<void(const session_actor&)>;
  /// The session's handle, opened if need be, or an error answer.
  void open_session(serial s, const std::string& session_id, with_handle then);
  /// Sends a command and hands its reply on; a session that was let go meanwhile is opened again.
  template <class Reply, class Command>
  void ask(serial s, const std::string& session_id, Command command,
           std::function<void(const Reply&)> then, int tries = session_tries_max);
  std::string session_of(const std::string& session_id) const {
    return session_id.empty() ? current_ : session_id;
  }
  void subscribe(const std::string& session_id, std::function<void()> then);
  void unsubscribe(const std::string& session_id);
  void make_current(const std::string& session_id);
  void answer_session(serial s, const std::string& session_id, bool initialize);
  std::vector<std::string> subscribed() const;

  void call(serial s, const protocol::calls::initialize& c);
  void call(serial s, const protocol::calls::shutdown& c);
  void call(serial s, const protocol::calls::ping& c);
  void call(serial s, const protocol::calls::session_new& c);
  void call(serial s, const protocol::calls::session_list& c);
  void call(serial s, const protocol::calls::session_switch& c);
  void call(serial s, const protocol::calls::session_subscribe& c);
  void call(serial s, const protocol::calls::session_unsubscribe& c);
  void call(serial s, const protocol::calls::session_replay& c);
  void call(serial s, const protocol::calls::session_prompt& c);
  void call(serial s, const protocol::calls::session_cancel& c);
  void call(serial s, const protocol::calls::session_delete& c);
  void call(serial s, const protocol::calls::model_list& c);
  void call(serial s, const protocol::calls::model_set& c);
  void call(serial s, const protocol::calls::queue_input& c);
  void call(serial s, const protocol::calls::take_back_input& c);
  void call(serial s, const protocol::calls::promote_follow_up& c);
  void call(serial s, const protocol::calls::session_compact& c);
  void call(serial s, const protocol::calls::command_execute& c);
  void call(serial s, const protocol::calls::context_inspect& c);
  void call(serial s, const protocol::calls::background_list& c);
  void call(serial s, const protocol::calls::goal_get& c);
  void create_session(serial s, const protocol::calls::session_new& c, bool initialize);
  void set_model(serial s, const std::string& session_id, const std::string& model,
                 std::function<void()> then);
  void fill_states(serial s, std::shared_ptr<std::vector<protocol::listed_session>> rows,
                   std::string next, std::size_t from);
  void command_compact(serial s, const std::string& session_id, const std::string& focus);
  void command_status(serial s, const std::string& session_id);
  void command_sessions(serial s);
  void command_model(serial s, const std::string& session_id, const std::string& model);
  void command_context(serial s, const std::string& session_id, const std::string& detail);

  node_ptr node_;
  directory_actor directory_;
  net::connection_ptr wire_;
  connection_options options_;
  protocol::line_splitter lines_;
  protocol::outgoing_queue queue_;
  std::size_t unread_bytes_ = 0;   // received, and not yet told to the wire as consumed
  std::size_t in_write_bytes_ = 0; // handed to the system
  bool given_up_ = false;          // too slow; nothing more is written
  bool closing_ = false;           // after what is queued was written
  bool gone_ = false;
  bool input_ended_ = false;
  bool rest_taken_ = false; // what stood after the last newline
  bool initialized_ = false;
  protocol::access_pass pass_;
  int wrong_tokens_ = 0;
  std::uint64_t activity_ = 0; // goes up when anything comes or leaves
  std::uint64_t activity_at_tick_ = 0;
  std::string current_;
  std::map<std::string, session_actor> handles_;
  std::map<caf::actor_addr, std::string> by_address_;
  std::set<std::string> explicit_; // subscribed to by name
  std::map<serial, open_request> open_;
  serial next_serial_ = 1;
  serial barrier_ = 0;   // the open request that lines after it wait for; 0: none
  bool reading_ = false; // inside read_lines
};

} // namespace rind::actors
