// Every setting of a host in one struct, with its defaults. Parsing, origins and validation stand
// in config/load.hpp; nobody looks at raw settings again after `main`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/context/budget.hpp"

namespace rind::config {

/// The wire formats that a provider may speak.
inline constexpr std::string_view wire_formats[]{"chat", "responses", "anthropic"};
inline constexpr std::string_view providers_format = "provider"; // of a model: as its provider

/// The fewest output tokens that a request may ask for in the format `responses`.
inline constexpr std::int64_t responses_output_min_tokens = 16;

/// How much a model is asked to think, by rising effort after two that ask for nothing.
inline constexpr std::string_view reasoning_words[]{"default", "none", "low", "medium", "high"};

/// What a million tokens of a model cost, in whatever currency all prices are given in. All absent:
/// the model has no price.
struct price_settings {
  std::optional<double> input;
  std::optional<double> cached_input; // absent: as `input`
  std::optional<double> output;
};

/// One model of a provider. Absent numbers are those of `settings::fallback`, else of the provider,
/// else the defaults of context/budget.hpp.
struct model_settings {
  std::string name;
  context::model_limits limits;
  std::optional<std::int64_t> request_limit_bytes;
  std::string format{providers_format}; // or one of wire_formats
  std::string reasoning{reasoning_words[0]};
  price_settings price{};
};

/// A key that must not be printed. Its text is read only where a request is built.
class secret {
public:
  secret() = default;
  explicit secret(std::string text) : text_(std::move(text)) {}
  const std::string& reveal() const { return text_; }
  bool empty() const { return text_.empty(); }

private:
  std::string text_;
};

/// One of several secrets, with a name that logs may show.
struct named_secret {
  std::string name;
  secret value;
};

struct provider_settings {
  std::string name = "default";
  std::string base_url;        // "https://host/v1"; empty: the embedded model
  std::string format = "chat"; // of its models that name none
  secret api_key;           // from an environment variable or a file, never from the settings' text
  std::string api_key_env;  // the variable that holds the key; empty: none is named
  std::string api_key_file; // or the file that does
  std::string max_tokens_field =
      "max_completion_tokens"; // or "max_tokens" for compatible servers that want it
  std::string proxy;
  std::string ca_file;
  std::int64_t connect_timeout_ms = 10'000;
  std::int64_t first_byte_timeout_ms = 60'000;
  std::int64_t idle_timeout_ms = 60'000; // without data; keep-alive comments do not count
  std::int64_t total_timeout_ms = 900'000;
  std::int64_t requests_in_flight_max = 1'024;
  std::int64_t request_limit_bytes = context::default_request_limit_bytes;
  std::vector<model_settings> models;
};

/// What holds for every model that does not say otherwise.
struct fallback_settings {
  context::model_limits limits;
  std::optional<std::int64_t> request_limit_bytes;
};

struct compaction_settings {
  std::string model; // empty: the session's own
  bool auto_compact = true;
  bool overflow_recovery = true;
  std::int64_t summaries_at_once_max = 8;
  std::int64_t deadline_ms = 120'000;
  std::int64_t silence_ms = 30'000;
};

/// The built-in tools that `session.demo_tools` offers; no command tool may have one of these names
/// then.
inline constexpr std::string_view demo_tool_names[]{"calculate", "list_records"};

struct command_tool_settings {
  std::string name;
  std::string description;
  std::string parameters = R"({"type":"object","properties":{}})"; // JSON schema as text
  std::vector<std::string> command; // program and arguments, no shell
  std::int64_t deadline_ms = 120'000;
};

struct session_settings {
  std::string system_prompt;
  bool auto_resume = false;
  bool demo_tools = false;
  std::int64_t waiting_prompts_max = 16;      // S2
  std::int64_t queued_inputs_max = 4;         // S3, a queue
  std::int64_t queued_characters_max = 8'000; // S3, a queue
  std::int64_t samplings_max = 500;           // S7
  std::int64_t resumes_max = 3;               // S10
  std::int64_t idle_passivate_ms = 600'000;
};

struct server_settings {
  std::string socket_path;
  std::string listen;               // "host:port" for clients over TCP; empty: none
  std::string status_listen;        // "host:port" for /metrics, /healthz, /readyz; empty: none
  std::string tls_certificate_file; // PEM; with it TLS is spoken over TCP
  std::string tls_key_file;
  std::string tls_client_ca_file;   // clients need a certificate of it; empty: they need none
  std::vector<named_secret> tokens; // that clients may show, none: they need none; from RIND_TOKEN
                                    // or as one of the next two says
  std::string token_env;
  std::string token_file;                     // of a server, one a line
  std::int64_t token_connections_max = 1'000; // S42, of the clients of one token together
  std::int64_t token_requests_max = 4'096;
  std::int64_t token_sessions_max = 10'000;
  std::int64_t initialize_timeout_ms = 10'000; // of a client over TCP
  std::int64_t idle_timeout_ms = 3'600'000;    // likewise; 0: none
  std::int64_t drain_ms = 10'000;
  std::int64_t connections_max = 4'096;
  std::int64_t unsent_bytes_max = 1 << 20; // S38
  std::int64_t unsent_frames_max = 1'000;
};

struct settings {
  std::string journal = "sqlite:rind.db"; // as of journal/open_journal.hpp
  std::string default_model = "embedded";
  std::string log_level = "info";
  std::string log_file;                     // empty: standard error
  std::vector<provider_settings> providers; // none: the embedded model
  std::int64_t embedded_window_tokens = 32'000;
  fallback_settings fallback;
  std::optional<std::int64_t> embedded_delta_ms; // pause before each delta of the embedded model;
                                                 // unset: none, but at a person's terminal
  compaction_settings compaction;
  session_settings session;
  server_settings server;
  std::vector<command_tool_settings> tools;
};

} // namespace rind::config
