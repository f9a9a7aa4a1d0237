// Problems first, then the program.
#include "hosts/settings.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "runtime/config/fields.hpp"

namespace rind::hosts {

namespace {

config::loaded load(const settings_flags& flags) {
  config::sources from;
  from.variables = config::read_environment();
  from.file = config::find_settings_file(flags.file, from.variables);
  from.flags = flags.values;
  return config::load(from);
}

void print(const char* kind, const std::vector<config::problem>& problems) {
  for (const auto& p : problems)
    std::cerr << "rind: " << kind << ": " << config::to_string(p) << "\n";
}

/// A price of which a part is faulty is none: half of it would be a wrong cost.
void drop_faulty_prices(config::settings& values, const std::vector<config::problem>& problems) {
  for (std::size_t p = 0; p < values.providers.size(); ++p) {
    auto& models = values.providers[p].models;
    for (std::size_t m = 0; m < models.size(); ++m) {
      using config::element, config::full_key;
      const auto model =
          element(full_key(element(config::providers_table, p), config::models_table), m);
      const auto price = full_key(model, config::price_table);
      const bool is_faulty = std::any_of(problems.begin(), problems.end(), [&](const auto& one) {
        return one.key == price || one.key.starts_with(price + ".");
      });
      if (is_faulty)
        models[m].price = {};
    }
  }
}

} // namespace

std::optional<config::settings> load_settings(const settings_flags& flags) {
  auto loaded = load(flags);
  print("warning", loaded.warnings);
  print("error", loaded.problems);
  if (!loaded.problems.empty())
    return std::nullopt;
  return std::move(loaded.values);
}

std::optional<config::settings> load_client_settings(const settings_flags& flags) {
  constexpr std::string_view token_keys = "server.token";
  settings_flags own{flags.file, {}};
  for (const auto& value : flags.values) {
    if (value.key.starts_with(token_keys))
      own.values.push_back(value);
    else
      std::cerr << "rind: warning: with --socket or --connect the running host's settings count; "
                << value.flag << " has no effect\n";
  }
  auto loaded = load(own);
  std::erase_if(loaded.problems, [&](const auto& p) {
    return !p.key.empty() && !p.key.starts_with(token_keys); // without a key: the file as a whole
  });
  print("error", loaded.problems);
  if (!loaded.problems.empty())
    return std::nullopt;
  return std::move(loaded.values);
}

std::optional<config::settings> load_journal_settings(const settings_flags& flags) {
  auto loaded = load(flags);
  const auto price = "." + std::string(config::price_table);
  std::vector<config::problem> errors;
  std::vector<config::problem> warnings;
  for (auto& p : loaded.problems) {
    if (p.key.empty() || p.key == "journal" || p.where.starts_with("flag "))
      errors.push_back(std::move(p));
    else if (p.key.find(price) != std::string::npos)
      warnings.push_back(std::move(p));
  }
  drop_faulty_prices(loaded.values, warnings);
  print("warning", warnings);
  print("error", errors);
  if (!errors.empty())
    return std::nullopt;
  return std::move(loaded.values);
}

int check_settings(const settings_flags& flags, bool json) {
  const auto loaded = load(flags);
  std::cout << (json ? config::to_json_text(loaded.lines) : config::to_text(loaded.lines))
            << std::flush;
  print("warning", loaded.warnings);
  print("error", loaded.problems);
  return loaded.problems.empty() ? 0 : 1;
}

void start_logging(const config::settings& settings) {
  std::shared_ptr<spdlog::logger> logger;
  if (settings.log_file.empty()) {
    logger =
        std::make_shared<spdlog::logger>("rind", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  } else {
    try {
      logger = std::make_shared<spdlog::logger>(
          "rind", std::make_shared<spdlog::sinks::basic_file_sink_mt>(settings.log_file));
    } catch (const spdlog::spdlog_ex& e) {
      std::cerr << "rind: warning: the log goes to standard error: " << e.what() << "\n";
      logger = std::make_shared<spdlog::logger>("rind",
                                                std::make_shared<spdlog::sinks::stderr_sink_mt>());
    }
  }
  logger->set_level(spdlog::level::from_str(settings.log_level));
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  logger->flush_on(spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
}

} // namespace rind::hosts
