// A session's actor: owns its execution slot, its input queues, its projection of the journal and
// its subscribers. It is the only one that appends to its journal, but for the boundary of the
// compaction service, and the only one that tells subscribers. It decides by the pure classes of
// runtime/session and runtime/view; a turn is carried out by its turn runner.
#pragma once

#include <deque>
#include <functional>
#include <map>

#include <caf/typed_event_based_actor.hpp>

#include "actors/answer.hpp"
#include "actors/node.hpp"
#include "runtime/session/execution_slot.hpp"
#include "runtime/session/input_queues.hpp"
#include "runtime/view/projection.hpp"

namespace rind::actors {

/// Commands that wait for the activation or for the slot to settle; the next one is answered with
/// an error.
inline constexpr std::size_t stash_limit = 1'024;

/// Requests that one prompt answers: the first and its repeats (S3a); the next one is answered with
/// SessionBusy.
inline constexpr std::size_t requests_of_prompt_max = 16;

struct session_options {
  std::string session_id;
  open_mode mode = open_mode::existing;
  entries::session_created created{}; // create: its first entry; an empty model is the default one
};

class session final : public session_actor::base {
public:
  template <class T>
  using promise = answer<T>;

  session(caf::actor_config& cfg, node_ptr n, directory_actor directory, session_options options);

  const char* name() const override { return "session"; }
  behavior_type make_behavior() override;
  /// Lets go of everybody who may hold it: runner, listeners, directory.
  void on_exit() override;

private:
  /// A request that is answered when its prompt's operation ends.
  struct prompt_request {
    connection_id from = 0;
    std::string request_key;
    promise<prompt_reply> reply;
  };
  /// A prompt on its way to the slot. It takes one place whoever asks for it; it goes when none of
  /// its requests is left.
  struct waiting_prompt {
    std::string input;
    std::string input_id; // empty: none
    std::vector<prompt_request> requests;
  };
  /// The operation that holds the slot, beyond what the projection knows.
  struct running_operation {
    std::string turn_id;
    operation_kind kind = operation_kind::turn;
    std::string focus; // of a manual compaction
    turn_runner_actor runner;
    std::vector<prompt_request> prompts; // answered when it ends
    std::optional<promise<compact_reply>> compact;
    std::optional<cancel_reason> cancel; // asked for
    std::vector<promise<done_reply>>
        cancels; // answered when the end is written: ok then means cancelled, whatever comes
    std::shared_ptr<const compaction_record>
        boundary;                                  // the newest of this operation that is no rescue
    std::optional<promise<take_input_reply>> take; // waits for the queues to settle
    bool take_before_sampling = false;
    std::optional<close_command> close; // waits for the queues to settle
    std::optional<promise<done_reply>> closed;
    bool ends_compaction = false; // the terminal entry waits for the compaction of a lost runner
    std::uint64_t model_sets_at_context = 0; // of the request that is being made
  };
  using appended = std::function<void(rind::result<std::vector<entry_ptr>>)>;

  template <class C, class R>
  auto ask(void (session::*handler)(const C&, promise<R>));
  template <class C>
  auto tell(void (session::*handler)(const C&));
  void when_ready(std::function<void()> work, std::function<void(const failure&)> refuse);

  // -- activation and passivation (session.cpp) --
  void activate();
  void loaded(rind::result<journal::loaded_session> loaded);
  void run_stash();
  void on_idle_tick(const idle_tick&);
  void schedule_idle_tick();
  void leave();
  bool is_idle() const;

  // -- journal (session.cpp) --
  void append(const std::string& turn_id, std::vector<entry_body> bodies, appended then);
  void lose_sight(const failure& why, const appended& then);
  void take(const entry_ptr& e);
  void take_next(const entry_ptr& e);
  void read_missing();
  void break_down_live(failure why);
  void break_down(failure why);
  void refuse_waiting(const failure& why);
  void publish(const entry_ptr& e);
  void tell_listeners(std::shared_ptr<session_event> event);
  void publish(live_event_body body);
  void follow_live(const live_event_body& body);
  void follow_live(const entry& e);

  // -- prompts (session_prompts.cpp) --
  void prompt(const prompt_command& c, promise<prompt_reply> reply);
  bool must_look_up(const std::string& input_id) const;
  void admit(waiting_prompt p);
  waiting_prompt* find_waiting(const std::string& input_id);
  void join(waiting_prompt& first, waiting_prompt repeat);
  static void refuse_prompt(waiting_prompt& p, const failure& why);
  void ask_again(const waiting_prompt& p);
  void resume_turn(promise<prompt_reply> reply);
  void answer_known_input(waiting_prompt p, const journal::input_trace& trace);
  void open_turn(waiting_prompt p);
  void journal_turn();
  void refuse_start(failure why);
  void start_refused();
  void withdraw_prompt(const withdraw_prompt_command& c, promise<done_reply> reply);
  void on_connection_gone(const connection_gone& c);

