// The sockets of the mock provider: one coroutine a connection over Boost.Asio and Beast. Which
// request gets which reply is one function here; what the reply says is the formats' matter.
#include "hosts/mock_provider/mock_server.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <utility> // Asio 1.74 uses std::exchange without including it
#include <variant>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/ssl.hpp>

#include "hosts/mock_provider/render.hpp"
#include "hosts/mock_provider/reply_player.hpp"
#include "hosts/mock_provider/request_log.hpp"
#include "hosts/mock_provider/wire_format.hpp"

namespace rind::hosts::mock_provider {

namespace {

namespace ssl = boost::asio::ssl;
namespace http = boost::beast::http;
using http_message = http::request<http::string_body>;

/// Wait before accepting again when there are no descriptors left.
constexpr std::chrono::milliseconds accept_retry{20};

constexpr const char* session_header = "X-Rind-Session";
constexpr std::string_view gates_path = "/gates/";

std::string as_string(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

recorded_request record_of(const http_message& message) {
  recorded_request record;
  record.method = as_string(message.method_string());
  record.target = as_string(message.target());
  record.conversation = as_string(message[session_header]);
  for (const auto& field : message) {
    auto name = lower(as_string(field.name_string()));
    auto value = kept_value(name, as_string(field.value()));
    record.headers.emplace_back(std::move(name), std::move(value));
  }
  record.body = message.body();
  return record;
}

std::string path_of(const std::string& target) {
  return target.substr(0, target.find('?'));
}

/// The format in which an error is told that belongs to none in particular.
const wire_format& format_for(const std::string& target) {
  const auto* format = format_at(path_of(target));
  return format == nullptr ? *wire_formats().front() : *format;
}

provider_fault too_large() {
  return {413, "Request exceeds the maximum size.", "", ""};
}

} // namespace

class mock_server::impl {
public:
  explicit impl(mock_server_options options)
      : options_(std::move(options)),
        limits_{options_.window_tokens, options_.reject_above_tokens},
        player_(std::move(options_.rules)) {}

  result<std::uint16_t> start();
  void stop();

  std::string url() const;
  std::uint16_t port() const { return port_; }
  const request_log& log() const { return log_; }
  gates& all_gates() { return gates_; }

private:
  result<std::uint16_t> listen();
  std::optional<failure> load_certificate();

  net::awaitable<void> accept_all(tcp::acceptor acceptor);
  net::awaitable<void> serve_plain(tcp::socket socket);
  net::awaitable<void> serve_tls(tcp::socket socket);
  template <class Stream>
  net::awaitable<void> serve_requests(Stream& stream);

  mock_reply answer(const http_message& message);
  mock_reply answer_in(const wire_format& format, const http_message& message,
                       recorded_request record);
  void keep(recorded_request record);

  mock_server_options options_;
  const limits limits_;
  std::optional<ssl::context> tls_;
  std::uint16_t port_ = 0;
  request_log log_;
  gates gates_;

  std::mutex player_mutex_;
  script_player player_;

  // Holds the coroutines and with them all sockets; gone after `stop`.
  std::unique_ptr<net::io_context> io_;
  std::vector<std::thread> threads_;
};

// -- life ----------------------------------------------------------------------------------------

result<std::uint16_t> mock_server::impl::start() {
  io_ = std::make_unique<net::io_context>();
  if (!options_.tls_certificate_file.empty() || !options_.tls_key_file.empty())
    if (auto bad = load_certificate())
      return *bad;
  auto port = listen();
  if (!port)
    return port;
  port_ = *port;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, options_.threads); ++i)
    threads_.emplace_back([this] { io_->run(); });
  return port_;
}

std::optional<failure> mock_server::impl::load_certificate() {
  net_error error;
  tls_.emplace(ssl::context::tls_server);
  tls_->use_certificate_chain_file(options_.tls_certificate_file, error);
  if (!error)
    tls_->use_private_key_file(options_.tls_key_file, ssl::context::pem, error);
  if (!error)
    return std::nullopt;
  return make_failure(error_code::unavailable,
                      "cannot use the certificate and its key: " + error.message());
}

result<std::uint16_t> mock_server::impl::listen() {
  net_error error;
  const auto fail = [&] {
    return make_failure(error_code::unavailable, "cannot listen on " + options_.host + ":" +
                                                     std::to_string(options_.port) + ": " +
                                                     error.message());
  };
  const auto address =
      net::ip::make_address(options_.host == "localhost" ? "127.0.0.1" : options_.host, error);
  if (error)
    return fail();
  tcp::acceptor acceptor{net::make_strand(*io_)};
  const tcp::endpoint endpoint{address, options_.port};
  acceptor.open(endpoint.protocol(), error);
  if (!error)
    acceptor.set_option(tcp::acceptor::reuse_address{true}, error);
  if (!error)
    acceptor.bind(endpoint, error);
  if (!error)
    acceptor.listen(net::socket_base::max_listen_connections, error);
  if (error)
    return fail();
  const auto port = acceptor.local_endpoint().port();
  const auto executor = acceptor.get_executor();
  net::co_spawn(executor, accept_all(std::move(acceptor)), [](std::exception_ptr fault) {
    if (fault)
      std::rethrow_exception(fault);
  });
  return port;
}

void mock_server::impl::stop() {
  if (!io_)
    return;
  io_->stop();
  for (auto& thread : threads_)
    thread.join();
  threads_.clear();
  gates_.clear(); // what waits there belongs to the connections
  io_.reset();
}

// -- connections ---------------------------------------------------------------------------------

