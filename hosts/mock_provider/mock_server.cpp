// The sockets of the mock provider: one coroutine a connection over Boost.Asio and Beast. This is
// the only file that includes them.
#include "hosts/mock_provider/mock_server.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility> // Asio 1.74 uses std::exchange without including it

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/ssl.hpp>

#include "hosts/mock_provider/chat_completions.hpp"

namespace rind::hosts::mock_provider {

namespace {

namespace net = boost::asio;
namespace ssl = boost::asio::ssl;
namespace http = boost::beast::http;
using net_error = boost::system::error_code;
using net::ip::tcp;
using http_message = http::request<http::string_body>;

/// Wait before accepting again when there are no descriptors left.
constexpr std::chrono::milliseconds accept_retry{20};

constexpr const char* session_header = "X-Rind-Session";

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

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
    const bool secret = name == "authorization" || name == "proxy-authorization";
    record.headers.emplace_back(std::move(name), secret ? "(present)" : as_string(field.value()));
  }
  record.body = message.body();
  return record;
}

std::string head_of(const mock_reply& reply) {
  const auto reason =
      http::obsolete_reason(http::int_to_status(static_cast<unsigned>(reply.status)));
  std::string head = "HTTP/1.1 " + std::to_string(reply.status) + " " + as_string(reason) + "\r\n";
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

nlohmann::json to_json(const recorded_request& record) {
  auto body = nlohmann::json::parse(record.body, nullptr, false);
  if (body.is_discarded())
    body = record.body;
  auto headers = nlohmann::json::object();
  for (const auto& [name, value] : record.headers)
    headers[name] = value;
  return {{"number", record.number},
          {"method", record.method},
          {"target", record.target},
          {"conversation", record.conversation},
          {"headers", headers},
          {"body", body},
          {"prompt_tokens", record.prompt_tokens},
          {"rule_line", record.rule_line}};
}

mock_reply plain_json(const nlohmann::json& value) {
  mock_reply reply;
  auto text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  reply.length_bytes = text.size();
  reply.chunks.push_back({0, std::move(text)});
  return reply;
}

/// Plays replies on one connection. `Stream` is a socket or TLS over one.
template <class Stream>
class reply_player {
public:
  explicit reply_player(Stream& stream)
      : stream_(stream), socket_(boost::beast::get_lowest_layer(stream)) {}

  /// False where the connection has to end.
  net::awaitable<bool> play(const mock_reply& reply) {
    if (reply.silent) {
      co_await wait_for_client();
      co_return false;
    }
    if (!co_await pause(reply.delay_ms) || !co_await send(head_of(reply)))
      co_return false;
    for (const auto& chunk : reply.chunks)
      if (!co_await pause(chunk.delay_ms) || !co_await send_piece(reply, chunk))
        co_return false;
    co_return co_await end(reply);
  }

private:
  net::awaitable<bool> end(const mock_reply& reply) {
    switch (reply.end) {
    case reply_end::complete:
      // Not `!stream || co_await …`: g++ 12 awaits the right side of it in any case.
      if (reply.stream)
        co_return co_await send("0\r\n\r\n");
      co_return true;
    case reply_end::close:
      break;
    case reply_end::reset: {
      net_error ignored; // the connection ends either way
      socket_.set_option(tcp::socket::linger{true, 0}, ignored);
      break;
    }
    case reply_end::silence:
      co_await wait_for_client();
      break;
    case reply_end::repeat:
      while (co_await pause(reply.chunks.back().delay_ms) &&
             co_await send_piece(reply, reply.chunks.back())) {
      }
      break;
    }
    co_return false;
  }

  net::awaitable<bool> send(std::string bytes) {
    net_error error;
    co_await net::async_write(stream_, net::buffer(bytes),
                              net::redirect_error(net::use_awaitable, error));
    co_return !error;
  }

  net::awaitable<bool> send_piece(const mock_reply& reply, const reply_chunk& chunk) {
    net_error error;
    const auto bytes = net::buffer(chunk.bytes);
    if (chunk.bytes.empty())
      co_return true;
    if (reply.stream)
      co_await net::async_write(stream_, http::make_chunk(bytes),
                                net::redirect_error(net::use_awaitable, error));
    else
      co_await net::async_write(stream_, bytes, net::redirect_error(net::use_awaitable, error));
    co_return !error;
  }

  /// Whether a client from which nothing is expected has closed the connection. A socket can be
  /// reported as readable without being so.
  bool client_gone() {
    net_error error;
    char byte = 0;
    socket_.non_blocking(true, error);
    socket_.receive(net::buffer(&byte, 1), tcp::socket::message_peek, error);
    return error != net::error::would_block;
  }

  /// Ends when the client closes the connection.
  net::awaitable<void> wait_for_client() {
    net_error error;
    do {
      co_await socket_.async_wait(tcp::socket::wait_read,
                                  net::redirect_error(net::use_awaitable, error));
    } while (!error && !client_gone());
  }

  /// Waits for the time to pass; false where the client closed the connection meanwhile.
  net::awaitable<bool> pause(std::int64_t ms) {
    if (ms <= 0)
      co_return true;
    net::steady_timer timer{socket_.get_executor(), std::chrono::milliseconds{ms}};
    const auto over = std::make_shared<bool>(false);
    timer.async_wait([over, this](net_error error) {
      if (!error && !std::exchange(*over, true))
        socket_.cancel(error);
    });
    net_error error;
    while (!*over && !error) {
      co_await socket_.async_wait(tcp::socket::wait_read,
                                  net::redirect_error(net::use_awaitable, error));
      if (!error && client_gone()) {
        *over = true;
        co_return false;
      }
    }
    co_return std::exchange(*over, true);
  }

  Stream& stream_;
  tcp::socket& socket_;
};

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
  std::vector<recorded_request> requests() const;
  std::uint64_t request_count() const;
  std::size_t open_connections() const;

  bool wait_for_requests(std::uint64_t count, std::int64_t timeout_ms) const;
  bool wait_for_connections(std::size_t count, std::int64_t timeout_ms) const;

private:
  /// Counts a connection while it lives.
  class connection_count {
  public:
    explicit connection_count(impl& owner) : owner_(owner) { change(1); }
    connection_count(const connection_count&) = delete;
    connection_count& operator=(const connection_count&) = delete;
    ~connection_count() { change(static_cast<std::size_t>(-1)); }

  private:
    void change(std::size_t by) {
      const std::lock_guard lock{owner_.mutex_};
      owner_.connections_ += by;
      owner_.changed_.notify_all();
    }

    impl& owner_;
  };

  result<std::uint16_t> listen();
  std::optional<failure> load_certificate();

  net::awaitable<void> accept_all(tcp::acceptor acceptor);
  net::awaitable<void> serve_plain(tcp::socket socket);
  net::awaitable<void> serve_tls(tcp::socket socket);
  template <class Stream>
  net::awaitable<void> serve_requests(Stream& stream);

  mock_reply answer(const http_message& message);
  mock_reply answer_completion(const http_message& message, recorded_request record);
  mock_reply list_requests() const;
  void keep(recorded_request record);

  mock_server_options options_;
  const chat_completions::limits limits_;
  std::optional<ssl::context> tls_;
  std::uint16_t port_ = 0;

  mutable std::mutex mutex_; // guards the player, the records and the counts
  mutable std::condition_variable changed_;
  script_player player_;
  std::deque<recorded_request> records_;
  std::size_t record_bytes_ = 0;
  std::uint64_t arrived_ = 0;
  std::size_t connections_ = 0;

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
  const connection_count counted{*this};
  tcp::socket owned = std::move(socket); // closed before it is no longer counted
  co_await serve_requests(owned);
}

