// The built program as a server and as a mock provider, started for one test: sockets and files in
// the test's folder, ports that the system chose.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/kit/program.hpp"

namespace rind::kit {

/// `rind mock-provider`, and the base URL that it printed.
class mock_host {
public:
  /// `script`: rules, one a line. Throws std::runtime_error where it does not start.
  mock_host(const std::string& program_path, const std::string& folder,
            const std::vector<nlohmann::json>& script,
            std::vector<std::string> more_arguments = {});
  const std::string& url() const { return url_; }

private:
  std::unique_ptr<program> child_;
  std::string url_;
};

/// `rind serve`; ready for clients once constructed.
class serving_host {
public:
  /// Throws std::runtime_error, with what it wrote to errors_file, where it does not start.
  serving_host(const std::string& program_path, const std::string& socket_path,
               program_options options);
  program& child() { return *child_; }
  const std::string& socket_path() const { return socket_path_; }

private:
  std::unique_ptr<program> child_;
  std::string socket_path_;
};

/// Writes a file of a test.
void write_file(const std::string& path, const std::string& text, unsigned mode = 0600);
std::string read_file(const std::string& path);
/// Runs a program to its end and gives what it wrote to standard output; its exit code goes to
/// `exit_code`.
std::string output_of(const std::string& path, const program_options& options,
                      int* exit_code = nullptr);

} // namespace rind::kit
