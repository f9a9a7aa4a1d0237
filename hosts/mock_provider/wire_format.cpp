// The table of the formats.
#include "hosts/mock_provider/wire_format.hpp"

#include <algorithm>
#include <array>

#include "hosts/mock_provider/formats/chat_completions.hpp"
#include "hosts/mock_provider/formats/messages.hpp"
#include "hosts/mock_provider/formats/responses.hpp"

namespace rind::hosts::mock_provider {

std::span<const wire_format* const> wire_formats() {
  static const chat_completions_format chat_completions;
  static const responses_format responses;
  static const messages_format messages;
  static const std::array<const wire_format*, 3> all{&chat_completions, &responses, &messages};
  return all;
}

const wire_format* format_at(std::string_view path) {
  const auto all = wire_formats();
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const wire_format* format) { return format->path() == path; });
  return found == all.end() ? nullptr : *found;
}

} // namespace rind::hosts::mock_provider
