// What an error body says, gathered from the many shapes in which servers wrap it: objects, arrays,
// JSON inside strings, plain text. Pure; what it means stands in error_classifier.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace rind::provider {

inline constexpr std::size_t evidence_nodes_max = 400; // JSON values looked at in one body
inline constexpr std::size_t evidence_texts_max = 24;  // messages and codes kept, each
inline constexpr std::size_t evidence_text_bytes_max = 4'096;

struct error_evidence {
  std::vector<std::string> messages; // as written, outermost first, without repetitions
  std::vector<std::string> codes;  // codes, types, reasons and states, lower case, outermost first
  std::string param;               // lower case
  std::optional<int> inner_status; // an HTTP status that the body states, 400 to 599
  std::optional<std::int64_t> prompt_tokens; // numbers in fields of their own
  std::optional<std::int64_t> window_tokens;
  std::optional<double> retry_delay_s;
  bool is_json = false;
  bool is_html = false;
  bool is_empty = false;
};

/// Reads a body, or the data of one event. HTML gives its title as the message.
error_evidence read_evidence(std::string_view body);

/// Whether a value that came with status 200, or in a stream, is a failure and no part of an
/// answer.
bool is_error_body(const nlohmann::json& value);

} // namespace rind::provider
