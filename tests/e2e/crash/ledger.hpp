// What one client was told about one session, across every crash of the host, and what has to be
// true of the journal because of it. It sends nothing: frames and journals in, complaints out.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace rind::e2e {

/// A session as it stands: both replays, and the journal's own entries as `rind sessions export`
/// prints them.
struct whole_session {
  std::vector<nlohmann::json> events;
  std::vector<nlohmann::json> messages;
  std::vector<nlohmann::json> entries;
};

using complaints = std::vector<std::string>;

class ledger {
public:
  /// A durable event, live or replayed. Repeats of what was told before are compared and counted
  /// once (S37).
  void saw_event(const nlohmann::json& event, complaints& out);
  /// The newest durable event that was told: where to replay from after a crash.
  std::int64_t cursor() const { return told_.empty() ? 0 : told_.rbegin()->first; }

  void sent_prompt(const std::string& input_id, const std::string& text) {
    prompts_[input_id] = {text, false, {}, {}};
  }
  /// `turn_started` of a new turn came while this prompt was the one that is out.
  void prompt_started(const std::string& input_id) { prompts_[input_id].is_started = true; }
  void prompt_answered(const std::string& input_id, const std::string& turn_id,
                       const std::string& outcome);
  void sent_input(const std::string& input_id, const std::string& mode, const std::string& text);
  void input_accepted(const std::string& input_id) { inputs_[input_id].is_accepted = true; }
  void input_taken_back(const std::string& input_id) { inputs_[input_id].is_taken_back = true; }
  void input_promoted(const std::string& input_id) { inputs_[input_id].is_promoted = true; }
  /// The answer of a manual compaction.
  void compacted(const nlohmann::json& record) { records_.push_back(record); }

  /// Everything that was told is in the journal, and the journal is whole (S3, S6, S24, S35).
  void check_journal(const std::vector<nlohmann::json>& entries, complaints& out) const;
  /// Both replays agree with what was told, with each other and with the replay before (S35, S36).
  void check_replay(const whole_session& now, complaints& out);
  /// At the end, when nothing runs: nothing is pending any more, and the follower missed nothing
  /// (S3, S37).
  void check_end(const whole_session& now, complaints& out) const;

  std::size_t told_count() const { return told_.size(); }
  std::size_t accepted_count() const;
  /// Boundaries that were told, of one strategy.
  std::size_t boundary_count(const std::string& strategy) const;

private:
  struct told_prompt {
    std::string text;
    bool is_started = false;
    std::string turn_id; // of the answer
    std::string outcome;
  };
  struct told_input {
    std::string mode;
    std::string text;
    bool is_accepted = false;
    bool is_taken_back = false;
    bool is_promoted = false;
  };

  void check_told_entries(const std::vector<nlohmann::json>& entries, complaints& out) const;
  void check_inputs(const std::vector<nlohmann::json>& entries, complaints& out) const;

  std::map<std::int64_t, nlohmann::json> told_; // by cursor
  std::map<std::string, told_prompt> prompts_;  // by input_id
  std::map<std::string, told_input> inputs_;    // by input_id
  std::vector<nlohmann::json> records_;
  std::vector<nlohmann::json> replay_before_;
};

/// Rules of a journal that need no client: operations do not overlap and end once, inputs have one
/// fate, boundaries are whole.
void check_operations(const std::vector<nlohmann::json>& entries, complaints& out);
void check_boundaries(const std::vector<nlohmann::json>& entries, complaints& out);

} // namespace rind::e2e
