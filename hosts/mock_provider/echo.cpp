// The default answers.
#include "hosts/mock_provider/echo.hpp"

#include <algorithm>
#include <cctype>

namespace rind::hosts::mock_provider {

namespace {

constexpr std::size_t echo_chars_max = 400;
constexpr std::size_t summary_excerpt_chars_max = 160;
constexpr std::size_t chunk_chars = 24;

std::string excerpt(const std::string& text, std::size_t chars) {
  const auto pieces = split_text(text, chars);
  if (pieces.empty())
    return "(nothing)";
  return pieces.size() == 1 ? pieces.front() : pieces.front() + "...";
}

std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

std::string summary(const mock_request& request) {
  return "## Goal\n" + one_line(excerpt(request.first_user_text, summary_excerpt_chars_max)) +
         "\n## Finished\nThe conversation up to here (" + std::to_string(request.message_count) +
         " messages in the request).\n## Pending\nWhat the user asked last.\n"
         "## Risks\nNone known to the mock provider.\n";
}

} // namespace

bool asks_for_summary(const mock_request& request) {
  std::string text = request.last_user_text;
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return !request.has_tools && text.find("handoff") != std::string::npos &&
         text.find("summar") != std::string::npos;
}

scripted_answer default_answer(const mock_request& request) {
  std::string text;
  if (asks_for_summary(request))
    text = summary(request);
  else if (request.last_is_tool_result)
    text = "The tool said: " + excerpt(request.last_text, echo_chars_max);
  else
    text = "You said: " + excerpt(request.last_user_text, echo_chars_max);
  scripted_answer answer;
  answer.deltas = split_text(text, chunk_chars);
  return answer;
}

} // namespace rind::hosts::mock_provider
