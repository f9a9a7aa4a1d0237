// From journal entries to everything a session has to know: the view (S11), its queues, its
// operation, its anchor. One class for a live session, a restart and a replay. Pure: entries in,
// state out; it never reads a clock and never decides anything.
#pragma once

#include <deque>
#include <map>

#include "messages/events.hpp"
#include "messages/journal_entry.hpp"
#include "messages/result.hpp"
#include "runtime/context/anchor.hpp"
#include "runtime/view/view.hpp"

namespace rind::view {

/// What the view depends on beside the journal.
struct projection_settings {
  std::vector<message_ptr>
      system_messages;    // the host's; the session's own system prompt comes after them
  tool_definitions tools; // null: none
};

/// The operation that the journal shows as not ended.
struct open_operation {
  std::string turn_id;
  operation_kind operation = operation_kind::turn;
  std::string input_id;            // of its prompt, or empty
  std::int64_t started_at_ms = 0;  // of the first turn_started
  std::int64_t samplings = 0;      // successful ones, committed
  std::int64_t compactions = 0;    // boundaries that are no rescue
  std::int64_t resumes = 0;        // counted ones (S10)
  std::int64_t context_errors = 0; // from the journaled attempts (S30)
  std::int64_t rescues = 0;
  std::int64_t refused_estimate_tokens = 0; // of the newest refused request; 0: none
  std::optional<std::int64_t> tightened_limit_tokens;
  std::vector<refused_attempt> attempts;
  std::optional<std::int64_t>
      output_limit_tokens;        // lowered for the sampling that is under way (S30)
  bool unread_tool_calls = false; // the newest assistant message has calls without a result
};

/// An input that was accepted and neither delivered nor taken back.
struct pending_input {
  std::string input_id;
  input_mode mode = input_mode::steering;
  std::string text;
};

class projection {
public:
  explicit projection(projection_settings settings);

  /// Takes the next entry. Positions rise; an entry that contradicts the state so far (a result
  /// without its call, an end without a start) answers persistence_failed and leaves the state as
  /// it was.
  result<done> apply(const entry& e);

  const message_view& view() const { return view_; }
  /// The view as a value to share: the same one until the next entry is applied.
  std::shared_ptr<const message_view> shared_view() const;
  const std::optional<open_operation>& operation() const { return operation_; }
  const std::deque<pending_input>& pending() const { return pending_; } // oldest first, both modes
  const context::usage_anchor& anchor() const { return anchor_; }
  const std::vector<std::shared_ptr<const compaction_record>>& boundaries() const {
    return boundaries_;
  }

  bool exists() const {
    return last_position_ > 0;
  } // a session that nobody prompted is not journaled
  std::int64_t last_position() const { return last_position_; }
  const std::string& model() const { return model_; }
  const std::string& system_prompt() const { return system_prompt_; }
  /// What the session wants otherwise than its host; unset: as the host's settings say.
  std::optional<bool> auto_compact() const { return auto_compact_; }
  std::optional<bool> overflow_recovery() const { return overflow_recovery_; }
  std::int64_t created_at_ms() const { return created_at_ms_; }
  std::int64_t updated_at_ms() const { return updated_at_ms_; }
  const std::string& first_prompt() const { return first_prompt_; } // excerpt, for a title
  const std::string& last_text() const {
    return last_text_;
  } // excerpt of the newest user or assistant text, for a preview
  const std::optional<token_usage>& last_usage() const {
    return last_usage_;
  } // of the newest conversation sampling
  std::optional<std::int64_t> learned_window(const std::string& model) const;

  /// Plain local estimate of system messages and tool schemas.
  std::int64_t fixed_tokens() const { return fixed_tokens_; }
  const tool_definitions& tools() const { return settings_.tools; }

  /// Journaled messages [start, end_exclusive) word for word; `start` is not below
  /// view().corpus_start. For digests and for S20.
  std::vector<message_ptr> messages(std::int64_t start, std::int64_t end_exclusive) const;

