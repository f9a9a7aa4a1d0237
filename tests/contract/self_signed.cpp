// Makes the certificate through OpenSSL's interface, so that no program has to be started.
#include "tests/contract/self_signed.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace rind::test {

namespace {

template <class T, void (*Free)(T*)>
struct freed_by {
  void operator()(T* value) const { Free(value); }
};

using key_ptr = std::unique_ptr<EVP_PKEY, freed_by<EVP_PKEY, EVP_PKEY_free>>;
using certificate_ptr = std::unique_ptr<X509, freed_by<X509, X509_free>>;
using extension_ptr =
    std::unique_ptr<X509_EXTENSION, freed_by<X509_EXTENSION, X509_EXTENSION_free>>;

void require(bool good, const char* what) {
  if (!good)
    throw std::runtime_error{std::string{"self_signed: "} + what};
}

void add_extension(X509* certificate, int nid, const char* value) {
  const extension_ptr extension{X509V3_EXT_conf_nid(nullptr, nullptr, nid, value)};
  require(extension && X509_add_ext(certificate, extension.get(), -1) == 1, "extension");
}

certificate_ptr make_certificate(EVP_PKEY* key) {
  constexpr long valid_s = 24L * 60 * 60;
  certificate_ptr certificate{X509_new()};
  auto* made = certificate.get();
  require(made != nullptr && X509_set_version(made, 2) == 1, "version");
  ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
  X509_gmtime_adj(X509_getm_notBefore(made), -valid_s);
  X509_gmtime_adj(X509_getm_notAfter(made), valid_s);
  auto* name = X509_get_subject_name(made);
  const auto* text = reinterpret_cast<const unsigned char*>("rind test");
  require(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0) == 1, "name");
  require(X509_set_issuer_name(made, name) == 1, "issuer");
  require(X509_set_pubkey(made, key) == 1, "key");
  add_extension(made, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(made, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
  require(X509_sign(made, key, EVP_sha256()) > 0, "signature");
  return certificate;
}

using file_ptr = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

file_ptr open_file(const std::string& path) {
  file_ptr file{std::fopen(path.c_str(), "w"), std::fclose};
  require(file != nullptr, "file");
  return file;
}

} // namespace

self_signed::self_signed() {
  auto pattern = (std::filesystem::temp_directory_path() / "rind-tls-XXXXXX").string();
  require(mkdtemp(pattern.data()) != nullptr, "folder");
  folder_ = pattern;
  const key_ptr key{EVP_EC_gen("P-256")};
  require(key != nullptr, "key");
  const auto certificate = make_certificate(key.get());
  require(PEM_write_X509(open_file(certificate_file()).get(), certificate.get()) == 1, "writing");
  require(PEM_write_PrivateKey(open_file(key_file()).get(), key.get(), nullptr, nullptr, 0, nullptr,
                               nullptr) == 1,
          "writing");
}

self_signed::~self_signed() {
  std::error_code ignored; // a folder left in the temporary folder harms nobody
  std::filesystem::remove_all(folder_, ignored);
}

} // namespace rind::test
