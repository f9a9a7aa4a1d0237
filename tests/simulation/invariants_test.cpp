// Each invariant finds what it is there for and says nothing of what keeps its rule: runs told by
// hand, hook by hook.
#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "tests/kit/invariants/invariant.hpp"

namespace rind::kit {
namespace {

using namespace entries;

/// A run of session s0 as an invariant hears of it.
class told_run {
public:
  explicit told_run(invariant& who) : who_(who) {
    who_.read_time_from([this] { return now_ms; });
    scenario s;
    s.world.window_tokens = 8'000;
    who_.on_start(s);
  }

  std::int64_t now_ms = 0;
  std::string session = "s0";
  std::string turn = "turn-1";
  bool conditional = true; // of boundaries

  told_run& commit(std::vector<entry_body> bodies) {
    journal::append_request asked;
    asked.session_id = session;
    asked.epoch = 1;
    for (auto& b : bodies) {
      if (std::holds_alternative<boundary>(b) && bodies.size() == 1 && conditional)
        asked.expected_view_position = view_position_;
      asked.entries.push_back({0, words_for("evt-", ++ids_), now_ms, turn, std::move(b)});
    }
    who_.on_append(asked);
    std::vector<entry_ptr> written;
    for (auto e : asked.entries) {
      e.position = ++position_;
      if (moves_view(e.body))
        view_position_ = position_;
      written.push_back(std::make_shared<const entry>(std::move(e)));
    }
    who_.on_committed(session, written);
    newest = written.back();
    return *this;
  }
  told_run& starts(std::string input = {}, bool resumed = false) {
    return commit({turn_started{operation_kind::turn, 0, resumed, false, std::move(input)}});
  }
  /// A turn with the user's words.
  told_run& prompted(std::string text = "s0:i1 Hello", std::string input = "1") {
    auto m = said(message_role::user, std::move(text));
    m->input_id = input;
    return commit(
        {turn_started{operation_kind::turn, 0, false, false, std::move(input)}, user_message{m}});
  }
  told_run& ends(turn_outcome outcome = turn_outcome::completed) {
    turn_ended end;
    end.outcome = outcome;
    return commit({std::move(end)});
  }

  static std::shared_ptr<message> said(message_role role, std::string text) {
    auto m = std::make_shared<message>();
    m->role = role;
    m->content = std::move(text);
    m->model = role == message_role::assistant ? "model-a" : "";
    return m;
  }
  told_run& answered(const std::shared_ptr<message>& m, std::int64_t estimated = 100,
                     std::int64_t local = 100, std::int64_t input = 0) {
    assistant_message a;
    a.msg = m;
    a.request_estimated_tokens = estimated;
    a.request_local_tokens = local;
    if (input > 0)
      a.usage.input_tokens = input;
    std::vector<entry_body> bodies{std::move(a)};
    for (const auto& c : m->tool_calls)
      bodies.push_back(tool_requested{c});
    return commit(std::move(bodies));
  }
  told_run& answered(std::string text = "s0:r1 Yes") {
    return answered(said(message_role::assistant, std::move(text)));
  }
  static std::shared_ptr<message> asking(const std::string& call) {
    auto m = said(message_role::assistant, "");
    m->tool_calls = {{call, "look", "{}"}};
    return m;
  }
  static std::shared_ptr<message> result_of(const std::string& call, std::string text = "done") {
    auto m = said(message_role::tool, std::move(text));
    m->tool_call_id = call;
    return m;
  }
  told_run& tool_ends(const std::string& call) {
    return commit({entries::tool_result{result_of(call), tool_status::completed, {}, {}, 0}});
  }
  told_run& calls(const std::string& call) {
    who_.on_tool_call({"call-1", session, turn, {call, "look", "{}"}});
    return *this;
  }
  told_run& delivers(const std::string& input, std::string text,
                     user_origin origin = user_origin::steering) {
    auto m = said(message_role::user, std::move(text));
    m->origin = origin;
    m->input_id = input;
    return commit({input_delivered{m}});
  }

