// A session's journal written by hand: each verb appends one entry with the next position. Pure;
// what matters is passed in.
#pragma once

#include "runtime/view/projection.hpp"

namespace rind::kit {

class journal_builder {
public:
  explicit journal_builder(std::string model = "model-a", std::string system_prompt = "Be brief.");

  journal_builder& turn(std::string turn_id = "t1", std::string input_id = {});
  journal_builder& compact_operation(std::string turn_id = "t1");
  journal_builder& resumed(bool handed_over = false);
  journal_builder& ended(entries::turn_outcome outcome = entries::turn_outcome::completed);
  journal_builder& user(std::string text);
  journal_builder& assistant(std::string text, std::vector<tool_call> calls = {});
  /// An assistant message whose request was counted by the provider.
  journal_builder& counted(std::string text, std::int64_t reported_input,
                           std::int64_t request_local, std::int64_t request_generation = 0);
  journal_builder& result(std::string call_id, std::string text, bool is_error = false);
  journal_builder& accepted(std::string input_id, input_mode mode, std::string text);
  journal_builder& delivered(std::string input_id, input_mode mode, std::string text);
  /// A boundary with a handoff; the suffix starts at `end`.
  journal_builder& compacted(std::int64_t end, std::string handoff,
                             std::vector<replacement> replaced = {});
  journal_builder& rescued(std::vector<replacement> replaced);
  journal_builder& add(entry_body body);

  const std::vector<entry>& entries() const { return entries_; }
  /// The state after all entries. Throws where an entry contradicts.
  view::projection project(view::projection_settings settings = {}) const;

private:
  std::vector<entry> entries_;
  std::string model_;
  std::string turn_id_;
  std::int64_t generation_ = 0;
  std::int64_t corpus_start_ = 0;
};

message_ptr make_message(message_role role, std::string text, std::vector<tool_call> calls = {},
                         std::string tool_call_id = {});
tool_call make_call(std::string id, std::string name = "read_file",
                    std::string arguments = R"({"path":"a.txt"})");

/// Role, text and ids of a view's messages, one a line: what two views are compared by.
std::string shown(const view::message_view& v);

/// A text of about `tokens` tokens by the local estimate.
std::string text_of_tokens(std::int64_t tokens);

} // namespace rind::kit
