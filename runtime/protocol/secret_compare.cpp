// The digests have one length, so the comparison tells nothing of the token's.
#include "runtime/protocol/secret_compare.hpp"

#include <array>

#include <openssl/crypto.h>
#include <openssl/sha.h>

namespace rind::protocol {

bool equal_in_constant_time(std::string_view expected, std::string_view given) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> a{};
  std::array<unsigned char, SHA256_DIGEST_LENGTH> b{};
  SHA256(reinterpret_cast<const unsigned char*>(expected.data()), expected.size(), a.data());
  SHA256(reinterpret_cast<const unsigned char*>(given.data()), given.size(), b.data());
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

} // namespace rind::protocol
