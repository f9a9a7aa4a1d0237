// Models behind HTTP: sends a request through the HTTP port in the wire format of its model and
// streams the answer. Retries, limits on requests at once and what an error leads to belong to
// others.
#pragma once

#include <memory>
#include <string>

#include "runtime/config/settings.hpp"
#include "runtime/provider/http_port.hpp"
#include "runtime/provider/model_codecs.hpp"
#include "runtime/provider/port.hpp"
#include "runtime/provider/wire_codec.hpp"

namespace rind::provider {

/// The sink hears everything on the transport's thread, but for refusals before sending, which it
/// hears on the caller's thread before `start` returns. Deltas of one piece of the body arrive
/// merged. The outcome is told as soon as the answer is complete, also where the connection stays
/// open a little longer. May be used from any thread; may be destroyed while requests run: they end
/// by themselves.
///
/// A body above the byte limit is request_too_large and not sent. Errors of the transport: see
/// transport_error in response_reader.hpp. The key is in no error: should a provider repeat it, it
/// is blotted out.
class http_provider final : public model_provider {
public:
  /// `transport` must outlive the provider and is shared with others.
  http_provider(config::provider_settings settings, model_codecs codecs, http_transport& transport);
  /// The same codec for all models.
  http_provider(config::provider_settings settings, std::shared_ptr<const wire_codec> codec,
                http_transport& transport);
  ~http_provider() override;

  void start(sampling_request request, sampling_sink sink) override;
  void cancel(const std::string& request_id) override;

private:
  class exchange;
  struct running_exchanges;

  http_request make_request(const sampling_request& request, const wire_codec& codec,
                            std::shared_ptr<const std::string> body) const;

  std::shared_ptr<const config::provider_settings> settings_;
  model_codecs codecs_;
  http_transport& transport_;
  std::shared_ptr<running_exchanges> running_;
};

} // namespace rind::provider
