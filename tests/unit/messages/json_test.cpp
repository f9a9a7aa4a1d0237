// The codec: what is written is read back whole, and nothing that is read can do more than fail.
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "messages/json.hpp"
#include "tests/unit/messages/generators.hpp"

namespace rind {

namespace {

using nlohmann::json;

/// Field by field, also through the shared messages and records.
bool same_body(const entry_body& a, const entry_body& b) {
  if (a.index() != b.index())
    return false;
  return std::visit(
      [&b]<class T>(const T& left) {
        const T& right = std::get<T>(b);
        if constexpr (std::is_same_v<T, entries::boundary>)
          return *left.record == *right.record;
        else if constexpr (std::is_same_v<T, entries::assistant_message>)
          return *left.msg == *right.msg && left.usage == right.usage &&
                 left.request_local_tokens == right.request_local_tokens &&
                 left.request_estimated_tokens == right.request_estimated_tokens &&
                 left.request_generation == right.request_generation &&
                 left.sampling == right.sampling;
        else if constexpr (std::is_same_v<T, entries::tool_result>)
          return *left.msg == *right.msg && left.status == right.status &&
                 left.error_type == right.error_type && left.error_source == right.error_source &&
                 left.duration_ms == right.duration_ms;
        else if constexpr (requires { left.msg; })
          return *left.msg == *right.msg;
        else if constexpr (std::is_same_v<T, entries::tool_requested>)
          return left.call == right.call;
        else
          return left == right;
      },
      a);
}

const std::vector<json>& garbage() {
  static const std::vector<json> values{nullptr,
                                        true,
                                        -1,
                                        1.5,
                                        18446744073709551615U,
                                        "",
                                        "2026-13-01T00:00:00.000Z",
                                        json::array(),
                                        json::array({1, nullptr}),
                                        json::object(),
                                        {{"role", 1}},
                                        {{"content", nullptr}}};
  return values;
}

/// `value` with each field, at any depth, replaced in turn by each piece of garbage or taken away.
template <class Use>
void damage_each_field(const json& value, const Use& use) {
  const json flat = value.flatten();
  for (const auto& item : flat.items()) {
    const json::json_pointer where(item.key());
    for (const auto& bad : garbage()) {
      json damaged = value;
      damaged[where] = bad;
      use(damaged);
    }
    json without = value;
    auto& parent = without[where.parent_pointer()];
    if (parent.is_object())
      parent.erase(where.back());
    use(without);
  }
}

template <class Enum>
void expect_words_are_read_back() {
  std::set<std::string> words;
  for (int i = 0; i <= static_cast<int>(last_word<Enum>); ++i) {
    const auto value = static_cast<Enum>(i);
    EXPECT_EQ(from_word<Enum>(to_string(value)), value) << to_string(value);
    words.insert(to_string(value));
  }
  EXPECT_EQ(words.size(), static_cast<std::size_t>(last_word<Enum>) + 1)
      << "two values share a word";
  EXPECT_FALSE(from_word<Enum>("no such word"));
}

} // namespace

TEST(json_words, every_word_of_every_enum_is_read_back) {
  expect_words_are_read_back<message_role>();
  expect_words_are_read_back<user_origin>();
  expect_words_are_read_back<tool_status>();
  expect_words_are_read_back<input_mode>();
  expect_words_are_read_back<operation_kind>();
  expect_words_are_read_back<sampling_kind>();
  expect_words_are_read_back<cancel_reason>();
  expect_words_are_read_back<entries::turn_outcome>();
  expect_words_are_read_back<token_source>();
  expect_words_are_read_back<finish_reason>();
  expect_words_are_read_back<error_code>();
  expect_words_are_read_back<error_source>();
  expect_words_are_read_back<failure_status>();
  expect_words_are_read_back<compaction_reason>();
  expect_words_are_read_back<compaction_phase>();
  expect_words_are_read_back<phase_detail>();
  expect_words_are_read_back<compaction_strategy>();
  expect_words_are_read_back<replacement_kind>();
}

RC_GTEST_PROP(json_message, every_message_is_read_back, ()) {
  const message original = gen::any_message();
  const auto read = message_from_json(json::parse(dump_json(to_json(original))));
  RC_ASSERT(static_cast<bool>(read));
  RC_ASSERT(*read == original);
}

RC_GTEST_PROP(json_record, every_record_is_read_back, ()) {
  const compaction_record original = gen::record();
  const auto read = record_from_json(json::parse(dump_json(to_json(original))));
  RC_ASSERT(static_cast<bool>(read));
  RC_ASSERT(*read == original);
}

RC_GTEST_PROP(json_failure, every_failure_is_read_back, ()) {
  const failure original = gen::any_failure();
  const auto read = failure_from_json(json::parse(dump_json(to_json(original))));
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == original);
}

