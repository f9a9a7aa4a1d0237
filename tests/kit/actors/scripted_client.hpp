// A client of one session in a simulated world: asks the session's actor as a connection does and
// keeps what it hears. A request is answered while the world runs; its `awaited` is looked at
// afterwards.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <caf/typed_event_based_actor.hpp>

#include "actors/actors.hpp"

namespace rind::kit {

/// The answer of a request that is out.
template <class T>
class awaited {
public:
  struct state {
    std::optional<result<T>> value;
    std::int64_t answers = 0;
    bool lost = false;             // the session's actor ended without an answer
    std::function<void()> arrived; // called once with the answer or its loss
  };
  awaited() : state_(std::make_shared<state>()) {}

  bool arrived() const { return state_->value.has_value(); }
  bool lost() const { return state_->lost; }
  bool ok() const { return arrived() && bool(*state_->value); }
  /// "ok", the wire's spelling of the error, "lost", or "pending".
  std::string said() const {
    if (state_->lost)
      return "lost";
    if (!arrived())
      return "pending";
    return ok() ? "ok" : to_string(state_->value->error().code);
  }
  /// Throws std::logic_error where the answer is none of that kind.
  const T& value() const {
    if (!ok())
      throw std::logic_error("the answer is: " + said());
    return **state_->value;
  }
  const failure& error() const {
    if (!arrived() || ok())
      throw std::logic_error("the answer is: " + said());
    return state_->value->error();
  }
  const std::shared_ptr<state>& slot() const { return state_; }

private:
  std::shared_ptr<state> state_;
};

class scripted_client final : public actors::subscriber::base {
public:
  scripted_client(caf::actor_config& cfg, actors::connection_id id);
  /// Called with each event after it was kept; `keep` false: events() stays empty.
  void watch(std::function<void(const session_event&)> heard, bool keep) {
    heard_ = std::move(heard);
    keeps_ = keep;
  }
  const char* name() const override { return "scripted_client"; }
  behavior_type make_behavior() override;
  /// Lets go of its session, which holds it as a listener.
  void on_exit() override { destroy(session_); }

  /// Talks to this session from now on.
  void attach(actors::session_actor session) { session_ = std::move(session); }

  /// Asks a directory for a session.
  awaited<actors::session_actor> open(const actors::directory_actor& directory,
                                      actors::open_session_command command);
  /// Asks a directory to stop its host.
  awaited<rind::done> stop(const actors::directory_actor& directory, actors::stop_command command);

  awaited<rind::done> subscribe();
  awaited<actors::prompt_outcome> prompt(std::string input, std::string input_id = {},
                                         std::string request_key = {});
  awaited<actors::prompt_outcome> resume();
  awaited<rind::done> withdraw(std::string request_key);
  awaited<std::shared_ptr<const compaction_record>> compact(std::string focus = {});
  awaited<rind::done> cancel(std::string turn_id = {});
  awaited<actors::queued_answer> steer(std::string input, std::string input_id = {},
                                       std::string turn_id = {});
  awaited<actors::queued_answer> follow_up(std::string input, std::string input_id = {},
                                           std::string turn_id = {});
  awaited<actors::queued_answer> take_back(input_mode mode, std::string input_id = {});
  awaited<actors::queued_answer> promote(std::string input_id);
  awaited<rind::done> set_model(std::string model);
  awaited<session_info> info();
  awaited<context_report> inspect();
  awaited<actors::replay_answer> replay(std::int64_t after_cursor = 0, std::int64_t limit = 1'000);
  awaited<rind::done> remove();
  /// The connection ends.
  void disconnect();
  /// The context of the next sampling, as the session would give it to an operation.
  std::shared_ptr<std::optional<session::context_snapshot>> snapshot();

  /// What it heard, in order.
  const std::vector<event_ptr>& events() const { return events_; }
  void forget_events() { events_.clear(); }
  actors::connection_id id() const { return id_; }

private:
  template <class T, class Reply, class Handle, class Command>
  awaited<T> ask_of(const Handle& whom, Command command);
  template <class T, class Reply, class Command>
  awaited<T> ask(Command command) {
    return ask_of<T, Reply>(session_, std::move(command));
  }

  actors::connection_id id_;
  actors::session_actor session_;
  std::vector<event_ptr> events_;
  std::function<void(const session_event&)> heard_;
  bool keeps_ = true;
};

} // namespace rind::kit
