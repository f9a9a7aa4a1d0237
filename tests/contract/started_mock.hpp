// The mock provider inside a test, with its script.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "hosts/mock_provider/mock_server.hpp"

namespace rind::test {

/// Listens when it is answered. Throws std::runtime_error for a faulty script and where it cannot
/// listen.
inline std::unique_ptr<hosts::mock_provider::mock_server>
started_mock(const std::string& script, hosts::mock_provider::mock_server_options options = {}) {
  auto rules = hosts::mock_provider::parse_script(script);
  if (!rules)
    throw std::runtime_error(rules.error().message);
  options.rules = std::move(*rules);
  auto server = std::make_unique<hosts::mock_provider::mock_server>(std::move(options));
  if (const auto port = server->start(); !port)
    throw std::runtime_error(port.error().message);
  return server;
}

} // namespace rind::test
