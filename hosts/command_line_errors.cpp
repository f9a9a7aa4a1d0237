// Finds the word that was meant for a subcommand.
#include "hosts/command_line_errors.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "runtime/config/fields.hpp"

namespace rind::hosts {

namespace {

/// The app that the command line came to: the last of the subcommands that were found.
const CLI::App* reached(const CLI::App* app) {
  for (auto found = app->get_subcommands(); !found.empty(); found = app->get_subcommands())
    app = found.front();
  return app;
}

std::vector<std::string> subcommand_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* one : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(one->get_name());
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// The words that nothing was known for, options left out.
std::string unknown_word(const CLI::App& app) {
  const auto rest = app.remaining();
  const auto word = std::find_if(rest.begin(), rest.end(),
                                 [](const std::string& text) { return !text.starts_with('-'); });
  return word == rest.end() ? std::string() : *word;
}

} // namespace

std::string command_line_error(const CLI::App* app, const CLI::Error& error) {
  const auto& at = *reached(app);
  const auto names = subcommand_names(at);
  const auto word = unknown_word(at);
  std::string text = "rind: error: " + std::string(error.what());
  if (!names.empty() && !word.empty())
    text = "rind: error: there is no subcommand `" + word + "`; the nearest one is `" +
           config::nearest(word, names) + "`";
  if (!names.empty())
    text += "\nsubcommands: " + listed(names);
  return text + "\nRun with --help for more information.\n";
}

} // namespace rind::hosts
