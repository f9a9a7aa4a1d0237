// The provider port: sends one sampling request and streams what comes back. Implementations: chat
// completions over HTTP, the embedded model, scripted ones in tests/kit. No CAF; the provider actor
// is a thin adapter over it.
#pragma once

#include <functional>
#include <memory>

#include "messages/sampling.hpp"

namespace rind::provider {

/// Who hears about one request. Called on any thread, one call at a time, `on_end` exactly once and
/// last.
struct sampling_sink {
  std::function<void(sampling_delta)> on_delta;
  std::function<void(sampling_outcome)> on_end;
};

class model_provider {
public:
  virtual ~model_provider() = default;

  /// Starts a request. Like cancel it may be called on any thread, also on several at once. The
  /// sink may be called before it returns. A request that cannot be sent ends with a
  /// provider_error.
  virtual void start(sampling_request request, sampling_sink sink) = 0;

  /// Ends a request early: its sink hears sampling_cancelled (unless it ended by itself before)
  /// soon. Unknown ids are ignored.
  virtual void cancel(const std::string& request_id) = 0;
};

} // namespace rind::provider