RC_GTEST_PROP(json_entry, every_alternative_is_read_back, ()) {
  for (std::size_t i = 0; i < std::variant_size_v<entry_body>; ++i) {
    const entry_body original = gen::body(i);
    RC_ASSERT(original.index() == i);
    const std::string text = encode_body(original);
    const auto read = decode_body(kind_of(original), text);
    RC_ASSERT(static_cast<bool>(read));
    RC_ASSERT(same_body(original, *read));
    RC_ASSERT(encode_body(*read) == text);
  }
}

RC_GTEST_PROP(json_entry, damaged_text_fails_as_a_value, ()) {
  const entry_body original =
      gen::body(*rc::gen::inRange<std::size_t>(0, std::variant_size_v<entry_body>));
  std::string text = encode_body(original);
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  text[at] = static_cast<char>(*rc::gen::inRange(0, 256));
  static_cast<void>(decode_body(kind_of(original), text));
  static_cast<void>(decode_body(kind_of(original), text.substr(0, at)));
}

RC_GTEST_PROP(json_entry, a_wrong_field_is_a_failure_and_never_a_crash, ()) {
  const entry_body original =
      gen::body(*rc::gen::inRange<std::size_t>(0, std::variant_size_v<entry_body>));
  damage_each_field(json::parse(encode_body(original)), [&](const json& damaged) {
    const auto read = decode_body(kind_of(original), dump_json(damaged));
    RC_ASSERT((read ? error_code::persistence_failed : read.error().code) ==
              error_code::persistence_failed);
  });
}

TEST(json_entry, failures_name_the_kind_and_the_field) {
  const auto missing = decode_body("model_set", "{}");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, error_code::persistence_failed);
  EXPECT_NE(missing.error().message.find("model_set: field 'model'"), std::string::npos)
      << missing.error().message;
  for (const auto* kind : {"", "model", "\xFF"}) {
    const auto unknown = decode_body(kind, "{}");
    ASSERT_FALSE(unknown);
    EXPECT_TRUE(is_valid_utf8(unknown.error().message));
  }
  EXPECT_FALSE(decode_body("model_set", std::string(1'000'000, '[')));
  EXPECT_FALSE(decode_body("model_set", R"([{"model":"m"}])"));
}

TEST(json_entry, unknown_fields_are_ignored) {
  const auto read = decode_body("model_set", R"({"model":"m","later":{"a":[1]}})");
  ASSERT_TRUE(read);
  EXPECT_EQ(std::get<entries::model_set>(*read).model, "m");
}

TEST(json_entry, the_form_on_disk_is_frozen) {
  message user;
  user.content = "héllo\n";
  user.input_id = "in-1";
  message assistant;
  assistant.role = message_role::assistant;
  assistant.tool_calls = {{"c1", "read", R"({"path":"a"})"}};
  assistant.reasoning = reasoning_block{"hm", ""};
  assistant.model = "m";
  message tool;
  tool.role = message_role::tool;
  tool.tool_call_id = "c1";
  tool.name = "read";
  tool.content = "body";
  const auto share = [](const message& m) { return std::make_shared<const message>(m); };
  const std::vector<std::pair<entry_body, std::string>> rows{
      {entries::session_created{"m", "be kind"}, R"({"model":"m","system_prompt":"be kind"})"},
      {entries::turn_started{operation_kind::compact, 6, true, false, "in-1"},
       R"({"handed_over":false,"input_id":"in-1","operation":"compact","resumed":true,"user_message_chars":6})"},
      {entries::user_message{share(user)},
       R"({"message":{"content":"héllo\n","input_id":"in-1","origin":"prompt","role":"user"}})"},
      {entries::assistant_message{
           share(assistant), {100, 5, std::nullopt, std::nullopt}, 90, 95, 1, 2},
       R"({"message":{"content":"","model":"m","reasoning":{"opaque":"","text":"hm"},"role":"assistant",)"
       R"("tool_calls":[{"arguments":"{\"path\":\"a\"}","id":"c1","name":"read"}]},)"
       R"("request_estimated_tokens":95,"request_generation":1,"request_local_tokens":90,"sampling":2,)"
       R"("usage":{"cached_tokens":null,"input_tokens":100,"output_tokens":5,"reasoning_tokens":null}})"},
      {entries::tool_result{share(tool), tool_status::timed_out, "deadline", "tool", 30},
       R"({"duration_ms":30,"error_source":"tool","error_type":"deadline","message":{"content":"body",)"
       R"("is_error":false,"name":"read","role":"tool","tool_call_id":"c1"},"status":"timed_out"})"},
      {entries::input_accepted{"in-2", input_mode::follow_up, "go"},
       R"({"input":"go","input_id":"in-2","mode":"follow_up"})"},
      {entries::attempt_started{1, 2, 1, 900, 1000, 720, std::nullopt},
       R"({"context_errors":2,"limit_tokens":1000,"output_limit_tokens":null,"refused_estimate_tokens":900,)"
       R"("rescues":1,"sampling":1,"tightened_limit_tokens":720})"},
      {entries::window_learned{"m", 8192}, R"({"model":"m","window_tokens":8192})"},
      {entries::turn_ended{entries::turn_outcome::cancelled,
                           7,
                           1,
                           0,
                           std::nullopt,
                           cancel_reason::shutdown,
                           {{"in-2", input_mode::steering, "go"}}},
       R"({"compactions":0,"duration_ms":7,"error":null,"outcome":"cancelled","reason":"shutdown","samplings":1,)"
       R"("undelivered":[{"input":"go","input_id":"in-2","mode":"steering"}]})"},
  };
  for (const auto& [body, text] : rows)
    EXPECT_EQ(encode_body(body), text) << kind_of(body);
}

