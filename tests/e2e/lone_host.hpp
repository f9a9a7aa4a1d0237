// What the end-to-end tests start: the built program in a folder of the test's own, with nothing of
// whoever runs the tests.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/kit/protocol_peer.hpp"
#include "tests/kit/running_host.hpp"
#include "tests/kit/temp_folder.hpp"

namespace rind::e2e {

/// A folder, perhaps a mock provider, and programs that use both.
class lone_host {
public:
  lone_host() = default;
  explicit lone_host(const std::vector<nlohmann::json>& script)
      : mock_(std::in_place, RIND_PROGRAM, folder_.file(""), script) {}

  std::string file(const std::string& name) const { return folder_.file(name); }
  std::string journal() const { return "sqlite:" + file("rind.db"); }
  std::string provider_url() const { return mock_->url(); }
  std::string errors() const { return kit::read_file(file("errors.txt")); }

  /// Options with a clean environment; `arguments` are followed by those that name the mock
  /// provider, where there is one.
  kit::program_options options(std::vector<std::string> arguments, bool with_mock = true) const {
    kit::program_options o;
    if (mock_ && with_mock)
      arguments.insert(arguments.end(), {"--base-url", mock_->url(), "--model", "mock-model",
                                         "--context-window", "32000"});
    o.arguments = std::move(arguments);
    for (const auto* name : {"RIND_CONFIG", "RIND_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY",
                             "RIND_FORMAT", "RIND_TOKEN", "RIND_BASE_URL", "RIND_MODEL"})
      o.variables[name] = "";
    o.variables["XDG_CONFIG_HOME"] = file("config");
    o.errors_file = file("errors.txt");
    o.folder = file("");
    return o;
  }

  /// `rind serve` on the socket `s` of the folder, with the journal of the folder unless the
  /// arguments name one.
  kit::serving_host serve(std::vector<std::string> arguments = {}, bool with_mock = true) const {
    if (std::find(arguments.begin(), arguments.end(), "--journal") == arguments.end())
      arguments.insert(arguments.end(), {"--journal", journal()});
    return {RIND_PROGRAM, file("s"), options(std::move(arguments), with_mock)};
  }

  struct finished {
    int exit_code = -1;
    std::string output;
    std::string errors;
  };
  /// A program that ends by itself and needs no provider.
  finished run(std::vector<std::string> arguments) const {
    auto o = options(std::move(arguments), false);
    o.errors_file = file("run-errors.txt");
    kit::write_file(o.errors_file, "");
    finished f;
    f.output = kit::output_of(RIND_PROGRAM, o, &f.exit_code);
    f.errors = kit::read_file(o.errors_file);
    return f;
  }

private:
  kit::temp_folder folder_;
  std::optional<kit::mock_host> mock_;
};

/// A client with a new session of its own.
inline std::unique_ptr<kit::protocol_peer> client_of(const std::string& socket_path,
                                                     const std::string& session_id) {
  auto peer = std::make_unique<kit::protocol_peer>(socket_path);
  peer->call("initialize");
  peer->call("session/new", {{"session_id", session_id}});
  return peer;
}

} // namespace rind::e2e
