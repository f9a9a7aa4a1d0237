// Start, and wait for the line that says so.
#include "tests/kit/running_host.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include <sys/stat.h>

namespace rind::kit {

mock_host::mock_host(const std::string& program_path, const std::string& folder,
                     const std::vector<nlohmann::json>& script,
                     std::vector<std::string> more_arguments) {
  std::string text;
  for (const auto& rule : script)
    text += rule.dump() + "\n";
  const auto file = folder + "/mock-script.jsonl";
  write_file(file, text);
  program_options options;
  options.arguments = {"mock-provider", "--script", file};
  options.arguments.insert(options.arguments.end(), more_arguments.begin(), more_arguments.end());
  options.errors_file = folder + "/mock-errors.txt";
  child_ = std::make_unique<program>(program_path, options);
  const auto line = child_->pipes().next_line();
  if (!line)
    throw std::runtime_error("the mock provider did not start: " + read_file(options.errors_file));
  url_ = *line;
}

serving_host::serving_host(const std::string& program_path, const std::string& socket_path,
                           program_options options)
    : socket_path_(socket_path) {
  options.arguments.insert(options.arguments.begin(), {"serve", "--socket", socket_path});
  child_ = std::make_unique<program>(program_path, options);
  if (!child_->pipes().next_line())
    throw std::runtime_error("the server did not start: " + read_file(options.errors_file));
}

void write_file(const std::string& path, const std::string& text, unsigned mode) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  ::chmod(path.c_str(), static_cast<mode_t>(mode));
}

std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string output_of(const std::string& path, const program_options& options, int* exit_code) {
  program child(path, options);
  child.pipes().close_input();
  child.pipes().read_to_end();
  const auto end = child.wait();
  if (exit_code != nullptr)
    *exit_code = end.exit_code;
  std::string text;
  while (auto line = child.pipes().take_line())
    text += *line + "\n";
  return text + child.pipes().rest();
}

} // namespace rind::kit