  /// The view as it would be after this (uncommitted) rescue boundary: bodies shortened, units left
  /// out.
  message_view with_replacements(const std::vector<replacement>& replaced) const;

  /// Why the view must not be sent now (S8), or nullopt; kept up with each message, so asking costs
  /// nothing.
  std::optional<std::string> fault() const { return checker_.fault(); }
  /// The same without the rule for the last message: what must hold between operations too.
  std::optional<std::string> structure_fault() const { return checker_.structure_fault(); }

private:
  result<done> check(const entry& e) const;
  // Why an entry contradicts the state so far; empty: it does not.
  template <class Body>
  std::string fault_of(const entry&, const Body&) const {
    return {};
  }
  std::string fault_of(const entry& e, const entries::turn_started& body) const;
  std::string fault_of(const entry& e, const entries::turn_ended& body) const;
  std::string fault_of(const entry& e, const entries::tool_result& body) const;
  std::string fault_of(const entry& e, const entries::input_accepted& body) const;
  std::string fault_of(const entry& e, const entries::input_delivered& body) const;
  std::string fault_of(const entry& e, const entries::input_promoted& body) const;
  std::string fault_of(const entry& e, const entries::input_taken_back& body) const;
  std::string fault_of(const entry& e, const entries::boundary& body) const;
  bool has_open_call(const std::string& id) const;
  bool is_pending(const std::string& input_id) const;

  void take(const entry& e, const entries::session_created& body);
  void take(const entry& e, const entries::turn_started& body);
  void take(const entry& e, const entries::user_message& body);
  void take(const entry& e, const entries::assistant_message& body);
  void take(const entry& e, const entries::tool_requested& body);
  void take(const entry& e, const entries::tool_result& body);
  void take(const entry& e, const entries::input_accepted& body);
  void take(const entry& e, const entries::input_delivered& body);
  void take(const entry& e, const entries::input_promoted& body);
  void take(const entry& e, const entries::input_taken_back& body);
  void take(const entry& e, const entries::attempt_started& body);
  void take(const entry& e, const entries::usage_recorded& body);
  void take(const entry& e, const entries::boundary& body);
  void take(const entry& e, const entries::model_set& body);
  void take(const entry& e, const entries::window_learned& body);
  void take(const entry& e, const entries::turn_ended& body);
  void remove_pending(const std::string& input_id);
  void apply_boundary(const std::shared_ptr<const compaction_record>& record);

  void append_message(const message_ptr& msg);
  void close_open_calls_before(const message& next);
  void close_open_calls();
  void add_item(item i);
  void add_fixed_part();
  void rebuild();
  message_ptr
  sent_form(const message_ptr& msg) const; // without reasoning that another model wrote (S26)

  projection_settings settings_;
  message_view view_;
  mutable std::shared_ptr<const message_view>
      shared_view_;          // null: not asked for since the last entry
  boundary_checker checker_; // over view_'s items
  std::optional<open_operation> operation_;
  std::deque<pending_input> pending_;
  context::usage_anchor anchor_;
  std::vector<std::shared_ptr<const compaction_record>> boundaries_;
  std::shared_ptr<const compaction_record> summary_; // newest boundary with a handoff, or null
  std::deque<message_ptr> raw_;       // journaled messages from view_.corpus_start on
  std::vector<replacement> replaced_; // in force, merged
  std::map<std::int64_t, std::vector<message_ptr>>
      placeholders_;                  // by the index of the message that they come before
  std::vector<tool_call> open_calls_; // of the newest assistant message
  std::map<std::string, std::int64_t> learned_windows_;
  std::string model_;
  std::string system_prompt_;
  std::optional<bool> auto_compact_;
  std::optional<bool> overflow_recovery_;
  std::string first_prompt_;
  std::string last_text_;
  std::optional<token_usage> last_usage_;
  std::int64_t created_at_ms_ = 0;
  std::int64_t updated_at_ms_ = 0;
  std::int64_t last_position_ = 0;
  std::int64_t fixed_tokens_ = 0;
};

} // namespace rind::view
