// Plays replies on a connection: the bytes, the waits, and how it ends. It includes Boost, so only
// the server's source includes it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility> // Asio 1.74 uses std::exchange without including it

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/http/chunk_encode.hpp>

#include "hosts/mock_provider/gates.hpp"
#include "hosts/mock_provider/reply.hpp"

namespace rind::hosts::mock_provider {

namespace net = boost::asio;
using net_error = boost::system::error_code;
using net::ip::tcp;

/// `Stream` is a socket or TLS over one; it and the gates must outlive this.
template <class Stream>
class reply_player {
public:
  reply_player(Stream& stream, gates& all)
      : stream_(stream), socket_(boost::beast::get_lowest_layer(stream)), gates_(all) {}

  /// False where the connection has to end.
  net::awaitable<bool> play(const mock_reply& reply) {
    if (reply.silent) {
      co_await wait_for_client();
      co_return false;
    }
    if (!co_await pause(reply.delay_ms) || !co_await send(head_of(reply)))
      co_return false;
    for (const auto& chunk : reply.chunks)
      if (!co_await pause(chunk.delay_ms) || !co_await pass(chunk.gate) ||
          !co_await send_piece(reply, chunk))
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
      co_await net::async_write(stream_, boost::beast::http::make_chunk(bytes),
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
    co_return co_await client_stays_until(over);
  }

  /// Waits for the gate to open; false where the client closed the connection meanwhile.
  net::awaitable<bool> pass(const std::string& gate) {
    if (gate.empty())
      co_return true;
    const auto over = std::make_shared<bool>(false);
    gates_.when_open(gate, [over, this, executor = socket_.get_executor()] {
      net::post(executor, [over, this] {
        net_error ignored;
        if (!std::exchange(*over, true)) // else this is gone
          socket_.cancel(ignored);
      });
    });
    co_return co_await client_stays_until(over);
  }

  /// False where the client closes the connection before somebody on its strand sets `over` and
  /// cancels the socket's wait.
  net::awaitable<bool> client_stays_until(std::shared_ptr<bool> over) {
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
  gates& gates_;
};

} // namespace rind::hosts::mock_provider
