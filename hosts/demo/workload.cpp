// The script, rule by rule; the first that matches answers. Rules that are used up (`times` 1) hold
// a stream until the host is killed; what is asked again afterwards finds the quick rule behind
// them.
#include "hosts/demo/workload.hpp"

#include <stdexcept>

#include <nlohmann/json.hpp>

namespace rind::hosts::demo {

namespace {

using nlohmann::json;

/// Sessions of each scene with a summary; both together leave half of the host's eight places free.
constexpr int held_summaries_max = 2;

constexpr int held_pieces = 240;
constexpr int held_piece_ms = 500;

// Sizes by the mock's count, a quarter of the bytes of the request. A record takes about 11.
constexpr int aisle_records = 140;  // four of them reach the threshold, three do not
constexpr int shelf_records = 60;   // two of them do not
constexpr int cellar_records = 180; // as little; alone it is above what the rescue has to reach
constexpr int overflow_above_tokens = 3'000;
constexpr int rescue_above_tokens = 2'100;

const char* const summary_text =
    "## Goal\nKeep the books of the store.\n## Constraints\nNone stated beyond the questions.\n"
    "## Done\nRecords were listed and numbers computed as asked.\n## Pending\nThe question that "
    "stands last.\n## Files and commands\nThe tools calculate and list_records.\n## Facts\nEach "
    "record names a place, a state and a number of pieces.\n## Risks\nNone known.\n";

class script_writer {
public:
  /// For ever, for every session.
  void always(json match, json answer) { add("", std::move(match), 0, std::move(answer)); }
  /// Once, for one session.
  void once(const std::string& session, json match, json answer) {
    add(session, std::move(match), 1, std::move(answer));
  }

  mock_provider::script read() const {
    auto rules = mock_provider::parse_script(text_);
    if (!rules)
      throw std::logic_error("the demo's script: " + rules.error().message);
    return std::move(*rules);
  }

private:
  void add(const std::string& session, json match, int times, json answer) {
    json rule{{"match", std::move(match)}, {"times", times}, {"answer", std::move(answer)}};
    if (!session.empty())
      rule["conversation"] = session;
    text_ += rule.dump() + "\n";
  }

  std::string text_;
};

json pieces(const std::string& piece, int count, int every_ms) {
  return {{"deltas", std::vector<std::string>(static_cast<std::size_t>(count), piece)},
          {"delta_delay_ms", every_ms}};
}

json text(const std::string& words) {
  return {{"text", words}};
}

json list_records(int first, int count) {
  return {{"name", "list_records"}, {"arguments", {{"first", first}, {"count", count}}}};
}

json call_list(int first, int count) {
  return {{"tool_calls", json::array({list_records(first, count)})}};
}

json calculate(const char* expression) {
  return {{"name", "calculate"}, {"arguments", {{"expression", expression}}}};
}

/// The result of a list begins with its first record.
json result_of(int first) {
  return {{"has_tools", true}, {"contains", "record " + std::to_string(first) + ":"}};
}

json result_above(int first, int tokens) {
  auto match = result_of(first);
  match["min_tokens"] = tokens;
  return match;
}

json asked(const char* word) {
  return {{"has_tools", true}, {"contains", word}};
}

json refusal() {
  return {{"status", 400},
          {"body",
           {{"error",
             {{"message", "Your input exceeds the context window of this model. Please adjust your "
                          "input and try again."},
              {"type", "invalid_request_error"},
              {"param", "input"},
              {"code", "context_length_exceeded"}}}}}};
}

json overloaded() {
  return {{"status", 529},
          {"headers", {{"retry-after-ms", "40"}}},
          {"body", {{"error", {{"type", "overloaded_error"}, {"message", "Overloaded"}}}}}};
}

json cut_stream() {
  auto answer = pieces("lost words ", 6, 0);
  answer["cut_after_chunks"] = 3;
  return answer;
}

void add_session_rules(script_writer& to, int session) {
  const auto id = session_name(session);
  const json summary{{"has_tools", false}};
  const auto held = pieces("This goes on for a while. ", held_pieces, held_piece_ms);
  switch (scene_of(session)) {
  case crash_scene::stream:
  case crash_scene::stream_with_inputs:
    to.once(id, asked("[long]"), held);
    break;
  case crash_scene::manual_compaction:
  case crash_scene::auto_compaction: // the first summary is the one of the manual compaction before
    to.once(id, summary, text(summary_text));
    to.once(id, summary, held);
    break;
  }
  if (session % 4 == 1)
    to.once(id, asked("[busy]"), overloaded());
  if (session % 16 == 2)
    to.once(id, asked("[busy]"), cut_stream());
}

void add_common_rules(script_writer& to) {
  to.always({{"has_tools", false}, {"contains", slow_focus}}, [] {
    auto slow = pieces("", 0, 30);
    slow["deltas"] = mock_provider::split_text(summary_text, 40);
    return slow;
  }());
  to.always({{"has_tools", false}}, text(summary_text));
  to.always(asked("[steer]"), text("Understood: only the north gate counts from here on."));
  to.always(asked("[later]"), text("The depot holds its share; nothing is missing there."));
  to.always(asked("[work]"),
            {{"tool_calls", json::array({calculate("12 * (30 + 4)"), list_records(700'001, 24)})}});
  to.always(result_of(700'001), text("The total is 408, and the first records are in order."));
  auto steady = pieces("I think it over. ", 20, 40);
  steady["tool_calls"] = json::array({calculate("123 * 456")});
  to.always(asked("[steady]"), steady);
  to.always(asked("[slow]"), pieces("Once there was a store. ", held_pieces, held_piece_ms));
  to.always(asked("[long]"), text("It holds records of five places in four states."));
  to.always(asked("[fill]"), call_list(10'001, aisle_records));
  to.always(result_of(10'001), call_list(20'001, aisle_records));
  to.always(result_of(20'001), call_list(30'001, aisle_records));
  to.always(result_of(30'001), call_list(35'001, aisle_records));
  to.always(result_of(35'001), text("The four aisles agree with the books."));
  to.always(asked("[overflow]"), call_list(40'001, shelf_records));
  to.always(result_of(40'001), call_list(50'001, shelf_records));
  to.always(result_above(50'001, overflow_above_tokens), refusal());
  to.always(result_of(50'001), text("The two shelves differ in nothing."));
  to.always(asked("[rescue]"), call_list(60'001, cellar_records));
  to.always(result_above(60'001, rescue_above_tokens), refusal());
  to.always(result_of(60'001), text("The cellar was read as far as it could be shown."));
  to.always(asked("[busy]"), text("All aisles are counted and in order."));
}

} // namespace

crash_scene scene_of(int session) {
  if (session % 8 == 2 && session / 8 < held_summaries_max)
    return crash_scene::manual_compaction;
  if (session % 8 == 3 && session / 8 < held_summaries_max)
    return crash_scene::auto_compaction;
  return session % 2 == 0 ? crash_scene::stream : crash_scene::stream_with_inputs;
}

std::string session_name(int session) {
  const auto number = std::to_string(session + 1);
  return "demo-" + std::string(number.size() < 4 ? 4 - number.size() : 0, '0') + number;
}

mock_provider::script make_script(int sessions) {
  script_writer script;
  for (int session = 0; session < sessions; ++session)
    add_session_rules(script, session);
  add_common_rules(script);
  return script.read();
}

} // namespace rind::hosts::demo
