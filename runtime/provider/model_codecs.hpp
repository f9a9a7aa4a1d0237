// Which wire format each model of one provider speaks, from the settings: the only place that
// makes codecs.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "runtime/config/settings.hpp"
#include "runtime/provider/wire_codec.hpp"

namespace rind::provider {

/// The codecs of one provider. Immutable once it is made; then any thread may read it.
class model_codecs {
public:
  /// `others` is for models that were not added.
  explicit model_codecs(std::shared_ptr<const wire_codec> others);

  void add(std::string model, std::shared_ptr<const wire_codec> codec);
  std::shared_ptr<const wire_codec> of(const std::string& model) const;

private:
  std::shared_ptr<const wire_codec> others_;
  std::map<std::string, std::shared_ptr<const wire_codec>> by_model_;
};

/// The codecs that the settings of a provider and of its models ask for.
model_codecs make_codecs(const config::provider_settings& provider);

} // namespace rind::provider
