// Beast reads the request from bytes and writes the answer to bytes; the sockets are asio_server's.
#include "runtime/net/status_server.hpp"

#include <sstream>
#include <utility> // Asio of Boost 1.74 does not include it itself

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "runtime/net/asio_server.hpp"

namespace rind::net {

namespace {

namespace http = boost::beast::http;
using request_parser = http::request_parser<http::empty_body>;

std::string text_of(const status_page& page, unsigned version, bool with_body) {
  http::response<http::string_body> answer{static_cast<http::status>(page.status), version};
  answer.set(http::field::content_type, page.content_type);
  answer.set(http::field::cache_control, "no-store");
  if (page.status == 401)
    answer.set(http::field::www_authenticate, "Bearer");
  answer.keep_alive(false);
  answer.content_length(page.body.size());
  if (with_body)
    answer.body() = page.body;
  std::ostringstream text;
  text << answer;
  return text.str();
}

status_page refused(int status, const std::string& why) {
  return {status, "text/plain; charset=utf-8", why + "\n"};
}

/// The token of `Authorization: Bearer TOKEN`, or an empty text.
std::string bearer_token(const request_parser& request) {
  constexpr std::string_view scheme = "Bearer ";
  const auto field = request.get()[http::field::authorization];
  const std::string_view value(field.data(), field.size());
  return value.starts_with(scheme) ? std::string(value.substr(scheme.size())) : std::string();
}

} // namespace

struct status_server::state {
  status_options options;
  std::unique_ptr<asio_server> server;

  status_page answer(const request_parser& request) const {
    const auto& head = request.get();
    if (head.method() != http::verb::get && head.method() != http::verb::head)
      return refused(405, "only GET and HEAD");
    if (options.lets_in && !options.lets_in(bearer_token(request)))
      return refused(401, "this needs a token of the host: Authorization: Bearer TOKEN");
    const std::string target(head.target().data(), head.target().size());
    return options.page(target.substr(0, target.find('?')));
  }

  /// One request of one connection.
  struct asker {
    std::string received;
    request_parser parser;
    bool answered = false;
  };

  void take(asker& from, connection& link, const std::string& bytes) const {
    if (from.answered)
      return;
    from.received += bytes;
    boost::beast::error_code error;
    from.parser.header_limit(status_request_bytes_max);
    const auto used = from.parser.put(boost::asio::buffer(from.received), error);
    from.received.erase(0, used);
    const bool is_more_wanted = error == http::error::need_more;
    if (is_more_wanted && from.received.size() <= status_request_bytes_max)
      return;
    from.answered = true;
    if (error || is_more_wanted || !from.parser.is_header_done()) {
      link.send(text_of(refused(400, "this is no request that a status page answers"), 11, true));
    } else {
      const bool with_body = from.parser.get().method() != http::verb::head;
      link.send(text_of(answer(from.parser), from.parser.get().version(), with_body));
    }
    link.close_after_writes();
  }
};

status_server::status_server(status_options options) : state_(std::make_shared<state>()) {
  state_->options = std::move(options);
  server_options server;
  server.connections_max = status_connections_max;
  server.full_line = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n";
  server.lifetime_ms = status_lifetime_ms;
  state_->server = std::make_unique<asio_server>(std::move(server));
}

status_server::~status_server() {
  stop();
}

result<std::uint16_t> status_server::listen(const tcp_address& address, tls_side_ptr tls) {
  return state_->server->listen_tcp(
      address, std::move(tls),
      [state = state_.get()](connection_ptr link) -> std::variant<connection_events, refusal> {
        auto from = std::make_shared<state::asker>();
        connection_events events;
        events.on_bytes = [state, from, link](const std::string& bytes) {
          link->consumed(bytes.size());
          state->take(*from, *link, bytes);
        };
        return events;
      });
}

void status_server::renew_tls(tls_side_ptr tls) {
  state_->server->renew_tls(std::move(tls));
}

void status_server::stop() {
  state_->server->stop();
}

} // namespace rind::net