  sampling_request request;
  told_run& requests(std::vector<message_ptr> messages, std::int64_t estimated = 100,
                     sampling_kind kind = sampling_kind::assistant) {
    request = {};
    request.request_id = words_for("request-", ++ids_);
    request.session_id = session;
    request.turn_id = turn;
    request.model = "model-a";
    request.kind = kind;
    request.messages = std::move(messages);
    request.estimated_tokens = estimated;
    request.window_tokens = 8'000;
    request.output_limit_tokens = kind == sampling_kind::compact ? 800 : 1'500;
    who_.on_request(request);
    return *this;
  }
  told_run& requests(std::int64_t estimated = 100) {
    return requests({said(message_role::user, "Hello")}, estimated);
  }
  told_run& ended(sampling_outcome outcome) {
    who_.on_sampling_end(request, outcome);
    return *this;
  }
  told_run& refused(provider_error_class c, std::string text = "no") {
    provider_error e;
    e.error_class = c;
    e.message = std::move(text);
    return ended(std::move(e));
  }
  told_run& compacts(std::int64_t end, std::string handoff = "Summary",
                     compaction_reason reason = compaction_reason::manual) {
    compaction_record r;
    r.reason = reason;
    r.generation = ++generation_;
    r.message_end_index_exclusive = end;
    r.continuation_text = "Go on.";
    r.handoff_text = std::move(handoff);
    r.tokens_before = 7'000;
    r.tokens_after = 500;
    r.strategy = compaction_strategy::deterministic_fallback;
    return commit({boundary{std::make_shared<const compaction_record>(std::move(r))}});
  }

