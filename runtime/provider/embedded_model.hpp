// A model that needs no network: the default where no provider is configured, for demos, first
// steps and tests. Deterministic: the same request gets the same answer. What it says stands in
// embedded_reply.hpp; here it is counted, held against the window and streamed.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/provider/embedded_pace.hpp"
#include "runtime/provider/port.hpp"

namespace rind::provider {

/// An answer is streamed in at most this many deltas.
inline constexpr std::size_t embedded_deltas_max = 48;
/// The model's token: this many bytes of UTF-8.
inline constexpr std::int64_t embedded_bytes_per_token = 4;
/// What the envelope of a message costs besides its text, in bytes.
inline constexpr std::int64_t embedded_envelope_bytes = 16;

struct embedded_options {
  std::int64_t window_tokens = 32'000; // prompts above it are refused
  std::int64_t delta_ms = 0;           // pause before each delta
};

/// The model's own count of a prompt: the bytes of all texts, calls, reasoning and tool schemas
/// plus an envelope for each message, divided by embedded_bytes_per_token and rounded up.
std::int64_t embedded_prompt_tokens(const sampling_request& request);

/// Answers inline: the sink is called on the caller's thread before `start` returns; with a pause
/// between deltas, on a thread of the model's, whose end the destructor waits for. Any number of
/// threads may call at once. An answer longer than the output limit, or than what the prompt leaves
/// of the window, is cut there (finish length). A prompt above the window is refused as
/// context_length with both numbers.
class embedded_model final : public model_provider {
public:
  explicit embedded_model(embedded_options options = {});

  void start(sampling_request request, sampling_sink sink) override;
  void cancel(const std::string& request_id) override;

private:
  bool is_cancelled(const std::string& request_id);
  bool stream(const std::string& request_id, const std::vector<std::string>& pieces,
              const sampling_sink& sink);

  embedded_options options_;
  std::mutex mutex_;
  std::map<std::string, bool> running_; // request id -> cancelled; what is answered inline
  std::unique_ptr<embedded_pace> pace_; // null: answers come inline
};

} // namespace rind::provider
