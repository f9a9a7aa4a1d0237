// What the tests of the mock provider share: the three formats as their clients see them, and the
// boundary rules as tables of requests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "hosts/mock_provider/render.hpp"
#include "hosts/mock_provider/script.hpp"
#include "hosts/mock_provider/wire_format.hpp"

namespace rind::hosts::mock_provider::test {

/// What a client puts together of a reply, of a stream or in one piece.
struct heard {
  std::string text, reasoning;
  std::string finish;                                     ///< the format's word; empty: none came
  std::vector<std::pair<std::string, std::string>> calls; ///< name, arguments
  std::vector<std::string> call_ids;
  std::string proof; ///< what has to come back with the reasoning: signature or seal
  bool usage_seen = false;
  nlohmann::json usage;               ///< as sent, the parts of a stream joined
  bool ended = false;                 ///< the mark of the end came
  nlohmann::json error;               ///< the error value; null: none
  nlohmann::json error_field;         ///< of a line `error: ...`; null: none
  std::vector<nlohmann::json> output; ///< what has to be sent back as the assistant's turn
};

/// Tokens in neutral words: input is the whole prompt, cached a part of it.
struct counts {
  std::int64_t input = 0, cached = 0, output = 0;
  friend bool operator==(const counts&, const counts&) = default;
};

/// One format, as a client speaks it.
struct client_format {
  const char* name;
  const char* path;
  /// A good request with this text of the user.
  nlohmann::json (*ask)(const std::string& text, bool stream);
  heard (*hear)(const mock_reply& reply);
  counts (*count)(const nlohmann::json& usage);
  /// The names of the finish reasons stop, tool_calls, length, content_filter, window_exceeded.
  std::vector<std::string> finishes;
  const char* keep_alive;
  /// Where the output limit stands in a request.
  const char* output_limit;

  const wire_format& server() const { return *format_at(path); }
};

/// Chat Completions, Responses, Messages.
const std::vector<client_format>& client_formats();
const client_format& chat_client();
const client_format& responses_client();
const client_format& messages_client();

/// The headers that every format is content with.
const header_list& good_headers();

request_reading read_by(const client_format& format, const nlohmann::json& body,
                        const std::string& conversation = "",
                        const header_list& headers = good_headers());

/// Fails the test where the request is refused.
mock_request request_of(const client_format& format, const nlohmann::json& body,
                        const std::string& conversation = "");

script rules_of(const std::string& text);

/// The reply to the only request of a server with this script.
mock_reply reply_to(const client_format& format, const std::string& rules,
                    const nlohmann::json& body, const limits& defaults = {});

std::string bytes_of(const mock_reply& reply);

/// One rule of a format: what is put into a good request so that it keeps the rule, and so that it
/// does not. Both are JSON objects in which `<name>` stands for a fragment.
struct boundary_rule {
  const char* rule;
  const char* kept;
  const char* broken;
  const char* words; ///< of the refusal
  int status = 400;
};

struct fragment {
  std::string name;
  std::string text;
};

void expect_rules(const client_format& format, const std::vector<fragment>& fragments,
                  const std::vector<boundary_rule>& rules);

} // namespace rind::hosts::mock_provider::test