  client_request asks(request_kind kind, std::string input = {}, std::string text = {}) {
    client_request r{++asked_, kind, 0, session, std::move(input), std::move(text)};
    who_.on_asked(r);
    return r;
  }
  told_run& hears(const client_request& r, turn_outcome outcome = turn_outcome::completed) {
    client_answer a;
    a.input_id = r.input_id;
    a.turn_id = turn;
    if (r.kind == request_kind::prompt)
      a.outcome = outcome;
    who_.on_answered(r, a);
    return *this;
  }
  /// The newest entry, told to client 0 as an event.
  told_run& told(const entry_ptr& e) {
    who_.on_event(0, {session, e->turn_id, e->id, e->time_ms, e});
    return *this;
  }
  told_run& told(live_event_body body) {
    who_.on_event(0, {session, turn, "evt-live", now_ms, std::move(body)});
    return *this;
  }
  told_run& has(const entry_ptr& e) {
    who_.on_history(0, session, e->position, e->id);
    return *this;
  }
  entry_ptr newest;

private:
  static std::string words_for(const char* prefix, std::int64_t n) {
    return prefix + std::to_string(n);
  }
  invariant& who_;
  std::int64_t ids_ = 0;
  std::int64_t position_ = 0;
  std::int64_t view_position_ = 0;
  std::int64_t generation_ = 0;
  std::size_t asked_ = 0;
};

using told = std::function<void(told_run&)>;

struct invariant_case {
  invariant_ptr (*make)();
  const char* what;
  told keeps;
  told breaks;
};

const message_ptr hello = told_run::said(message_role::user, "Hello");

attempt_started attempt(std::int64_t errors, std::int64_t rescues, std::int64_t refused = 100) {
  attempt_started a;
  a.context_errors = errors;
  a.rescues = rescues;
  a.refused_estimate_tokens = refused;
  return a;
}

const std::vector<invariant_case> cases{
    {one_operation_at_a_time, "a second operation starts",
     [](auto& r) {
       r.starts().ends();
       r.turn = "turn-2";
       r.starts();
     },
     [](auto& r) {
       r.starts();
       r.turn = "turn-2";
       r.starts();
     }},
    {one_operation_at_a_time, "two conversation requests at once",
     [](auto& r) { r.starts().requests().refused(provider_error_class::timeout).requests(); },
     [](auto& r) { r.starts().requests().requests(); }},
    {one_operation_at_a_time, "a request of an operation that ended",
     [](auto& r) { r.starts().ends().requests(); },
     [](auto& r) {
       r.starts().ends();
       r.now_ms = 1;
       r.requests();
     }},
    {inputs_have_one_fate, "delivered twice",
     [](auto& r) {
       r.starts().commit({input_accepted{"7", input_mode::steering, "Stop"}}).delivers("7", "Stop");
     },
     [](auto& r) {
       r.starts().commit({input_accepted{"7", input_mode::steering, "Stop"}});
       r.delivers("7", "Stop").delivers("7", "Stop");
     }},
    {inputs_have_one_fate, "delivered out of order",
     [](auto& r) {
       r.starts().commit({input_accepted{"7", input_mode::follow_up, "A"}});
       r.commit({input_accepted{"8", input_mode::steering, "B"}}).delivers("8", "B");
       r.delivers("7", "A", user_origin::follow_up);
     },
     [](auto& r) {
       r.starts().commit({input_accepted{"7", input_mode::steering, "A"}});
       r.commit({input_accepted{"8", input_mode::steering, "B"}}).delivers("8", "B");
     }},
    {inputs_have_one_fate, "left behind at the end",
     [](auto& r) {
       turn_ended end;
       end.outcome = turn_outcome::failed;
       end.undelivered = {{"7", input_mode::steering, "Stop"}};
       r.starts().commit({input_accepted{"7", input_mode::steering, "Stop"}}).commit({end});
     },
     [](auto& r) {
       r.starts().commit({input_accepted{"7", input_mode::steering, "Stop"}});
       r.ends(turn_outcome::failed);
     }},
    {inputs_have_one_fate, "answered before it is journaled",
     [](auto& r) {
       const auto steer = r.starts().asks(request_kind::steer, "7", "Stop");
       r.commit({input_accepted{"7", input_mode::steering, "Stop"}}).hears(steer);
     },
     [](auto& r) { r.starts().hears(r.asks(request_kind::steer, "7", "Stop")); }},
    {repeated_inputs_run_once, "a prompt runs again",
     [](auto& r) {
       const auto prompt = r.asks(request_kind::prompt, "1", "Hi");
       r.prompted("Hi").ends().hears(prompt);
     },
     [](auto& r) {
       r.prompted().ends();
       r.turn = "turn-2";
       r.prompted();
     }},
    {cancelled_means_cancelled, "it ends otherwise",
     [](auto& r) {
       const auto cancel = r.asks(request_kind::cancel);
       r.starts().ends(turn_outcome::cancelled).hears(cancel);
     },
     [](auto& r) {
       const auto cancel = r.asks(request_kind::cancel);
       r.starts().ends().hears(cancel);
     }},
    {cancelled_means_cancelled, "it is answered before the end",
     [](auto& r) {
       r.starts();
       const auto cancel = r.asks(request_kind::cancel);
       r.ends(turn_outcome::cancelled).hears(cancel);
     },
     [](auto& r) { r.starts().hears(r.asks(request_kind::cancel)).ends(turn_outcome::cancelled); }},
    {cancelled_means_cancelled, "it takes too long",
     [](auto& r) {
       r.starts();
       const auto cancel = r.asks(request_kind::cancel);
       r.now_ms = 5'000;
       r.ends(turn_outcome::cancelled).hears(cancel);
     },
     [](auto& r) {
       r.starts();
       const auto cancel = r.asks(request_kind::cancel);
       r.now_ms = 5'001;
       r.ends(turn_outcome::cancelled).hears(cancel);
     }},
    {cancelled_means_cancelled, "a request begins after it",
     [](auto& r) { r.starts().ends(turn_outcome::failed).requests(); },
     [](auto& r) {
       r.starts().ends(turn_outcome::failed);
       r.now_ms = 1'000;
       r.requests();
     }},
    {cancelled_means_cancelled, "a request runs on",
     [](auto& r) { r.starts().requests().ends(turn_outcome::failed).ended(sampling_cancelled{}); },
     [](auto& r) {
       r.starts().requests().ends(turn_outcome::failed);
       r.now_ms = 1'000;
       r.ended(sampling_cancelled{});
     }},
    {one_terminal_event, "an entry after the end", [](auto& r) { r.prompted().answered().ends(); },
     [](auto& r) { r.prompted().ends().answered(); }},
    {one_terminal_event, "an event after the terminal one",
     [](auto& r) {
       r.starts().told(events::assistant_delta{"Hi"});
       r.ends().told(r.newest);
     },
     [](auto& r) {
       r.starts().ends().told(r.newest);
       r.told(events::assistant_delta{"Hi"});
     }},
    {one_terminal_event, "an answer before the end",
     [](auto& r) { r.starts().ends().hears(r.asks(request_kind::prompt)); },
     [](auto& r) { r.starts().hears(r.asks(request_kind::prompt)); }},
    {journaled_before_it_runs, "the model hears words that are not journaled",
     [](auto& r) { r.prompted().requests(); }, [](auto& r) { r.starts().requests(); }},
    {journaled_before_it_runs, "a call runs before it is journaled",
     [](auto& r) { r.prompted().answered(told_run::asking("c1")).calls("c1").tool_ends("c1"); },
     [](auto& r) { r.prompted().calls("c1"); }},
    {journaled_before_it_runs, "a call runs twice",
     [](auto& r) { r.prompted().answered(told_run::asking("c1")).calls("c1"); },
     [](auto& r) { r.prompted().answered(told_run::asking("c1")).calls("c1").calls("c1"); }},
    {journaled_before_it_runs, "a result without a run",
     [](auto& r) { r.prompted().answered(told_run::asking("c1")).calls("c1").tool_ends("c1"); },
     [](auto& r) { r.prompted().answered(told_run::asking("c1")).tool_ends("c1"); }},
    {calls_are_bounded, "too many retries",
     [](auto& r) {
       r.prompted();
       for (int i = 0; i < 4; ++i)
         r.requests().refused(provider_error_class::server_error);
     },
     [](auto& r) {
       r.prompted();
       for (int i = 0; i < 5; ++i)
         r.requests().refused(provider_error_class::server_error);
     }},
    {calls_are_bounded, "the count begins anew",
     [](auto& r) { r.prompted().commit({attempt(1, 0)}).commit({attempt(2, 1)}); },
     [](auto& r) { r.prompted().commit({attempt(1, 0)}).answered().commit({attempt(1, 0)}); }},
    {calls_are_bounded, "a request after a final error",
     [](auto& r) { r.prompted().requests().refused(provider_error_class::auth); },
     [](auto& r) { r.prompted().requests().refused(provider_error_class::auth).requests(); }},
    {calls_are_bounded, "resumed a fourth time",
     [](auto& r) {
       r.prompted();
       for (int i = 0; i < 3; ++i)
         r.starts({}, true);
     },
     [](auto& r) {
       r.prompted();
       for (int i = 0; i < 4; ++i)
         r.starts({}, true);
     }},
    {messages_keep_the_boundary, "a call without its result",
     [](auto& r) {
       r.commit({entries::tool_result{told_run::result_of("c1"), {}, {}, {}, 0}});
       r.requests({hello, told_run::asking("c1"), told_run::result_of("c1")});
     },
     [](auto& r) {
       r.requests({hello, told_run::asking("c1"), hello});
     }},
    {messages_keep_the_boundary, "a success that no tool said",
     [](auto& r) {
       auto placeholder = told_run::result_of("c1");
       placeholder->is_error = true;
       r.requests({hello, told_run::asking("c1"), placeholder});
     },
     [](auto& r) {
       r.requests({hello, told_run::asking("c1"), told_run::result_of("c1")});
     }},
    {messages_keep_the_boundary, "broken text", [](auto& r) { r.requests({hello}); },
     [](auto& r) { r.requests({told_run::said(message_role::user, "\xC3(")}); }},
    {view_survives_restart, "a message is missing",
     [](auto& r) {
       r.prompted("Hello").answered("Yes").delivers("7", "And?");
       r.requests({hello, told_run::said(message_role::assistant, "Yes"),
                   told_run::said(message_role::user, "And?")});
     },
     [](auto& r) {
       r.prompted("Hello").answered("Yes").delivers("7", "And?");
       r.requests({hello, told_run::said(message_role::assistant, "Yes")});
     }},
    {view_survives_restart, "a handoff is not shown",
     [](auto& r) {
       r.prompted("Hello").answered("Yes").compacts(2).delivers("7", "And?");
       r.requests({told_run::said(message_role::user, "Go on."),
                   told_run::said(message_role::assistant, "Summary"),
                   told_run::said(message_role::user, "And?")});
     },
     [](auto& r) {
       r.prompted("Hello").answered("Yes").compacts(2).delivers("7", "And?");
       r.requests({told_run::said(message_role::user, "And?")});
     }},
    {estimates_follow_usage, "cached tokens count twice",
     [](auto& r) {
       r.commit({session_created{"model-a", ""}}).prompted();
       const auto yes = told_run::said(message_role::assistant, "Yes");
       r.answered(yes, 8'000, 8'000, 10'000).answered(yes, 11'000, 8'800);
     },
     [](auto& r) {
       r.commit({session_created{"model-a", ""}}).prompted();
       const auto yes = told_run::said(message_role::assistant, "Yes");
       r.answered(yes, 8'000, 8'000, 10'000).answered(yes, 17'000, 8'800);
     }},
    {requests_fit, "above the hard limit",
     [](auto& r) {
       r.commit({session_created{"model-a", ""}}).prompted().requests(6'500);
     },
     [](auto& r) {
       r.commit({session_created{"model-a", ""}}).prompted().requests(7'000);
     }},
    {requests_fit, "a window that nobody stated",
     [](auto& r) {
       provider_error e;
       e.error_class = provider_error_class::context_length;
       e.limit_tokens = 5'000;
       e.requested_tokens = 6'000;
       r.commit({session_created{"model-a", ""}}).prompted().requests().ended(e);
       r.commit({window_learned{"model-a", 5'000}});
     },
     [](auto& r) {
       r.commit({session_created{"model-a", ""}}).prompted();
       r.commit({window_learned{"model-a", 5'000}});
     }},
    {nothing_is_lost_in_compaction, "an unread message is summarised",
     [](auto& r) { r.prompted("Hello").answered().delivers("7", "And?").compacts(2); },
     [](auto& r) { r.prompted("Hello").answered().delivers("7", "And?").compacts(3, "And?"); }},
    {nothing_is_lost_in_compaction, "the user's words are lost",
     [](auto& r) { r.prompted("Hello").answered().compacts(2, "He said: Hello"); },
     [](auto& r) { r.prompted("Hello").answered().compacts(2, "He said nothing"); }},
    {nothing_is_lost_in_compaction, "a call is cut off its result",
     [](auto& r) {
       r.prompted("Hello")
           .answered(told_run::asking("c1"))
           .tool_ends("c1")
           .answered()
           .compacts(3, "Hello");
     },
     [](auto& r) {
       r.prompted("Hello")
           .answered(told_run::asking("c1"))
           .tool_ends("c1")
           .answered()
           .compacts(2, "Hello");
     }},
    {too_large_calls_nothing, "a summary was asked for",
     [](auto& r) {
       turn_ended end;
       end.outcome = turn_outcome::failed;
       failure_details numbers;
       numbers.estimated_tokens = 9'000;
       numbers.limit_tokens = 6'000;
       end.error = make_failure(error_code::compact_input_too_large, "too large", numbers);
       r.prompted().commit({end});
     },
     [](auto& r) {
       turn_ended end;
       end.outcome = turn_outcome::failed;
       end.error = make_failure(error_code::compact_input_too_large, "too large");
       r.prompted().requests({hello}, 100, sampling_kind::compact).commit({end});
     }},
    {too_large_calls_nothing, "a handoff without asking",
     [](auto& r) {
       r.prompted().answered().requests({hello}, 100, sampling_kind::compact).compacts(2);
     },
     [](auto& r) { r.prompted().answered().compacts(2); }},
    {boundaries_are_conditional, "a boundary without a condition",
     [](auto& r) { r.prompted().answered().compacts(2); },
     [](auto& r) {
       r.conditional = false;
       r.prompted().answered().compacts(2);
     }},
    {manual_compaction_samples_nothing, "it samples the conversation",
     [](auto& r) {
       r.commit({turn_started{operation_kind::compact, 0, false, false, {}}}).compacts(2);
       r.delivers("7", "And?").requests();
     },
     [](auto& r) {
       r.commit({turn_started{operation_kind::compact, 0, false, false, {}}}).compacts(2);
       r.requests();
     }},
    {compaction_keeps_the_turn, "another turn_id",
     [](auto& r) { r.prompted().compacts(1, "Hello", compaction_reason::automatic); },
     [](auto& r) {
       r.prompted();
       r.turn = "turn-2";
       r.compacts(1, "Hello", compaction_reason::automatic);
     }},
    {compaction_keeps_the_turn, "an input before the retry",
     [](auto& r) {
       r.prompted().requests().refused(provider_error_class::timeout).requests().answered();
       r.delivers("7", "And?");
     },
     [](auto& r) {
       r.prompted().requests().refused(provider_error_class::timeout).delivers("7", "And?");
     }},
    {compaction_keeps_the_turn, "the end before the answer",
     [](auto& r) {
       r.prompted().compacts(1, "Hello", compaction_reason::automatic).answered().ends();
     },
     [](auto& r) { r.prompted().compacts(1, "Hello", compaction_reason::automatic).ends(); }},
    {retries_shrink, "as large as what was refused",
     [](auto& r) {
       r.prompted().requests(6'000).refused(provider_error_class::context_length);
       r.commit({attempt(1, 0, 6'000)}).requests(5'000);
     },
     [](auto& r) {
       r.prompted().requests(6'000).refused(provider_error_class::context_length);
       r.commit({attempt(1, 0, 6'000)}).starts({}, true).requests(6'000);
     }},
    {failures_leave_nothing, "a part of a failed answer",
     [](auto& r) {
       r.prompted().answered("s0:r1 Yes");
       r.requests({hello, told_run::said(message_role::assistant, "s0:r1 Yes"), hello});
     },
     [](auto& r) {
       r.prompted().requests().refused(provider_error_class::stream_interrupted);
       r.requests({hello, told_run::said(message_role::assistant, "s0:r1 Yes"), hello});
     }},
    {failures_leave_nothing, "the words of an error",
     [](auto& r) { r.prompted().requests().refused(provider_error_class::timeout, "late"); },
     [](auto& r) {
       r.prompted().requests().refused(provider_error_class::timeout, "too late");
       r.requests({told_run::said(message_role::user, "It was too late.")});
     }},
    {failures_leave_nothing, "a part that is not discarded",
     [](auto& r) {
       r.told(events::assistant_delta{"Hi"}).told(events::turn_step_retry{1, "timeout", 0, true});
     },
     [](auto& r) {
       r.told(events::assistant_delta{"Hi"}).told(events::turn_step_retry{1, "timeout", 0, false});
     }},
    {acknowledged_is_durable, "an event that is not in the journal",
     [](auto& r) { r.starts().told(r.newest); },
     [](auto& r) {
       entry e = *r.starts().newest;
       e.position = 2;
       r.told(std::make_shared<const entry>(e));
     }},
    {acknowledged_is_durable, "an answer that is not in the journal",
     [](auto& r) { r.starts().ends().hears(r.asks(request_kind::prompt)); },
     [](auto& r) { r.starts().hears(r.asks(request_kind::prompt)); }},
    {history_is_told_once_in_order, "an event twice",
     [](auto& r) {
       r.starts().has(r.newest);
       r.ends().has(r.newest);
     },
     [](auto& r) { r.starts().has(r.newest).has(r.newest); }},
    {history_is_told_once_in_order, "an event is left out",
     [](auto& r) {
       r.starts().has(r.newest);
       r.commit({usage_recorded{}}).ends().has(r.newest);
     },
     [](auto& r) { r.starts().ends().has(r.newest); }},
    {sessions_are_apart, "words of another session",
     [](auto& r) { r.requests({told_run::said(message_role::user, "s0:i1 Hello")}); },
     [](auto& r) { r.requests({told_run::said(message_role::user, "s1:i1 Hello")}); }},
    {sessions_are_apart, "an event of another session",
     [](auto& r) { r.told(events::assistant_delta{"Hi"}).told(events::assistant_delta{"Hi"}); },
     [](auto& r) {
       r.told(events::assistant_delta{"Hi"});
       r.session = "s1";
       r.told(events::assistant_delta{"Hi"});
     }},
    {queues_are_bounded, "five inputs of a queue",
     [](auto& r) {
       for (int i = 0; i < 4; ++i)
         r.commit({input_accepted{std::to_string(i), input_mode::steering, "A"}});
     },
     [](auto& r) {
       for (int i = 0; i < 5; ++i)
         r.commit({input_accepted{std::to_string(i), input_mode::steering, "A"}});
     }},
    {queues_are_bounded, "too many characters",
     [](auto& r) {
       r.commit({input_accepted{"7", input_mode::steering, std::string(8'000, 'a')}});
     },
     [](auto& r) {
       r.commit({input_accepted{"7", input_mode::steering, std::string(8'001, 'a')}});
     }},
    {ends_at_rest, "a request is answered twice",
     [](auto& r) { r.hears(r.asks(request_kind::cancel)); },
     [](auto& r) {
       const auto cancel = r.asks(request_kind::cancel);
       r.hears(cancel).hears(cancel);
     }},
};

TEST(invariants, each_finds_its_breach_and_nothing_else) {
  for (const auto& c : cases) {
    const auto kept = c.make();
    told_run fine{*kept};
    c.keeps(fine);
    EXPECT_EQ(kept->breach(), std::nullopt) << kept->name() << ", not: " << c.what;
    const auto broken = c.make();
    told_run bad{*broken};
    c.breaks(bad);
    EXPECT_TRUE(broken->breach().has_value()) << broken->name() << ": " << c.what;
  }
}

TEST(invariants, each_has_a_case_and_a_name_of_its_own) {
  std::set<std::string_view> tested;
  for (const auto& c : cases)
    tested.insert(c.make()->name());
  std::set<std::string_view> names;
  for (const auto& i : all_invariants())
    EXPECT_TRUE(names.insert(i->name()).second) << i->name();
  EXPECT_EQ(tested, names);
}

} // namespace
} // namespace rind::kit
