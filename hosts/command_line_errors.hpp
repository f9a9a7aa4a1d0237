// What a wrong command line is told.
#pragma once

#include <string>

namespace CLI {
class App;
class Error;
} // namespace CLI

namespace rind::hosts {

/// The exit code of a command line that cannot be understood; what else goes wrong is 1.
inline constexpr int command_line_error_code = 2;

/// CLI11's failure message of `app`, the whole program: the library's own words, but that an
/// unknown subcommand is named, with the nearest of those that there are.
std::string command_line_error(const CLI::App* app, const CLI::Error& error);

} // namespace rind::hosts
