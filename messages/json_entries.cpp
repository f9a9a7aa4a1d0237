// Journal entries as JSON: the form on disk. Each kind lists its fields once, for writing and
// reading.
#include <utility>

#include "messages/json_reader.hpp"

namespace rind {

namespace {

template <class Entry>
struct form;

template <>
struct form<entries::session_created> {
  static constexpr const char* kind = "session_created";
  static void fields(auto& v, auto& x) {
    v("model", x.model);
    v("system_prompt", x.system_prompt);
    v.unless_default("auto_compact", x.auto_compact);
    v.unless_default("overflow_recovery", x.overflow_recovery);
  }
};

template <>
struct form<entries::turn_started> {
  static constexpr const char* kind = "turn_started";
  static void fields(auto& v, auto& x) {
    v("operation", x.operation);
    v("user_message_chars", x.user_message_chars);
    v("resumed", x.resumed);
    v("handed_over", x.handed_over);
    v("input_id", x.input_id);
  }
};

template <>
struct form<entries::user_message> {
  static constexpr const char* kind = "user_message";
  static void fields(auto& v, auto& x) { v("message", x.msg); }
};

template <>
struct form<entries::assistant_message> {
  static constexpr const char* kind = "assistant_message";
  static void fields(auto& v, auto& x) {
    v("message", x.msg);
    v("usage", x.usage);
    v("request_local_tokens", x.request_local_tokens);
    v("request_estimated_tokens", x.request_estimated_tokens);
    v("request_generation", x.request_generation);
    v("sampling", x.sampling);
  }
};

template <>
struct form<entries::tool_requested> {
  static constexpr const char* kind = "tool_requested";
  static void fields(auto& v, auto& x) { v("call", x.call); }
};

template <>
struct form<entries::tool_result> {
  static constexpr const char* kind = "tool_result";
  static void fields(auto& v, auto& x) {
    v("message", x.msg);
    v("status", x.status);
    v("error_type", x.error_type);
    v("error_source", x.error_source);
    v("duration_ms", x.duration_ms);
  }
};

template <>
struct form<entries::input_accepted> {
  static constexpr const char* kind = "input_accepted";
  static void fields(auto& v, auto& x) {
    v("input_id", x.input_id);
    v("mode", x.mode);
    v("input", x.text);
  }
};

template <>
struct form<entries::input_delivered> {
  static constexpr const char* kind = "input_delivered";
  static void fields(auto& v, auto& x) { v("message", x.msg); }
};

template <>
struct form<entries::input_promoted> {
  static constexpr const char* kind = "input_promoted";
  static void fields(auto& v, auto& x) { v("input_id", x.input_id); }
};

template <>
struct form<entries::input_taken_back> {
  static constexpr const char* kind = "input_taken_back";
  static void fields(auto& v, auto& x) { v("input_id", x.input_id); }
};

template <>
struct form<entries::attempt_started> {
  static constexpr const char* kind = "attempt_started";
  static void fields(auto& v, auto& x) {
    v("sampling", x.sampling);
    v("context_errors", x.context_errors);
    v("rescues", x.rescues);
    v("refused_estimate_tokens", x.refused_estimate_tokens);
    v("limit_tokens", x.limit_tokens);
    v("tightened_limit_tokens", x.tightened_limit_tokens);
    v("output_limit_tokens", x.output_limit_tokens);
  }
};

template <>
struct form<entries::usage_recorded> {
  static constexpr const char* kind = "usage_recorded";
  static void fields(auto& v, auto& x) {
    v("sampling_kind", x.kind);
    v("model", x.model);
    v("usage", x.usage);
  }
};

template <>
struct form<entries::boundary> {
  static constexpr const char* kind = "boundary";
  static void fields(auto& v, auto& x) { v("record", x.record); }
};

template <>
struct form<entries::model_set> {
  static constexpr const char* kind = "model_set";
  static void fields(auto& v, auto& x) { v("model", x.model); }
};

template <>
struct form<entries::window_learned> {
  static constexpr const char* kind = "window_learned";
  static void fields(auto& v, auto& x) {
    v("model", x.model);
    v("window_tokens", x.window_tokens);
  }
};

template <>
struct form<entries::turn_ended> {
  static constexpr const char* kind = "turn_ended";
  static void fields(auto& v, auto& x) {
    v("outcome", x.outcome);
    v("duration_ms", x.duration_ms);
    v("samplings", x.samplings);
    v("compactions", x.compactions);
    v("error", x.error);
    v("reason", x.reason);
    v("undelivered", x.undelivered);
  }
};

template <class Entry>
result<entry_body> decode_as(const nlohmann::json& in) {
  Entry body;
  codec::field_reader reader(in);
  form<Entry>::fields(reader, body);
  if (!reader.ok())
    return codec::unreadable(std::string("entry ") + form<Entry>::kind + ": " + reader.wrong() +
                             " is missing or has the wrong type");
  return entry_body(std::move(body));
}

/// Tries the alternatives in order until one has the kind.
template <std::size_t Index = 0>
result<entry_body> decode_kind(std::string_view kind, const nlohmann::json& in) {
  if constexpr (Index == std::variant_size_v<entry_body>) {
    return codec::unreadable("unknown entry kind '" + repair_utf8(kind) + "'");
  } else {
    using candidate = std::variant_alternative_t<Index, entry_body>;
    return kind == form<candidate>::kind ? decode_as<candidate>(in)
                                         : decode_kind<Index + 1>(kind, in);
  }
}

} // namespace

const char* kind_of(const entry_body& body) {
  return std::visit([]<class T>(const T&) { return form<T>::kind; }, body);
}

std::string encode_body(const entry_body& body) {
  return std::visit(
      []<class T>(const T& b) {
        codec::field_writer writer;
        form<T>::fields(writer, b);
        return dump_json(writer.take());
      },
      body);
}

result<entry_body> decode_body(std::string_view kind, std::string_view text) {
  const auto parsed = nlohmann::json::parse(text, nullptr, false);
  if (parsed.is_discarded())
    return codec::unreadable("entry " + repair_utf8(kind) + " is no JSON");
  return decode_kind(kind, parsed);
}

} // namespace rind
