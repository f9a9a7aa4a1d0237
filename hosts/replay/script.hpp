// The recorded agent's other side: a model and tools that know the recording, and the cue for the
// client to cancel. Called on the host's threads; everything is behind one lock.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "hosts/replay/plan.hpp"
#include "hosts/replay/true_sizes.hpp"
#include "runtime/provider/port.hpp"
#include "runtime/tools/port.hpp"

namespace rind::hosts::replay {

/// Characters of an extract that stands for a summary.
inline constexpr std::int64_t summary_chars_max = 6'000;

/// One request that reached the model.
struct seen_request {
  sampling_kind kind = sampling_kind::assistant;
  std::vector<message_ptr> messages;
  std::int64_t estimated_tokens = 0; // the host's active estimate
  std::int64_t true_tokens = 0;
  bool refused = false;
  bool repeated = false;               // the same step was answered before
  std::optional<std::size_t> answered; // with this assistant message of the recording
};

/// What the client waits for while a prompt runs.
class cues {
public:
  enum class kind : std::uint8_t { cancel, answered, overdue };

  void want_cancel();
  void answered();
  void progressed();
  /// The next cue; overdue after `silence_ms` without any progress.
  kind wait(std::int64_t silence_ms);

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t progress_ = 0;
  std::size_t cancels_ = 0;
  std::size_t answers_ = 0;
};

struct script_options {
  std::optional<std::int64_t> reject_above_tokens; // true size of a request
};

/// Model and tools of one replayed session.
class script final : public provider::model_provider {
public:
  /// All referenced values must outlive it.
  script(const recording& r, const plan& p, const true_sizes& sizes, script_options options,
         cues& to_client);

  /// The next requests belong to this turn of the plan.
  void begin_turn(std::size_t index);

  // -- the model --
  void start(sampling_request request, provider::sampling_sink sink) override;
  void cancel(const std::string& request_id) override;

  // -- the tools --
  void start_call(const tools::invocation& call, tools::tool_sink sink);
  void cancel_call(const std::string& invocation_id);

  /// Everything that reached the model, in order.
  std::vector<seen_request> requests() const;
  /// Messages of the recording that were played or passed over so far.
  std::size_t played() const;

private:
  struct reply; // what is told outside of the lock
  struct waiting_call {
    tools::invocation call;
    tools::tool_sink sink;
  };

  reply decide(const sampling_request& request, seen_request& seen);
  reply summarise(const sampling_request& request, const seen_request& seen) const;
  reply next_step(const sampling_request& request, seen_request& seen);
  reply play(const step& s, seen_request& seen);
  reply leave_open() const;
  provider_error too_long(std::int64_t tokens) const;
  bool shows_last_answer(const sampling_request& request) const;
  std::shared_ptr<message> spoken(std::size_t index, const std::string& model) const;

  const recording& recording_;
  const plan& plan_;
  const true_sizes& sizes_;
  const script_options options_;
  cues& to_client_;

  mutable std::mutex mutex_; // guards what follows; never held while a sink is called
  std::size_t turn_ = 0;
  std::size_t next_step_ = 0;
  std::optional<std::size_t> last_answer_; // of this turn: the step
  std::size_t played_ = 0;                 // one past the newest message that was played
  std::map<std::string, provider::sampling_sink> open_;
  std::vector<waiting_call> batch_; // calls of the last answer that have started
  std::map<std::string, tools::tool_sink> hanging_;
  std::vector<seen_request> requests_;
};

/// A tool for each name that the recording calls. `s` must outlive the registry.
tools::registry scripted_tools(const recording& r, script& s);

/// The text that stands for the recorded agent's system prompt: with the schemas of `tools` it has
/// 4 bytes for each of `fixed_tokens`.
std::string stand_in_prompt(std::int64_t fixed_tokens, const tool_definitions& tools);

} // namespace rind::hosts::replay
