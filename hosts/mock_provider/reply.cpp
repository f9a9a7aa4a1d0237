// The head of a reply.
#include "hosts/mock_provider/reply.hpp"

#include <algorithm>
#include <cctype>
#include <ostream> // Boost 1.74 prints strings without including it

#include <boost/beast/http/status.hpp>

namespace rind::hosts::mock_provider {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string head_of(const mock_reply& reply) {
  namespace http = boost::beast::http;
  const auto reason =
      http::obsolete_reason(http::int_to_status(static_cast<unsigned>(reply.status)));
  std::string head = "HTTP/1.1 " + std::to_string(reply.status) + " ";
  head.append(reason.data(), reason.size()).append("\r\n");
  const auto add = [&head](const std::string& name, const std::string& value) {
    head.append(name).append(": ").append(value).append("\r\n");
  };
  bool has_type = false;
  for (const auto& [name, value] : reply.headers) {
    has_type = has_type || lower(name) == "content-type";
    add(name, value);
  }
  if (!has_type)
    add("Content-Type", reply.content_type);
  if (reply.stream)
    add("Transfer-Encoding", "chunked");
  else
    add("Content-Length", std::to_string(reply.length_bytes));
  return head + "\r\n";
}

} // namespace rind::hosts::mock_provider
