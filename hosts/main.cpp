// The program `rind`: reads the command line and calls one of the programs. Nothing is decided
// here.
#include <cstring>
#include <iostream>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "hosts/chat/chat.hpp"
#include "hosts/chat_host.hpp"
#include "hosts/classify/classify.hpp"
#include "hosts/command_line_errors.hpp"
#include "hosts/demo/demo.hpp"
#include "hosts/journal_tools.hpp"
#include "hosts/mock_provider/command.hpp"
#include "hosts/replay/replay.hpp"
#include "hosts/serve.hpp"
#include "hosts/sessions.hpp"
#include "hosts/settings.hpp"
#include "hosts/signals.hpp"
#include "hosts/sim/sim.hpp"
#include "messages/version.hpp"

namespace {

using rind::hosts::settings_flags;

/// A flag that sets a setting: its key, and the text that is stored for a flag without a value.
void add_setting(CLI::App& app, settings_flags& flags, const std::string& flag,
                 const std::string& key, const std::string& help) {
  app.add_option_function<std::string>(
         flag,
         [&flags, flag, key](const std::string& text) {
           flags.values.push_back({key, text, flag});
         },
         help)
      ->take_last();
}

void add_switch(CLI::App& app, settings_flags& flags, const std::string& flag,
                const std::string& key, const std::string& help) {
  app.add_flag_callback(
      flag,
      [&flags, flag, key] {
        flags.values.push_back({key, "true", flag});
      },
      help);
}

/// The settings that every program which hosts takes on its command line.
void add_host_settings(CLI::App& app, settings_flags& flags) {
  app.add_option("--config", flags.file, "settings file (TOML); see docs/configuration.md");
  add_setting(app, flags, "--base-url", std::string{rind::config::base_url_key},
              "a provider, up to the version: http://127.0.0.1:8000/v1");
  add_setting(app, flags, "--format", std::string{rind::config::format_key},
              "what that provider speaks: chat, responses or anthropic");
  add_setting(app, flags, "--model", std::string{rind::config::model_key},
              "the model of new sessions");
  add_setting(app, flags, "--context-window", std::string{rind::config::context_window_key},
              "window of that model, tokens");
  add_setting(app, flags, "--journal", "journal", "sqlite:PATH, postgresql://… or memory");
  add_setting(app, flags, "--system-prompt", "session.system_prompt",
              "system prompt of every session");
  add_setting(app, flags, "--log-level", "log_level", "trace, debug, info, warn, error");
  add_setting(app, flags, "--log-file", "log_file", "where the log goes instead of standard error");
  add_switch(app, flags, "--demo-tools", "session.demo_tools", "offer the built-in demo tools");
  add_switch(app, flags, "--auto-resume", "session.auto_resume",
             "go on with interrupted turns by itself");
  app.add_option_function<std::vector<std::string>>(
         "--set",
         [&flags](const std::vector<std::string>& pairs) {
           for (const auto& pair : pairs) {
             const auto eq = pair.find('=');
             if (eq == std::string::npos)
               throw CLI::ValidationError("--set", "`" + pair + "` is not KEY=VALUE");
             flags.values.push_back(
                 {pair.substr(0, eq), pair.substr(eq + 1), "--set " + pair.substr(0, eq)});
           }
         },
         "any other setting, KEY=VALUE; may be repeated")
      ->expected(1, CLI::detail::expected_max_vector_size);
}

/// For numbers of tokens and the like. What is no number is left to the conversion.
CLI::Validator above_zero() {
  return {[](std::string& text) {
            std::int64_t number = 0;
            const bool is_wrong = CLI::detail::lexical_cast(text, number) && number <= 0;
            return std::string(is_wrong ? "must be above 0" : "");
          },
          ">0", "above_zero"};
}

template <class Run>
int with_settings(std::optional<rind::config::settings> settings, Run run) {
  return settings ? run(std::move(*settings)) : 1;
}

template <class Run>
int with_settings(const settings_flags& flags, Run run) {
  return with_settings(rind::hosts::load_settings(flags), run);
}

void add_sim_options(CLI::App& app, rind::hosts::sim::sim_options& o) {
  using namespace rind::hosts::sim;
  using rind::kit::fault_level;
  auto* file = app.add_option("--scenario", o.scenario_file, "play this file in place of seeds");
  app.add_option("--seeds", o.seeds, "A..B, or one; each is a run")
      ->capture_default_str()
      ->excludes(file);
  app.add_option("--sessions", o.draw.sessions, "of each run")
      ->check(CLI::Range(std::size_t{1}, sessions_max))
      ->capture_default_str()
      ->excludes(file);
  app.add_option("--steps", o.draw.steps, "what clients and faults do in each run")
      ->check(CLI::Range(std::size_t{1}, steps_max))
      ->capture_default_str()
      ->excludes(file);
  app.add_option("--nodes", o.draw.nodes, "of each run")
      ->check(CLI::Range(std::size_t{1}, rind::kit::scenario_nodes_max))
      ->capture_default_str()
      ->excludes(file);
  app.add_option("--faults", o.draw.faults, "none, some or many (many without it)")
      ->transform(CLI::CheckedTransformer(std::map<std::string, fault_level>{
          {"none", fault_level::none}, {"some", fault_level::some}, {"many", fault_level::many}}))
      ->excludes(file);
  auto* minimize =
      app.add_flag("--minimize", o.minimize,
                   "make a failure as small as it gets, show it and write it as a scenario");
  app.add_option("--failures", o.failures_folder, "folder for --minimize")
      ->capture_default_str()
      ->needs(minimize);
  auto* timeline = app.add_flag("--timeline", o.timeline, "print what happened in a single run");
  app.add_flag("--canaries", o.canaries, "look for each planted bug; see docs/simulation.md")
      ->excludes(file)
      ->excludes(minimize)
      ->excludes(timeline);
  app.add_flag("--json", o.json, "print one JSON object")->excludes(timeline);
  app.add_flag("--progress", o.progress,
               "tell on standard error how far it is, as it does at a terminal");
}

} // namespace

