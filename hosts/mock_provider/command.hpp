// The program `rind mock-provider` without its command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rind::hosts::mock_provider {

struct mock_provider_options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0: any free one
  std::string script_file; ///< JSONL, see docs/mock-provider.md; empty: only default answers
  std::string tls_certificate_file;
  std::string tls_key_file;
  std::optional<std::int64_t> window_tokens;
  std::optional<std::int64_t> reject_above_tokens;
};

/// Serves until SIGTERM or SIGINT. The first line on standard output is the base URL to give to a
/// client, ending in /v1. The value is the exit code: 0 after a signal, 1 after an error, which is
/// told on standard error. Call it on the main thread before other threads exist: it blocks both
/// signals in this thread and those that follow from it.
int run_mock_provider(const mock_provider_options& options);

} // namespace rind::hosts::mock_provider
