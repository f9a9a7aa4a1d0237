// Reads the script, serves, waits for a signal.
#include "hosts/mock_provider/command.hpp"

#include <csignal>
#include <fstream>
#include <iostream>
#include <sstream>

#include <sys/resource.h>

#include "hosts/mock_provider/mock_server.hpp"

namespace rind::hosts::mock_provider {

namespace {

result<script> load_script(const std::string& path) {
  if (path.empty())
    return script{};
  std::ifstream file{path, std::ios::binary};
  std::ostringstream text;
  if (file)
    text << file.rdbuf();
  if (!file)
    return make_failure(error_code::unavailable, "cannot read the script " + path);
  return parse_script(text.str());
}

/// Every stream is a descriptor. Where the limit cannot be raised the server runs with fewer.
void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
    return;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
    std::cerr << "mock-provider: the limit on open files could not be raised\n";
}

int report(const failure& error) {
  std::cerr << "mock-provider: " << error.message << '\n';
  return 1;
}

} // namespace

int run_mock_provider(const mock_provider_options& options) {
  auto rules = load_script(options.script_file);
  if (!rules)
    return report(rules.error());
  raise_file_limit();
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  mock_server_options server_options;
  server_options.host = options.host;
  server_options.port = options.port;
  server_options.tls_certificate_file = options.tls_certificate_file;
  server_options.tls_key_file = options.tls_key_file;
  server_options.rules = std::move(*rules);
  server_options.window_tokens = options.window_tokens;
  server_options.reject_above_tokens = options.reject_above_tokens;
  mock_server server{std::move(server_options)};
  if (const auto port = server.start(); !port)
    return report(port.error());
  std::cout << server.url() << "/v1" << std::endl;
  int signal = 0;
  sigwait(&ends, &signal);
  server.stop();
  return 0;
}

} // namespace rind::hosts::mock_provider
