// The compaction record as JSON, the form that clients see and the journal keeps.
#include "messages/json_reader.hpp"

namespace rind {

namespace {

using nlohmann::json;

json text_message(const char* role, const std::optional<std::string>& text) {
  return text ? json{{"role", role}, {"content", *text}} : json();
}

/// A `{"role","content"}` object or null.
struct text_message_reader {
  std::optional<std::string>& text;
};

bool read_value(const json& in, text_message_reader& out) {
  out.text.reset();
  if (in.is_null())
    return true;
  codec::field_reader v(in);
  v("content", out.text.emplace());
  return v.ok();
}

struct time_reader {
  std::int64_t& time_ms;
};

bool read_value(const json& in, time_reader& out) {
  std::string text;
  if (!codec::read_value(in, text))
    return false;
  const auto time = parse_time(text);
  out.time_ms = time.value_or(0);
  return time.has_value();
}

/// null stands for phase_detail::none.
struct detail_reader {
  phase_detail& detail;
};

bool read_value(const json& in, detail_reader& out) {
  out.detail = phase_detail::none;
  return in.is_null() || codec::read_value(in, out.detail);
}

struct source_reader {
  compaction_record& record;
};

bool read_value(const json& in, source_reader& out) {
  codec::field_reader v(in);
  v("message_start_index", out.record.message_start_index);
  v("message_end_index_exclusive", out.record.message_end_index_exclusive);
  v("tool_call_ids", out.record.tool_call_ids);
  v("history_digest", out.record.history_digest);
  return v.ok();
}

struct diagnostics_reader {
  compaction_record& record;
};

bool read_value(const json& in, diagnostics_reader& out) {
  codec::field_reader v(in);
  v.unless_default("summary_model", out.record.summary_model);
  v.unless_default("shortened_bodies", out.record.shortened_bodies);
  return v.ok();
}

json diagnostics(const compaction_record& value) {
  codec::field_writer v;
  v.unless_default("summary_model", value.summary_model);
  v.unless_default("shortened_bodies", value.shortened_bodies);
  return v.take();
}

bool read_record(const json& in, compaction_record& out, std::string& wrong) {
  codec::field_reader v(in);
  time_reader created_at{out.created_at_ms};
  detail_reader detail{out.detail};
  source_reader source{out};
  text_message_reader continuation{out.continuation_text};
  text_message_reader handoff{out.handoff_text};
  diagnostics_reader ours{out};
  v("id", out.id);
  v("created_at", created_at);
  v("reason", out.reason);
  v("phase", out.phase);
  v("phase_detail", detail);
  v("strategy", out.strategy);
  v("generation", out.generation);
  v("source", source);
  v("continuation_user_message", continuation);
  v("handoff_message", handoff);
  v("replaced", out.replaced);
  v("tokens_before", out.tokens_before);
  v("tokens_after", out.tokens_after);
  v("usage", out.usage);
  v("fallback_error", out.fallback);
  v.unless_default("diagnostics", ours);
  wrong = v.wrong();
  return v.ok();
}

} // namespace

json to_json(const compaction_record& value) {
  json out{
      {"id", value.id},
      {"created_at", format_time(value.created_at_ms)},
      {"reason", to_string(value.reason)},
      {"phase", to_string(value.phase)},
      {"phase_detail", value.detail == phase_detail::none ? json() : json(to_string(value.detail))},
      {"strategy", to_string(value.strategy)},
      {"generation", value.generation},
      {"source",
       {{"message_start_index", value.message_start_index},
        {"message_end_index_exclusive", value.message_end_index_exclusive},
        {"tool_call_ids", value.tool_call_ids},
        {"history_digest", value.history_digest}}},
      {"continuation_user_message", text_message("user", value.continuation_text)},
      {"handoff_message", text_message("assistant", value.handoff_text)},
      {"replaced", codec::write_value(value.replaced)},
      {"tokens_before", value.tokens_before},
      {"tokens_after", value.tokens_after},
      {"usage", codec::write_value(value.usage)},
      {"fallback_error", codec::write_value(value.fallback)},
  };
  if (auto ours = diagnostics(value); !ours.empty())
    out["diagnostics"] = std::move(ours);
  return out;
}

result<compaction_record> record_from_json(const json& value) {
  compaction_record out;
  std::string wrong;
  if (!read_record(value, out, wrong))
    return codec::unreadable("compaction record: " + wrong + " is missing or has the wrong type");
  return out;
}

namespace codec {

bool read_value(const json& in, std::shared_ptr<const compaction_record>& out) {
  auto read = std::make_shared<compaction_record>();
  std::string wrong;
  if (!read_record(in, *read, wrong))
    return false;
  out = std::move(read);
  return true;
}

json write_value(const std::shared_ptr<const compaction_record>& in) {
  return to_json(*in);
}

} // namespace codec

} // namespace rind