TEST(json_record, S24_has_the_shape_of_the_protocol) {
  compaction_record r;
  r.id = "cmp-1";
  r.created_at_ms = 1'767'225'600'000;
  r.reason = compaction_reason::automatic;
  r.phase = compaction_phase::mid_turn;
  r.detail = phase_detail::between_samplings;
  r.strategy = compaction_strategy::deterministic_fallback;
  r.generation = 2;
  r.message_start_index = 3;
  r.message_end_index_exclusive = 9;
  r.tool_call_ids = {"c1"};
  r.history_digest = "abc";
  r.continuation_text = "go on";
  r.handoff_text = "so far";
  r.replaced = {{4, 5, replacement_kind::body}};
  r.tokens_before = 900;
  r.tokens_after = 200;
  r.usage = token_usage{500, 20, std::nullopt, 3};
  r.fallback = fallback_cause{"server_error", "no", "unavailable"};
  EXPECT_EQ(to_json(r), json::parse(R"({
    "id":"cmp-1","created_at":"2026-01-01T00:00:00.000Z","reason":"auto","phase":"mid_turn",
    "phase_detail":"between_samplings","strategy":"deterministic_fallback","generation":2,
    "source":{"message_start_index":3,"message_end_index_exclusive":9,"tool_call_ids":["c1"],"history_digest":"abc"},
    "continuation_user_message":{"role":"user","content":"go on"},
    "handoff_message":{"role":"assistant","content":"so far"},
    "replaced":[{"start":4,"end_exclusive":5,"kind":"body"}],"tokens_before":900,"tokens_after":200,
    "usage":{"input_tokens":500,"output_tokens":20,"cached_tokens":null,"reasoning_tokens":3},
    "fallback_error":{"type":"server_error","message":"no","status":"unavailable"}})"));
  compaction_record rescue;
  rescue.strategy = compaction_strategy::context_rescue;
  rescue.summary_model = "small";
  const json told = to_json(rescue);
  for (const auto* field :
       {"phase_detail", "continuation_user_message", "handoff_message", "usage", "fallback_error"})
    EXPECT_TRUE(told.at(field).is_null()) << field;
  EXPECT_EQ(told.at("diagnostics"), json({{"summary_model", "small"}}));
}

TEST(json_usage, unknown_is_null_and_never_zero) {
  EXPECT_TRUE(to_json(token_usage{}).is_null());
  EXPECT_EQ(usage_from_json(nullptr), token_usage{});
  EXPECT_EQ(usage_from_json(json{{"input_tokens", "7"}, {"output_tokens", 0}}),
            (token_usage{std::nullopt, 0, std::nullopt, std::nullopt}));
}

TEST(json_text, dump_repairs_bytes_that_are_no_utf8) {
  EXPECT_EQ(dump_json(json("a\xFF")), "\"a\xEF\xBF\xBD\"");
}

TEST(json_text, S40_depth_is_counted_outside_of_strings) {
  EXPECT_FALSE(nests_deeper_than(R"({"a":"[[[[[\"[[[["})", 1));
  EXPECT_FALSE(nests_deeper_than("[[],[],[[]]]", 3));
  EXPECT_TRUE(nests_deeper_than("[[],[],[[]]]", 2));
  EXPECT_TRUE(nests_deeper_than(std::string(8'000'000, '['), json_depth_limit));
}

} // namespace rind