  // -- the slot (session_slot.cpp) --
  void compact(const compact_command& c, promise<compact_reply> reply);
  void cancel(const cancel_command& c, promise<done_reply> reply);
  void settle(entries::turn_ended how, std::function<void(std::optional<failure>)> then);
  void slot_free();
  void start_next();
  void set_model(const set_model_command& c, promise<done_reply> reply);
  void remove(const delete_command& c, promise<done_reply> reply);
  void stop(const stop_command& c, promise<done_reply> reply);
  void on_grace_over(const grace_over&);
  std::optional<failure> too_large(const std::string& input) const;

  // -- queued inputs (session_inputs.cpp) --
  void queue_input(const queue_input_command& c, promise<queued_reply> reply);
  void accept_input(const queue_input_command& c, promise<queued_reply> reply);
  void take_back(const take_back_command& c, promise<queued_reply> reply);
  void promote(const promote_command& c, promise<queued_reply> reply);
  void queues_settled();
  std::optional<failure> queue_refusal(const std::string& turn_id);

  // -- the runner (session_operation.cpp) --
  void run_operation(std::string turn_id, operation_kind kind, turn::options options);
  void take_input(const take_input_command& c, promise<take_input_reply> reply);
  void give_context(const context_command& c, promise<context_snapshot_reply> reply);
  void record(const record_command& c, promise<record_reply> reply);
  void close(const close_command& c, promise<done_reply> reply);
  void write_end_when_settled();
  void write_end();
  void operation_ended(const entries::turn_ended& end);
  void operation_interrupted(const failure& why);
  void on_event(const publish_event& e);
  void on_decision(const publish_decision& d);
  void on_boundary(const boundary_committed& b);
  void on_runner_down(const caf::error& reason);
  void end_compaction();
  void read_boundary();

  // -- questions (session_queries.cpp) --
  void info(const session_info_query&, promise<session_info_reply> reply);
  void context_report_of(const context_query&, promise<context_reply> reply);
  void replay(const replay_command& c, promise<replay_reply> reply);
  void replay_more(std::shared_ptr<protocol::replay_page> page, promise<replay_reply> reply);
  void subscribe(const subscribe_command& c, promise<done_reply> reply);
  void on_unsubscribe(const unsubscribe_command& c);
  std::optional<turn_state> state_of_turn() const;
  std::int64_t pending_inputs(input_mode mode) const;
  rind::session::context_snapshot snapshot() const;
  context::budget budget_of(const view::projection& p) const;
  const std::string& model() const;
  entries::session_created first_entry() const;
  /// The projection, or for a session that nobody prompted one as its first entry will make it.
  view::projection& known();

  node_ptr node_;
  directory_actor directory_;
  session_options options_;
  bool ready_ = false;
  std::deque<std::pair<std::function<void()>, std::function<void(const failure&)>>> stash_;
  std::optional<failure> broken_; // the journal cannot be read; every command is answered with it
  view::projection projection_;
  std::optional<view::projection> draft_;
  std::map<std::int64_t, entry_ptr>
      ahead_; // heard of before what stands before them; bounded by the appends that are open
  bool reads_missing_ = false;
  std::uint64_t epoch_ = 0;
  rind::session::execution_slot slot_;
  rind::session::input_queues queues_;
  std::deque<waiting_prompt> waiting_;
  std::uint64_t model_sets_ = 0;          // asked of the journal since the activation
  std::optional<waiting_prompt> opening_; // its start is being journaled
  std::int64_t lookups_ = 0;              // prompts and inputs whose id the journal is asked for
  std::vector<std::function<void()>>
      queue_retry_; // the same input came twice while its entry was on the way
  std::vector<std::function<void()>>
      settled_; // look again once the slot has settled; bounded by the commands that are open
  std::optional<running_operation> running_;
  std::deque<decision> decisions_;
  std::optional<live_turn> live_;
  struct listener {
    connection_id from = 0;
    subscriber handle;
  };
  std::vector<listener> listeners_;
  std::optional<stop_command> stopping_;
  std::vector<promise<done_reply>> stop_replies_;
  std::uint64_t activity_ = 0;
  std::uint64_t activity_at_tick_ = 0;
  bool tick_scheduled_ = false;
};

} // namespace rind::actors
