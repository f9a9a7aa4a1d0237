// The words with which providers end an answer, of all wire formats, as one table. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "messages/sampling.hpp"

namespace rind::provider {

/// What a word means. Unknown words, and those after which an answer is not complete, are `other`.
finish_reason finish_of(std::string_view word);

/// The class of a word that is a failure in truth, or nothing.
std::optional<provider_error_class> failure_of(std::string_view word);

} // namespace rind::provider
