// TLS for connections over the network: what a server shows, and whom a client believes. TLS 1.2 is
// the oldest that is spoken.
#pragma once

#include <memory>
#include <string>

#include "messages/result.hpp"

namespace rind::net {

/// One side of TLS connections, ready for use by any number of them; see tls_context.hpp.
struct tls_side;
using tls_side_ptr = std::shared_ptr<const tls_side>;

/// PEM files.
struct tls_files {
  std::string certificate_file; // of this side, with the chain that leads to its CA
  std::string key_file;
  std::string ca_file; // whom to believe
};

/// How long a peer may take to agree on TLS.
inline constexpr int tls_handshake_default_ms = 5'000;

/// A server: shows its certificate; with a CA, a client has to show one of that CA. Fails with
/// invalid_request and the file's name where a file cannot be used or the key is another's.
result<tls_side_ptr> tls_server(const tls_files& files);

/// A client of the server `peer_name` (a host name or an address, as the certificate says it).
/// Without a CA the system's are believed. Shows a certificate where one is given.
result<tls_side_ptr> tls_client(const tls_files& files, const std::string& peer_name);

} // namespace rind::net
