// Codecs by the settings' words.
#include "runtime/provider/model_codecs.hpp"

#include <algorithm>

#include "runtime/config/models.hpp"
#include "runtime/provider/anthropic_codec.hpp"
#include "runtime/provider/chat_codec.hpp"
#include "runtime/provider/responses_codec.hpp"

namespace rind::provider {

namespace {

reasoning_effort effort_of(std::string_view word) {
  const auto* begin = std::begin(config::reasoning_words);
  const auto* end = std::end(config::reasoning_words);
  const auto* found = std::find(begin, end, word);
  return found == end ? reasoning_effort::unset : static_cast<reasoning_effort>(found - begin);
}

std::shared_ptr<const wire_codec> make_codec(const config::provider_settings& provider,
                                             std::string_view format, reasoning_effort effort) {
  if (format == anthropic_format)
    return std::make_shared<anthropic_codec>(effort);
  if (format == responses_format)
    return std::make_shared<responses_codec>(effort);
  return std::make_shared<chat_codec>(chat_options{provider.max_tokens_field, effort});
}

} // namespace

model_codecs::model_codecs(std::shared_ptr<const wire_codec> others) : others_(std::move(others)) {}

void model_codecs::add(std::string model, std::shared_ptr<const wire_codec> codec) {
  by_model_.insert_or_assign(std::move(model), std::move(codec));
}

std::shared_ptr<const wire_codec> model_codecs::of(const std::string& model) const {
  const auto found = by_model_.find(model);
  return found == by_model_.end() ? others_ : found->second;
}

model_codecs make_codecs(const config::provider_settings& provider) {
  model_codecs codecs{make_codec(provider, provider.format, reasoning_effort::unset)};
  for (const auto& model : provider.models)
    codecs.add(model.name, make_codec(provider, config::format_of(provider, model),
                                      effort_of(model.reasoning)));
  return codecs;
}

} // namespace rind::provider