net::awaitable<void> mock_server::impl::accept_all(tcp::acceptor acceptor) {
  for (;;) {
    net_error error;
    const net::any_io_executor strand = net::make_strand(*io_);
    tcp::socket socket{strand};
    co_await acceptor.async_accept(socket, net::redirect_error(net::use_awaitable, error));
    if (error) {
      net::steady_timer timer{acceptor.get_executor(), accept_retry};
      co_await timer.async_wait(net::redirect_error(net::use_awaitable, error));
      continue;
    }
    // Each frame is its own segment, as a model's are.
    socket.set_option(tcp::no_delay{true}, error);
    auto served = tls_ ? serve_tls(std::move(socket)) : serve_plain(std::move(socket));
    net::co_spawn(strand, std::move(served), [](std::exception_ptr fault) {
      if (fault)
        std::rethrow_exception(fault);
    });
  }
}

net::awaitable<void> mock_server::impl::serve_plain(tcp::socket socket) {
  const request_log::open_connection counted{log_};
  tcp::socket owned = std::move(socket); // closed before it is no longer counted
  co_await serve_requests(owned);
}

net::awaitable<void> mock_server::impl::serve_tls(tcp::socket socket) {
  const request_log::open_connection counted{log_};
  ssl::stream<tcp::socket> stream{std::move(socket), *tls_};
  net_error error;
  co_await stream.async_handshake(ssl::stream_base::server,
                                  net::redirect_error(net::use_awaitable, error));
  if (!error)
    co_await serve_requests(stream);
}

template <class Stream>
net::awaitable<void> mock_server::impl::serve_requests(Stream& stream) {
  boost::beast::flat_buffer buffer;
  reply_player<Stream> player{stream, gates_};
  for (;;) {
    http::request_parser<http::string_body> parser;
    parser.header_limit(static_cast<std::uint32_t>(request_head_bytes_max));
    parser.body_limit(request_body_bytes_max);
    net_error error;
    co_await http::async_read(stream, buffer, parser,
                              net::redirect_error(net::use_awaitable, error));
    if (error == http::error::body_limit)
      co_await player.play(render_error(format_for(as_string(parser.get().target())), too_large()));
    if (error)
      co_return;
    const auto message = parser.release();
    const auto reply = answer(message);
    if (!co_await player.play(reply) || !message.keep_alive())
      co_return;
  }
}

// -- answers -------------------------------------------------------------------------------------

mock_reply mock_server::impl::answer(const http_message& message) {
  const auto target = as_string(message.target());
  const auto path = path_of(target);
  const bool get = message.method() == http::verb::get;
  if (get && path == "/requests")
    return json_reply(200, log_.list());
  if (message.method() == http::verb::post && path.rfind(gates_path, 0) == 0) {
    gates_.open(path.substr(gates_path.size()));
    return json_reply(200, {{"open", true}});
  }
  auto record = record_of(message);
  const auto* format = format_at(path);
  if (message.method() == http::verb::post && format != nullptr)
    return answer_in(*format, message, std::move(record));
  keep(std::move(record));
  if (get && path == "/v1/models")
    return render_models(limits_);
  return render_error(format_for(target), {404, "Unknown request URL: " + target, "", ""});
}

mock_reply mock_server::impl::answer_in(const wire_format& format, const http_message& message,
                                        recorded_request record) {
  const auto reading = format.read({message.body(), record.headers, record.conversation});
  if (const auto* fault = std::get_if<provider_fault>(&reading)) {
    keep(std::move(record));
    return render_error(format, *fault);
  }
  const auto& request = std::get<mock_request>(reading);
  picked_answer picked;
  {
    const std::lock_guard lock{player_mutex_};
    picked = player_.pick(request);
  }
  record.prompt_tokens = request.prompt_tokens;
  record.rule_line = picked.line;
  keep(std::move(record));
  return render(format, picked, request, limits_);
}

void mock_server::impl::keep(recorded_request record) {
  if (options_.on_request)
    options_.on_request(record);
  log_.keep(std::move(record));
}

std::string mock_server::impl::url() const {
  if (port_ == 0)
    return {};
  const bool six = options_.host.find(':') != std::string::npos;
  return (tls_ ? "https://" : "http://") + (six ? "[" + options_.host + "]" : options_.host) + ":" +
         std::to_string(port_);
}

// -- the public face -----------------------------------------------------------------------------

mock_server::mock_server(mock_server_options options)
    : impl_(std::make_unique<impl>(std::move(options))) {}

mock_server::~mock_server() {
  stop();
}

result<std::uint16_t> mock_server::start() {
  return impl_->start();
}

void mock_server::stop() {
  impl_->stop();
}

std::string mock_server::url() const {
  return impl_->url();
}

std::uint16_t mock_server::port() const {
  return impl_->port();
}

std::vector<recorded_request> mock_server::requests() const {
  return impl_->log().requests();
}

std::uint64_t mock_server::request_count() const {
  return impl_->log().request_count();
}

std::size_t mock_server::open_connections() const {
  return impl_->log().open_connections();
}

void mock_server::open_gate(const std::string& name) {
  impl_->all_gates().open(name);
}

std::size_t mock_server::waiting_at_gate(const std::string& name) const {
  return impl_->all_gates().waiting(name);
}

bool mock_server::wait_at_gate(const std::string& name, std::size_t count,
                               std::int64_t timeout_ms) const {
  return impl_->all_gates().wait(name, count, timeout_ms);
}

bool mock_server::wait_for_requests(std::uint64_t count, std::int64_t timeout_ms) const {
  return impl_->log().wait_for_requests(count, timeout_ms);
}

bool mock_server::wait_for_connections(std::size_t count, std::int64_t timeout_ms) const {
  return impl_->log().wait_for_connections(count, timeout_ms);
}

} // namespace rind::hosts::mock_provider
