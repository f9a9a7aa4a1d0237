// What stands behind tls_side. Knows Asio and OpenSSL, so only the .cpp files of this folder
// include it.
#pragma once

#include <optional>
#include <string>

#include <boost/asio/ssl/context.hpp>

#include "runtime/net/tls.hpp"

namespace rind::net {

struct tls_side {
  tls_side(bool server, std::string peer)
      : context(server ? boost::asio::ssl::context::tls_server
                       : boost::asio::ssl::context::tls_client),
        is_server(server),
        peer_name(std::move(peer)) {}

  mutable boost::asio::ssl::context context; // OpenSSL counts its users in it
  bool is_server;
  std::string peer_name; // of a client: whom it wants to reach
};

/// Asks for the server of that name and refuses the certificate of any other.
std::optional<boost::system::error_code> expect_peer(SSL& ssl, const std::string& peer_name);

} // namespace rind::net