net::awaitable<void> mock_server::impl::serve_tls(tcp::socket socket) {
  const connection_count counted{*this};
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
  reply_player<Stream> player{stream};
  for (;;) {
    http::request_parser<http::string_body> parser;
    parser.header_limit(static_cast<std::uint32_t>(request_head_bytes_max));
    parser.body_limit(request_body_bytes_max);
    net_error error;
    co_await http::async_read(stream, buffer, parser,
                              net::redirect_error(net::use_awaitable, error));
    if (error == http::error::body_limit)
      co_await player.play(
          chat_completions::render_error(413, "request_too_large", "The body is too large."));
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
  const auto path = target.substr(0, target.find('?'));
  const bool get = message.method() == http::verb::get;
  if (get && path == "/requests")
    return list_requests();
  auto record = record_of(message);
  if (message.method() == http::verb::post && path == "/v1/chat/completions")
    return answer_completion(message, std::move(record));
  keep(std::move(record));
  if (get && path == "/v1/models")
    return chat_completions::render_models(limits_);
  return chat_completions::render_error(404, "invalid_request_error",
                                        "Unknown request URL: " + target);
}

mock_reply mock_server::impl::answer_completion(const http_message& message,
                                                recorded_request record) {
  const auto request = chat_completions::parse_request(message.body(), record.conversation);
  if (!request) {
    keep(std::move(record));
    return chat_completions::render_error(400, "invalid_request_error", request.error().message);
  }
  record.prompt_tokens = request->prompt_tokens;
  picked_answer picked;
  {
    const std::lock_guard lock{mutex_};
    picked = player_.pick(*request);
  }
  record.rule_line = picked.line;
  keep(std::move(record));
  return chat_completions::render(picked, *request, limits_);
}

void mock_server::impl::keep(recorded_request record) {
  if (options_.on_request)
    options_.on_request(record);
  const std::lock_guard lock{mutex_};
  record.number = ++arrived_;
  record_bytes_ += record.body.size();
  records_.push_back(std::move(record));
  while (records_.size() > kept_requests_max || record_bytes_ > kept_request_bytes_max) {
    record_bytes_ -= records_.front().body.size();
    records_.pop_front();
  }
  changed_.notify_all();
}

mock_reply mock_server::impl::list_requests() const {
  auto list = nlohmann::json::array();
  for (const auto& record : requests())
    list.push_back(to_json(record));
  return plain_json({{"total", request_count()}, {"requests", std::move(list)}});
}

// -- inspection ----------------------------------------------------------------------------------

std::string mock_server::impl::url() const {
  if (port_ == 0)
    return {};
  const bool six = options_.host.find(':') != std::string::npos;
  return (tls_ ? "https://" : "http://") + (six ? "[" + options_.host + "]" : options_.host) + ":" +
         std::to_string(port_);
}

std::vector<recorded_request> mock_server::impl::requests() const {
  const std::lock_guard lock{mutex_};
  return {records_.begin(), records_.end()};
}

std::uint64_t mock_server::impl::request_count() const {
  const std::lock_guard lock{mutex_};
  return arrived_;
}

std::size_t mock_server::impl::open_connections() const {
  const std::lock_guard lock{mutex_};
  return connections_;
}

bool mock_server::impl::wait_for_requests(std::uint64_t count, std::int64_t timeout_ms) const {
  std::unique_lock lock{mutex_};
  return changed_.wait_for(lock, std::chrono::milliseconds{timeout_ms},
                           [&] { return arrived_ >= count; });
}

bool mock_server::impl::wait_for_connections(std::size_t count, std::int64_t timeout_ms) const {
  std::unique_lock lock{mutex_};
  return changed_.wait_for(lock, std::chrono::milliseconds{timeout_ms},
                           [&] { return connections_ <= count; });
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

std::vector<recorded_request> mock_server::requests() const {
  return impl_->requests();
}

std::uint64_t mock_server::request_count() const {
  return impl_->request_count();
}

std::size_t mock_server::open_connections() const {
  return impl_->open_connections();
}

bool mock_server::wait_for_requests(std::uint64_t count, std::int64_t timeout_ms) const {
  return impl_->wait_for_requests(count, timeout_ms);
}

bool mock_server::wait_for_connections(std::size_t count, std::int64_t timeout_ms) const {
  return impl_->wait_for_connections(count, timeout_ms);
}

} // namespace rind::hosts::mock_provider
