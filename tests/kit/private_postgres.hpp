// A PostgreSQL server of a test's own: in a temporary folder, on a Unix socket there, without
// passwords, gone with the test. Needs Debian's package `postgresql`; where the tests run as root
// it runs as that package's user.
#pragma once

#include <memory>
#include <string>

#include "tests/kit/program.hpp"
#include "tests/kit/temp_folder.hpp"

namespace rind::kit {

class private_postgres {
public:
  /// Makes a cluster and starts it. Throws std::runtime_error with what the server said.
  private_postgres();
  ~private_postgres();
  private_postgres(const private_postgres&) = delete;
  private_postgres& operator=(const private_postgres&) = delete;

  /// The address of a database, as settings have it. `user` is the superuser where it is empty.
  std::string address(const std::string& database, const std::string& user = {}) const;
  /// The file of the server's socket.
  std::string socket_path() const;
  /// Makes an empty database and gives its address.
  std::string create_database(const std::string& name);
  /// One statement on a database, as the superuser.
  void execute(const std::string& database, const std::string& sql);
  /// The first column of the first row, as text.
  std::string value_of(const std::string& database, const std::string& sql);

  /// On a thread that outlives the server: it ends with the thread.
  void start();
  /// In good order; transactions that run are broken off.
  void stop();
  /// As a crash does: nothing is written any more, the next start recovers.
  void crash();
  bool is_running() const { return server_ != nullptr; }

  /// The user `locked` needs this one.
  static constexpr const char* password = "a-password-of-the-test";

private:
  std::string file(const std::string& name) const { return folder_.file(name); }
  program_options as_server_user(const std::string& binary,
                                 std::vector<std::string> arguments) const;
  void end(int signal);

  temp_folder folder_;
  std::unique_ptr<program> server_;
};

/// One for all tests of a process, started when it is first asked for.
private_postgres& shared_postgres();
/// A fresh database on it.
std::string fresh_database();

} // namespace rind::kit