int main(int argc, char** argv) {
  using namespace rind::hosts;
  ignore_fatal_io_signals();
  CLI::App app{"rind hosts LLM-agent sessions and keeps each inside its model's context window.",
               "rind"};
  app.set_version_flag("--version", RIND_VERSION);
  app.require_subcommand(1);
  app.failure_message(command_line_error);
  int code = 0;
  settings_flags flags;

  auto* serve_app =
      app.add_subcommand("serve", "host sessions for clients on a Unix socket or over TCP");
  add_host_settings(*serve_app, flags);
  add_setting(*serve_app, flags, "--socket", "server.socket_path",
              "path of the socket (mode 0600)");
  add_setting(*serve_app, flags, "--listen", "server.listen",
              "HOST:PORT for clients over TCP; they need a token, and TLS but on loopback");
  add_setting(*serve_app, flags, "--status", "server.status_listen",
              "HOST:PORT for /metrics, /healthz and /readyz");
  add_setting(*serve_app, flags, "--tls-certificate", "server.tls_certificate_file",
              "PEM file; with it TLS is spoken over TCP");
  add_setting(*serve_app, flags, "--tls-key", "server.tls_key_file",
              "PEM file, the key of that certificate");
  serve_app->callback([&] {
    code = with_settings(flags, [&](auto s) {
      return serve(std::move(s), [&] { return rind::hosts::load_settings(flags); });
    });
  });

  auto* stdio_app =
      app.add_subcommand("app-server", "host sessions for one client on standard input and output");
  add_host_settings(*stdio_app, flags);
  app_server_options stdio_options;
  std::string cwd;
  std::string session_dir;
  bool over_stdio = false;
  bool debug = false;
  stdio_app->add_flag("--stdio", over_stdio, "speak the protocol over standard input and output")
      ->required();
  stdio_app->add_option("--cwd", cwd, "working directory of the host and its tools");
  stdio_app->add_option("--session", stdio_options.session, "the session that initialize answers");
  stdio_app->add_flag("-c,--resume-latest", stdio_options.resume_latest,
                      "initialize answers the newest session");
  stdio_app->add_option("--session-dir", session_dir, "folder of the journal (rind.db)");
  stdio_app->add_flag("--debug", debug, "log more");
  stdio_app->callback([&] {
    if (!cwd.empty() && ::chdir(cwd.c_str()) != 0) {
      std::cerr << "rind: error: --cwd " << cwd << ": " << std::strerror(errno) << "\n";
      code = 1;
      return;
    }
    if (!session_dir.empty())
      flags.values.push_back({"journal", "sqlite:" + session_dir + "/rind.db", "--session-dir"});
    if (debug)
      flags.values.push_back({"log_level", "debug", "--debug"});
    code = with_settings(flags, [&](auto s) { return app_server(std::move(s), stdio_options); });
  });

  auto* chat_app = app.add_subcommand("chat", "talk with a session in the terminal");
  add_host_settings(*chat_app, flags);
  chat::chat_options chat_options;
  server_address chat_server;
  auto* chat_socket =
      chat_app->add_option("--socket", chat_server.socket,
                           "a running `rind serve`; without one a host is started inside");
  auto* chat_tcp = chat_app
                       ->add_option("--connect", chat_server.tcp,
                                    "HOST:PORT of a running `rind serve`, over TLS; the token "
                                    "comes from where the settings say, or RIND_TOKEN")
                       ->excludes(chat_socket);
  chat_app
      ->add_option("--tls-ca", chat_server.tls.ca_file,
                   "PEM file of the authority to believe; without it the system's")
      ->needs(chat_tcp);
  auto* chat_certificate = chat_app
                               ->add_option("--tls-certificate", chat_server.tls.certificate_file,
                                            "PEM file, for a server that asks its clients for one")
                               ->needs(chat_tcp);
  auto* chat_key = chat_app
                       ->add_option("--tls-key", chat_server.tls.key_file,
                                    "PEM file, the key of that certificate")
                       ->needs(chat_certificate);
  chat_certificate->needs(chat_key);
  chat_app
      ->add_flag("--no-tls", chat_server.without_tls, "for a server of this machine without TLS")
      ->needs(chat_tcp);
  chat_app->add_option("--session", chat_options.session_id, "the session to go on with");
  chat_app->callback([&] {
    const auto run = [&](auto s) {
      return chat_with_host(std::move(s), chat_server, chat_options);
    };
    code = with_settings(
        chat_server.is_given() ? load_client_settings(flags) : load_settings(flags), run);
  });

  auto* sessions_app = app.add_subcommand("sessions", "look into a journal");
  sessions_app->require_subcommand(1);
  add_host_settings(*sessions_app, flags);
  std::string session_id;
  bool sessions_json = false;
  constexpr const char* session_help = "its id, as `list` shows it";
  const auto add_look = [&](const char* name, const char* help, auto look) {
    auto* look_app = sessions_app->add_subcommand(name, help);
    look_app->fallthrough();
    look_app->callback(
        [&flags, &code, look] { code = with_settings(load_journal_settings(flags), look); });
    return look_app;
  };
  add_look("list", "all sessions, newest first", [&](const auto& s) {
    return list_sessions(s, sessions_json);
  })->add_flag("--json", sessions_json, "print one JSON object a line");
  add_look("show", "one session as text",
           [&](const auto& s) { return show_session(s, session_id); })
      ->add_option("session", session_id, session_help)
      ->required();
  add_look("export", "one session's journal as JSON lines",
           [&](const auto& s) { return export_session(s, session_id); })
      ->add_option("session", session_id, session_help)
      ->required();
  auto* usage_app =
      add_look("usage", "what the models counted, and what it cost",
               [&](const auto& s) { return show_usage(s, session_id, sessions_json); });
  usage_app->add_option("session", session_id, "its id; all sessions without it");
  usage_app->add_flag("--json", sessions_json, "print one JSON object a line");

  auto* journal_app = app.add_subcommand("journal", "take care of a journal");
  journal_app->require_subcommand(1);
  add_host_settings(*journal_app, flags);
  const auto add_care = [&](const char* name, const char* help, auto care) {
    auto* care_app = journal_app->add_subcommand(name, help);
    care_app->fallthrough();
    care_app->callback(
        [&flags, &code, care] { code = with_settings(load_journal_settings(flags), care); });
  };
  add_care("migrate", "make what is missing of it and bring it up to date",
           [](const auto& s) { return migrate_journal(s); });
  add_care("check", "read all of it and tell what makes no sense",
           [](const auto& s) { return check_journal(s); });
  auto* copy_app = journal_app->add_subcommand(
      "copy", "copy every session into another journal, and compare them");
  std::string copy_from;
  std::string copy_to;
  copy_app->add_option("from", copy_from, "sqlite:PATH or postgresql://…; not served meanwhile")
      ->required();
  copy_app->add_option("to", copy_to, "sqlite:PATH or postgresql://…; made if it is missing")
      ->required();
  copy_app->callback([&] { code = copy_journal(copy_from, copy_to); });

  auto* config_app = app.add_subcommand("config", "settings");
  config_app->require_subcommand(1);
  auto* check_app =
      config_app->add_subcommand("check", "print the resolved settings and where each comes from");
  add_host_settings(*check_app, flags);
  bool as_json = false;
  check_app->add_flag("--json", as_json, "print one JSON array");
  check_app->callback([&] { code = check_settings(flags, as_json); });

  auto* demo_app = app.add_subcommand(
      "demo", "many sessions through every kind of compaction, and a killed host");
  demo::demo_options demo_options;
  demo_app->add_option("--sessions", demo_options.sessions, "how many, 64 without it")
      ->check(CLI::Range(1, demo::sessions_max));
  demo_app->add_flag("--json", demo_options.json, "print one JSON object");
  demo_app->callback([&] { code = demo::run_demo(demo_options); });

  auto* mock_app =
      app.add_subcommand("mock-provider", "a scripted model behind HTTP, for tests and demos");
  mock_provider::mock_provider_options mock;
  mock_app->add_option("--host", mock.host, "the address to listen on, 127.0.0.1 without it");
  mock_app->add_option("--port", mock.port, "0: any free one");
  mock_app->add_option("--script", mock.script_file, "JSON lines; see docs/mock-provider.md");
  mock_app->add_option("--tls-certificate", mock.tls_certificate_file,
                       "PEM file; with it, HTTPS is spoken");
  mock_app->add_option("--tls-key", mock.tls_key_file, "PEM file, the key of that certificate");
  mock_app->add_option("--window", mock.window_tokens, "refuse prompts that do not fit, tokens");
  mock_app->add_option("--reject-above", mock.reject_above_tokens,
                       "refuse prompts above it, tokens");
  mock_app->callback([&] { code = mock_provider::run_mock_provider(mock); });

  auto* replay_app = app.add_subcommand(
      "replay", "play a recorded conversation through a real session and check what came of it");
  replay::replay_options replay;
  replay_app->add_option("file", replay.file, "JSON lines; see docs/replay.md")->required();
  replay_app->add_option("--window", replay.window_tokens, "context window of the model, tokens")
      ->required()
      ->check(above_zero());
  replay_app->add_option("--percent", replay.percent, "of the window at which a compaction starts")
      ->check(CLI::Range(1, 100));
  replay_app
      ->add_option("--reject-above", replay.reject_above_tokens,
                   "the model refuses requests above it, tokens")
      ->check(above_zero());
  replay_app
      ->add_option("--manual-every", replay.manual_every, "compact after every so many prompts")
      ->check(above_zero());
  replay_app->add_option("--journal", replay.journal, "sqlite:PATH or memory")
      ->capture_default_str();
  replay_app->add_flag("--json", replay.json, "print one JSON object");
  replay_app->callback([&] { code = replay::run_replay(replay); });

  auto* sim_app = app.add_subcommand(
      "sim", "many short lives of a simulated host, drawn from seeds, with faults and crashes, and "
             "every promise checked; see docs/simulation.md");
  sim::sim_options simulation;
  add_sim_options(*sim_app, simulation);
  sim_app->callback([&] { code = sim::run_sim(simulation); });

  auto* classify_app = app.add_subcommand(
      "classify", "tell what a session would make of recorded answers of providers, JSON lines "
                  "from standard input; see docs/classifier.md");
  classify_app->callback([&] { code = classify::classify_lines(std::cin, std::cout, std::cerr); });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : command_line_error_code; // 0: help or version was asked for
  }
  return code;
}
