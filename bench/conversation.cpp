// The sample conversations.
#include "bench/conversation.hpp"

#include "messages/json.hpp"

namespace rind::bench {

namespace {

constexpr std::string_view sample =
    "The parser reads one line after the other and keeps what it has not understood yet. "
    "if (auto found = index.find(key); found != index.end()) return found->second; // 42 hits\n"
    "Größe, façade, naïve — and a few words of 日本語のテキスト and русский текст too.\n"
    "src/runtime/view/projection.cpp:118: error: expected ‘;’ before ‘}’ token\n";

constexpr std::size_t prompt_bytes = 300;
constexpr std::size_t result_bytes = 1'500;
constexpr std::size_t answer_bytes = 600;

message_ptr share(message m) {
  return std::make_shared<const message>(std::move(m));
}

message user(std::int64_t turn) {
  message m;
  m.content = std::to_string(turn) + ": " + mixed_text(prompt_bytes);
  return m;
}

message assistant(std::string text, std::vector<tool_call> calls) {
  message m;
  m.role = message_role::assistant;
  m.content = std::move(text);
  m.tool_calls = std::move(calls);
  m.model = "measured";
  return m;
}

message result(const tool_call& call) {
  message m;
  m.role = message_role::tool;
  m.content = mixed_text(result_bytes);
  m.tool_call_id = call.id;
  m.name = call.name;
  return m;
}

entries::assistant_message answered(message m) {
  entries::assistant_message e;
  e.msg = share(std::move(m));
  return e;
}

entries::tool_result tool_said(message m) {
  entries::tool_result e;
  e.msg = share(std::move(m));
  return e;
}

} // namespace

std::string mixed_text(std::size_t bytes) {
  std::string text;
  while (text.size() < bytes)
    text += sample;
  while (text.size() > bytes || !is_valid_utf8(text))
    text.pop_back();
  return text;
}

std::vector<entry> next_turn(std::int64_t turn, std::int64_t last_position) {
  std::vector<entry> out;
  const std::string turn_id = "turn-" + std::to_string(turn);
  const auto add = [&](entry_body body) {
    ++last_position;
    out.push_back({last_position, "e" + std::to_string(last_position), 1'000 * last_position,
                   turn_id, std::move(body)});
  };
  const tool_call call{"call-" + std::to_string(turn), "read_file", R"({"path":"src/main.cpp"})"};
  add(entries::turn_started{});
  add(entries::user_message{share(user(turn))});
  add(answered(assistant("Let me look.", {call})));
  add(entries::tool_requested{call});
  add(tool_said(result(call)));
  add(answered(assistant(mixed_text(answer_bytes), {})));
  add(entries::turn_ended{});
  return out;
}

std::vector<entry> working_session(std::int64_t turns) {
  std::vector<entry> out;
  out.push_back({1, "e1", 1'000, "", entries::session_created{"measured", "Be brief."}});
  for (std::int64_t turn = 1; turn <= turns; ++turn)
    for (auto& e : next_turn(turn, static_cast<std::int64_t>(out.size())))
      out.push_back(std::move(e));
  return out;
}

std::vector<message_ptr> messages_of(const std::vector<entry>& entries) {
  std::vector<message_ptr> out;
  for (const auto& e : entries)
    if (const auto* m = message_of(e.body))
      out.push_back(*m);
  return out;
}

view::projection projection_of(const std::vector<entry>& entries) {
  view::projection p({});
  for (const auto& e : entries)
    if (auto taken = p.apply(e); !taken)
      throw std::logic_error("a sample entry was refused: " + taken.error().message);
  return p;
}

} // namespace rind::bench
