// The bytes under a connection: a bare stream socket, or TLS over one. Knows Asio, so only the .cpp
// files of this folder include it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

#include "runtime/net/tls.hpp"

namespace rind::net {

/// Belongs to the thread of its loop, as every callback does; none is called before the call that
/// it was given to returns. Whoever waits for one keeps the stream.
class byte_stream {
public:
  using socket = boost::asio::generic::stream_protocol::socket;
  using error_code = boost::system::error_code;
  using io_callback = std::function<void(const error_code&, std::size_t)>;

  virtual ~byte_stream() = default;

  /// To be done before anything else, once, where it is needed at all. The error says in words why
  /// a peer is not trusted.
  virtual bool needs_handshake() const = 0;
  virtual void handshake(std::function<void(const error_code&)> then) = 0;

  /// Some bytes, one read at a time. `eof`: the peer ended its side in good order.
  virtual void read(boost::asio::mutable_buffer to, io_callback then) = 0;
  /// All of them, one write at a time; the buffers have to live until `then`.
  virtual void write(const std::vector<boost::asio::const_buffer>& parts, io_callback then) = 0;
  /// Tells the peer that nothing more comes. Reading goes on.
  virtual void end_writing() = 0;
  /// What waits is answered with an error.
  virtual void close() = 0;

  /// The socket below, for what concerns it as a whole.
  virtual socket& bare() = 0;
};

/// `tls` null: the socket as it is.
std::unique_ptr<byte_stream> make_byte_stream(byte_stream::socket bare,
                                              std::shared_ptr<const tls_side> tls);

} // namespace rind::net
