// Contexts from files, with words for what is wrong with them.
#include "runtime/net/tls.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <openssl/ssl.h>

#include "runtime/net/tls_context.hpp"

namespace rind::net {

namespace {

using boost::system::error_code;
namespace ssl = boost::asio::ssl;

failure unusable(const std::string& what, const std::string& file, const error_code& error) {
  return make_failure(rind::error_code::invalid_request,
                      "the " + what + " " + file + " cannot be used: " + error.message());
}

bool is_address(const std::string& name) {
  error_code not_one;
  boost::asio::ip::make_address(name, not_one);
  return !not_one;
}

std::optional<failure> show_certificate(tls_side& side, const tls_files& files) {
  error_code error;
  side.context.use_certificate_chain_file(files.certificate_file, error);
  if (error)
    return unusable("certificate", files.certificate_file, error);
  side.context.use_private_key_file(files.key_file, ssl::context::pem, error);
  if (error)
    return unusable("key", files.key_file, error);
  return std::nullopt;
}

std::optional<failure> believe(tls_side& side, const std::string& ca_file) {
  error_code error;
  if (ca_file.empty())
    side.context.set_default_verify_paths(error);
  else
    side.context.load_verify_file(ca_file, error);
  if (error)
    return unusable("CA", ca_file.empty() ? "of the system" : ca_file, error);
  side.context.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert, error);
  if (error)
    return unusable("CA", ca_file, error);
  return std::nullopt;
}

result<std::shared_ptr<tls_side>> make_side(bool server, const std::string& peer_name) {
  auto side = std::make_shared<tls_side>(server, peer_name);
  if (SSL_CTX_set_min_proto_version(side->context.native_handle(), TLS1_2_VERSION) != 1)
    return make_failure(rind::error_code::unavailable, "this OpenSSL does not speak TLS 1.2");
  return side;
}

} // namespace

std::optional<error_code> expect_peer(SSL& handle, const std::string& peer_name) {
  auto* checks = SSL_get0_param(&handle);
  const bool taken =
      is_address(peer_name)
          ? X509_VERIFY_PARAM_set1_ip_asc(checks, peer_name.c_str()) == 1
          : SSL_set_tlsext_host_name(&handle, peer_name.c_str()) == 1 &&
                X509_VERIFY_PARAM_set1_host(checks, peer_name.c_str(), peer_name.size()) == 1;
  if (taken)
    return std::nullopt;
  return boost::asio::error::make_error_code(boost::asio::error::invalid_argument);
}

result<tls_side_ptr> tls_server(const tls_files& files) {
  auto side = make_side(true, {});
  if (!side)
    return side.error();
  if (const auto error = show_certificate(**side, files))
    return *error;
  if (!files.ca_file.empty())
    if (const auto error = believe(**side, files.ca_file))
      return *error;
  return tls_side_ptr(std::move(*side));
}

result<tls_side_ptr> tls_client(const tls_files& files, const std::string& peer_name) {
  auto side = make_side(false, peer_name);
  if (!side)
    return side.error();
  if (const auto error = believe(**side, files.ca_file))
    return *error;
  if (!files.certificate_file.empty())
    if (const auto error = show_certificate(**side, files))
      return *error;
  return tls_side_ptr(std::move(*side));
}

} // namespace rind::net
