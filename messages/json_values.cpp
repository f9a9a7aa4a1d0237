// The codec's single values and the small objects; the larger ones stand in the json_ files beside
// this one.
#include <cmath>

#include "messages/json_reader.hpp"

namespace rind {

namespace codec {

namespace {

/// The fields of the small objects, each listed once for both directions.
template <class T>
struct layout;

template <>
struct layout<tool_call> {
  static void fields(auto& v, auto& x) {
    v("id", x.id);
    v("name", x.name);
    v("arguments", x.arguments);
  }
};

template <>
struct layout<reasoning_block> {
  static void fields(auto& v, auto& x) {
    v("text", x.text);
    v("opaque", x.opaque);
  }
};

template <>
struct layout<token_usage> {
  static void fields(auto& v, auto& x) {
    v("input_tokens", x.input_tokens);
    v("output_tokens", x.output_tokens);
    v("cached_tokens", x.cached_tokens);
    v("reasoning_tokens", x.reasoning_tokens);
  }
};

template <>
struct layout<replacement> {
  static void fields(auto& v, auto& x) {
    v("start", x.start);
    v("end_exclusive", x.end_exclusive);
    v("kind", x.kind);
  }
};

template <>
struct layout<fallback_cause> {
  static void fields(auto& v, auto& x) {
    v("type", x.type);
    v("message", x.message);
    v("status", x.status);
  }
};

template <>
struct layout<refused_attempt> {
  static void fields(auto& v, auto& x) {
    v("estimated_tokens", x.estimated_tokens);
    v("limit_tokens", x.limit_tokens);
  }
};

template <>
struct layout<failure_details> {
  static void fields(auto& v, auto& x) {
    v.unless_default("estimated_tokens", x.estimated_tokens);
    v.unless_default("limit_tokens", x.limit_tokens);
    v.unless_default("retry_after_s", x.retry_after_s);
    v.unless_default("bytes", x.bytes);
    v.unless_default("limit_bytes", x.limit_bytes);
    v.unless_default("attempts", x.attempts);
  }
};

template <>
struct layout<failure> {
  static void fields(auto& v, auto& x) {
    v("code", x.code);
    v("message", x.message);
    v("error_type", x.error_type);
    v("error_source", x.source);
    v("status", x.status);
    v("details", x.details);
  }
};

template <>
struct layout<undelivered_input> {
  static void fields(auto& v, auto& x) {
    v("input_id", x.input_id);
    v("mode", x.mode);
    v("input", x.text);
  }
};

template <class T>
nlohmann::json write_object(const T& in) {
  field_writer writer;
  layout<T>::fields(writer, in);
  return writer.take();
}

template <class T>
bool read_object(const nlohmann::json& in, T& out) {
  field_reader reader(in);
  layout<T>::fields(reader, out);
  return reader.ok();
}

} // namespace

failure unreadable(const std::string& what) {
  return make_failure(error_code::persistence_failed, "unreadable JSON: " + what);
}

bool read_value(const nlohmann::json& in, std::string& out) {
  const auto* text = in.get_ptr<const std::string*>();
  if (text != nullptr)
    out = *text;
  return text != nullptr;
}

bool read_value(const nlohmann::json& in, bool& out) {
  const auto* value = in.get_ptr<const bool*>();
  if (value != nullptr)
    out = *value;
  return value != nullptr;
}

bool read_value(const nlohmann::json& in, std::int64_t& out) {
  if (const auto* natural = in.get_ptr<const std::uint64_t*>();
      natural != nullptr &&
      *natural > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return false;
  if (!in.is_number_integer())
    return false;
  out = in.get<std::int64_t>();
  return true;
}

bool read_value(const nlohmann::json& in, double& out) {
  if (!in.is_number())
    return false;
  out = in.get<double>();
  return true;
}

bool read_value(const nlohmann::json& in, token_usage& out) {
  return read_object(in, out);
}
bool read_value(const nlohmann::json& in, tool_call& out) {
  return read_object(in, out);
}
bool read_value(const nlohmann::json& in, reasoning_block& out) {
  return read_object(in, out);
}
bool read_value(const nlohmann::json& in, replacement& out) {
  return read_object(in, out);
}
bool read_value(const nlohmann::json& in, fallback_cause& out) {
  return read_object(in, out);
}
bool read_value(const nlohmann::json& in, refused_attempt& out) {
  return read_object(in, out);
}
bool read_value(const nlohmann::json& in, failure_details& out) {
  return read_object(in, out);
}
bool read_value(const nlohmann::json& in, failure& out) {
  return read_object(in, out);
}
bool read_value(const nlohmann::json& in, undelivered_input& out) {
  return read_object(in, out);
}

nlohmann::json write_value(const token_usage& in) {
  return write_object(in);
}
nlohmann::json write_value(const tool_call& in) {
  return write_object(in);
}
nlohmann::json write_value(const reasoning_block& in) {
  return write_object(in);
}
nlohmann::json write_value(const replacement& in) {
  return write_object(in);
}
nlohmann::json write_value(const fallback_cause& in) {
  return write_object(in);
}
nlohmann::json write_value(const refused_attempt& in) {
  return write_object(in);
}
nlohmann::json write_value(const failure_details& in) {
  return write_object(in);
}
nlohmann::json write_value(const failure& in) {
  return write_object(in);
}
nlohmann::json write_value(const undelivered_input& in) {
  return write_object(in);
}

} // namespace codec

std::string dump_json(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

nlohmann::json to_json(const token_usage& value) {
  return value == token_usage{} ? nlohmann::json() : codec::write_value(value);
}

token_usage usage_from_json(const nlohmann::json& value) {
  token_usage usage;
  const auto read = [&value](const char* name, std::optional<std::int64_t>& out) {
    const auto found = value.find(name);
    if (found == value.end() || !codec::read_value(*found, out))
      out.reset();
  };
  if (!value.is_object())
    return usage;
  read("input_tokens", usage.input_tokens);
  read("output_tokens", usage.output_tokens);
  read("cached_tokens", usage.cached_tokens);
  read("reasoning_tokens", usage.reasoning_tokens);
  return usage;
}

nlohmann::json to_json(const failure_details& value) {
  return codec::write_value(value);
}

nlohmann::json to_json(const failure& value) {
  return codec::write_value(value);
}

std::optional<failure> failure_from_json(const nlohmann::json& value) {
  failure out;
  if (!codec::read_value(value, out))
    return std::nullopt;
  return out;
}

nlohmann::json to_json(const undelivered_input& value) {
  return codec::write_value(value);
}

nlohmann::json to_json(const context_stats& value) {
  // Two decimals: what a gauge can show, and the same number wherever it is computed.
  const double usage_percent =
      value.context_window_tokens <= 0
          ? 0.0
          : std::round(static_cast<double>(value.active_tokens) * 10'000.0 /
                       static_cast<double>(value.context_window_tokens)) /
                100.0;
  nlohmann::json out{
      {"estimated_input_tokens", value.estimated_input_tokens},
      {"fixed_tokens", value.fixed_tokens},
      {"active_tokens", value.active_tokens},
      {"token_source", to_string(value.source)},
      {"anchor_fallback_reason", nullptr},
      {"context_window_tokens", value.context_window_tokens},
      {"context_window_origin", value.context_window_origin},
      {"auto_compact_token_limit", value.auto_compact_token_limit},
      {"hard_limit_tokens", value.hard_limit_tokens},
      {"output_limit_tokens", value.output_limit_tokens},
      {"context_usage_percent", usage_percent},
      {"compact_generation", value.generation},
  };
  if (!value.anchor_fallback_reason.empty())
    out["anchor_fallback_reason"] = value.anchor_fallback_reason;
  return out;
}

} // namespace rind
