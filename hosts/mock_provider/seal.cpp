// SHA-256 and Base64 of OpenSSL.
#include "hosts/mock_provider/seal.hpp"

#include <array>

#include <openssl/evp.h>
#include <openssl/sha.h>

namespace rind::hosts::mock_provider {

namespace {

/// Set apart what is digested for a signature and for a seal.
constexpr std::string_view signature_salt = "mock signature:";
constexpr std::string_view seal_salt = "mock seal:";

std::string salted_digest(std::string_view salt, std::string_view text) {
  return digest_of(std::string{salt}.append(text));
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string to_base64(std::string_view text) {
  std::string out((text.size() + 2) / 3 * 4 + 1, '\0'); // OpenSSL ends it with a zero byte
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), bytes_of(text),
                  static_cast<int>(text.size()));
  out.pop_back();
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string out(text.size() / 4 * 3, '\0');
  const auto size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()), bytes_of(text),
                                    static_cast<int>(text.size()));
  if (size < 0)
    return std::nullopt;
  // The padding is decoded as zero bytes.
  const auto last = text.find_last_not_of('=');
  const auto padding = last == std::string_view::npos ? text.size() : text.size() - last - 1;
  if (padding > 2 || padding > out.size())
    return std::nullopt;
  out.resize(static_cast<std::size_t>(size) - padding);
  return out;
}

} // namespace

std::string digest_of(std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(bytes_of(text), text.size(), digest.data());
  std::string out;
  for (const auto byte : digest) {
    out.push_back(digits[byte >> 4u]);
    out.push_back(digits[byte & 15u]);
  }
  return out;
}

std::string signature_of(std::string_view thinking) {
  return to_base64(salted_digest(signature_salt, thinking));
}

std::string sealed(std::string_view text) {
  return to_base64(text) + "." + salted_digest(seal_salt, text);
}

std::optional<std::string> unsealed(std::string_view seal) {
  const auto dot = seal.rfind('.');
  if (dot == std::string_view::npos)
    return std::nullopt;
  auto text = from_base64(seal.substr(0, dot));
  return text && sealed(*text) == seal ? text : std::nullopt;
}

} // namespace rind::hosts::mock_provider
