// Lines in, lines out.
#include "hosts/classify/classify.hpp"

#include <istream>
#include <ostream>
#include <string>

#include <nlohmann/json.hpp>

#include "hosts/classify/recorded_answer.hpp"
#include "hosts/classify/verdict.hpp"
#include "messages/json.hpp"

namespace rind::hosts::classify {

namespace {

enum class line_kind : std::uint8_t { text, too_long, end };

/// The next line without its end. What passes the bound is read over.
line_kind read_line(std::istream& in, std::string& line) {
  line.clear();
  auto& source = *in.rdbuf();
  bool is_too_long = false;
  for (auto c = source.sbumpc();; c = source.sbumpc()) {
    const auto is_end = c == std::istream::traits_type::eof();
    if (is_end && line.empty() && !is_too_long)
      return line_kind::end;
    if (is_end || c == '\n')
      return is_too_long ? line_kind::too_long : line_kind::text;
    if (line.size() < line_bytes_max)
      line += static_cast<char>(c);
    else
      is_too_long = true;
  }
}

template <class T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

/// Seconds without a fraction that is none.
nlohmann::ordered_json seconds(const std::optional<double>& value) {
  if (value && *value == static_cast<double>(static_cast<std::int64_t>(*value)))
    return static_cast<std::int64_t>(*value);
  return or_null(value);
}

std::string to_line(const std::string& id, const verdict& v) {
  const nlohmann::ordered_json line{{"id", id},
                                    {"class", v.class_name},
                                    {"limit_tokens", or_null(v.limit_tokens)},
                                    {"requested_tokens", or_null(v.requested_tokens)},
                                    {"retry_after_s", seconds(v.retry_after_s)},
                                    {"retry_same", v.retry_same},
                                    {"shrink_output_first", v.shrink_output_first},
                                    {"matched_by", v.matched_by}};
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

} // namespace

int classify_lines(std::istream& in, std::ostream& out, std::ostream& trouble) {
  int code = 0;
  const auto refuse = [&](std::size_t number, const std::string& why) {
    trouble << "rind: error: line " << number << ": " << why << "\n";
    code = 1;
  };
  std::string text;
  for (std::size_t number = 1;; ++number) {
    const auto kind = read_line(in, text);
    if (kind == line_kind::end)
      break;
    if (kind == line_kind::too_long) {
      refuse(number, "longer than " + std::to_string(line_bytes_max) + " bytes");
      continue;
    }
    if (text.find_first_not_of(" \t\r") == std::string::npos)
      continue;
    const auto answer = read_recorded_answer(text);
    if (answer)
      out << to_line(answer->id, judge(*answer)) << "\n";
    else
      refuse(number, answer.error().message);
  }
  out.flush();
  return code;
}

} // namespace rind::hosts::classify
