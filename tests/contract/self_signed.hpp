// A self-signed certificate for 127.0.0.1 and its key, made when a test wants one.
#pragma once

#include <filesystem>
#include <string>

namespace rind::test {

/// Two PEM files in a fresh folder that goes with this object. Throws where OpenSSL or the file
/// system refuses.
class self_signed {
public:
  self_signed();
  self_signed(const self_signed&) = delete;
  self_signed& operator=(const self_signed&) = delete;
  ~self_signed();

  /// Also the file to trust it by.
  std::string certificate_file() const { return (folder_ / "certificate.pem").string(); }
  std::string key_file() const { return (folder_ / "key.pem").string(); }

private:
  std::filesystem::path folder_;
};

} // namespace rind::test
