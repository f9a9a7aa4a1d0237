// Asio's two kinds of stream behind one face.
#include "runtime/net/byte_stream.hpp"

#include <utility> // Asio of Boost 1.74 does not include it itself

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include "runtime/net/tls_context.hpp"

namespace rind::net {

namespace {

class plain_stream final : public byte_stream {
public:
  explicit plain_stream(socket bare) : stream_(std::move(bare)) {}

  bool needs_handshake() const override { return false; }
  void handshake(std::function<void(const error_code&)> then) override { then({}); }
  void read(boost::asio::mutable_buffer to, io_callback then) override {
    stream_.async_read_some(to, std::move(then));
  }
  void write(const std::vector<boost::asio::const_buffer>& parts, io_callback then) override {
    boost::asio::async_write(stream_, parts, std::move(then));
  }
  void end_writing() override {
    error_code ignored; // a peer that is gone already shows as the end of input
    stream_.shutdown(socket::shutdown_send, ignored);
  }
  void close() override {
    error_code ignored; // closed either way
    stream_.close(ignored);
  }
  socket& bare() override { return stream_; }

private:
  socket stream_;
};

/// What Asio calls back into is shared with the operations, since a closed connection may go before
/// its last one is answered.
class tls_stream final : public byte_stream {
public:
  tls_stream(socket bare, std::shared_ptr<const tls_side> side)
      : side_(std::move(side)), stream_(std::make_shared<wire>(std::move(bare), side_->context)) {}

  bool needs_handshake() const override { return true; }
  void handshake(std::function<void(const error_code&)> then) override {
    if (const auto error = prepare(*stream_->native_handle()))
      return boost::asio::post(stream_->get_executor(), [then, error] { then(*error); });
    stream_->async_handshake(side_->is_server ? wire::server : wire::client,
                             [stream = stream_, then](const error_code& error) { then(error); });
  }
  void read(boost::asio::mutable_buffer to, io_callback then) override {
    stream_->async_read_some(to,
                             [stream = stream_, then](const error_code& error, std::size_t bytes) {
                               then(error, bytes);
                             });
  }
  void write(const std::vector<boost::asio::const_buffer>& parts, io_callback then) override {
    boost::asio::async_write(*stream_, parts,
                             [stream = stream_, then](const error_code& error, std::size_t bytes) {
                               then(error, bytes);
                             });
  }
  void end_writing() override {
    stream_->async_shutdown([stream = stream_](const error_code&) {
      // Whether the peer said goodbye as well is seen by who reads.
    });
  }
  void close() override {
    error_code ignored; // closed either way
    bare().close(ignored);
  }
  socket& bare() override { return stream_->next_layer(); }

private:
  using wire = boost::asio::ssl::stream<socket>;

  /// Whom a client wants to reach: asked for by name, and checked against the certificate.
  std::optional<error_code> prepare(SSL& ssl) const {
    if (side_->is_server)
      return std::nullopt;
    if (const auto failed = expect_peer(ssl, side_->peer_name))
      return *failed;
    return std::nullopt;
  }

  std::shared_ptr<const tls_side> side_;
  std::shared_ptr<wire> stream_;
};

} // namespace

std::unique_ptr<byte_stream> make_byte_stream(byte_stream::socket bare,
                                              std::shared_ptr<const tls_side> tls) {
  if (!tls)
    return std::make_unique<plain_stream>(std::move(bare));
  return std::make_unique<tls_stream>(std::move(bare), std::move(tls));
}

} // namespace rind::net
