// The embedded model: deterministic, bounded, honest about its window, and able to recall what it
// is shown.
#include <algorithm>
#include <functional>
#include <future>

#include <gtest/gtest.h>

#include "runtime/provider/embedded_model.hpp"

namespace rind::provider {
namespace {

message_ptr make(message_role role, std::string content, user_origin origin = user_origin::prompt) {
  message m;
  m.role = role;
  m.content = std::move(content);
  m.origin = origin;
  return std::make_shared<const message>(std::move(m));
}

message_ptr user(std::string text) {
  return make(message_role::user, std::move(text));
}

message_ptr assistant(std::string text) {
  return make(message_role::assistant, std::move(text));
}

message_ptr calling(std::string name) {
  message m;
  m.role = message_role::assistant;
  m.tool_calls = {{"c1", std::move(name), "{}"}};
  return std::make_shared<const message>(std::move(m));
}

message_ptr result_of(std::string name, std::string text, bool is_error = false) {
  message m;
  m.role = message_role::tool;
  m.name = std::move(name);
  m.tool_call_id = "c1";
  m.content = std::move(text);
  m.is_error = is_error;
  return std::make_shared<const message>(std::move(m));
}

sampling_request request_of(std::vector<message_ptr> messages) {
  sampling_request r;
  r.request_id = "r1";
  r.model = "embedded";
  r.messages = std::move(messages);
  r.tools = std::make_shared<const std::vector<tool_definition>>(
      std::vector<tool_definition>{{"clock", "tells the time", "{}"}, {"add", "adds", "{}"}});
  r.output_limit_tokens = 4'096;
  return r;
}

struct heard {
  std::vector<std::string> deltas;
  std::vector<sampling_outcome> ends;

  std::string text() const {
    std::string all;
    for (const auto& d : deltas)
      all += d;
    return all;
  }
  const sampling_answer& answer() const { return std::get<sampling_answer>(ends.at(0)); }
  const provider_error& error() const { return std::get<provider_error>(ends.at(0)); }
};

heard ask(embedded_model& model, sampling_request request) {
  heard h;
  model.start(std::move(request), {[&](sampling_delta d) {
                                     EXPECT_TRUE(h.ends.empty());
                                     h.deltas.push_back(std::move(d.text));
                                   },
                                   [&](sampling_outcome o) { h.ends.push_back(std::move(o)); }});
  EXPECT_EQ(h.ends.size(), 1u);
  return h;
}

heard ask(sampling_request request) {
  embedded_model model;
  return ask(model, std::move(request));
}

TEST(embedded_model, the_same_request_gets_the_same_streamed_answer) {
  const auto request =
      request_of({make(message_role::system, "Be kind."), user("Write 300 words about rivers.")});
  const auto first = ask(request);
  const auto second = ask(request);
  EXPECT_EQ(first.text(), second.text());
  EXPECT_EQ(first.text(), first.answer().msg->content);
  EXPECT_GT(first.deltas.size(), 1u);
  EXPECT_LE(first.deltas.size(), embedded_deltas_max);
  const auto text = first.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), ' '), 299);
  EXPECT_EQ(first.answer().finish, finish_reason::stop);
}

TEST(embedded_model, recalls_what_the_person_said) {
  struct row {
    const char* question;
    const char* expected;
  };
  const std::vector<message_ptr> talk{user("My cat is called Mimir. The deadline is on Friday."),
                                      assistant("Noted."), user("What is the weather like?"),
                                      assistant("I do not know.")};
  for (const auto& [question, expected] :
       std::vector<row>{{"What did I say about the deadlines?", "The deadline is on Friday."},
                        {"what's my cat called?", "My cat is called Mimir."},
                        {"Do you remember the cat?", "Mimir"},
                        {"What did I say about trombones?", "nothing about trombones"}}) {
    auto messages = talk;
    messages.push_back(user(question));
    const auto h = ask(request_of(std::move(messages)));
    EXPECT_NE(h.text().find(expected), std::string::npos) << question << " -> " << h.text();
  }
}

TEST(embedded_model, calls_tools_that_the_prompt_names) {
  struct row {
    const char* prompt;
    std::vector<std::pair<std::string, std::string>> calls;
  };
  const std::vector<row> rows{
      {R"(use the tool add with {"a":1,"note":"} \" {"} please)",
       {{"add", R"({"a":1,"note":"} \" {"})"}}},
      {R"(Call clock)", {{"clock", "{}"}}},
      {R"(call `add` {"a":2} and call clock.)", {{"add", R"({"a":2})"}, {"clock", "{}"}}},
      {R"(please use cutlery, then use clock)", {{"clock", "{}"}}},
      {"use a fork", {}},
  };
  for (const auto& r : rows) {
    const auto h = ask(request_of({user(r.prompt)}));
    const auto& calls = h.answer().msg->tool_calls;
    ASSERT_EQ(calls.size(), r.calls.size()) << r.prompt;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      EXPECT_EQ(calls[i].name, r.calls[i].first);
      EXPECT_EQ(calls[i].arguments, r.calls[i].second);
      EXPECT_FALSE(calls[i].id.empty());
    }
    EXPECT_EQ(h.answer().finish, r.calls.empty() ? finish_reason::stop : finish_reason::tool_calls);
  }
}

TEST(embedded_model, runs_steps_one_after_the_other_and_reports_the_results) {
  const auto prompt = user(R"(use the tool add with {"a":1}, then use the tool clock)");
  const auto second = ask(request_of({prompt, calling("add"), result_of("add", "3")}));
  ASSERT_EQ(second.answer().msg->tool_calls.size(), 1u);
  EXPECT_EQ(second.answer().msg->tool_calls[0].name, "clock");
  const auto last = ask(request_of({prompt, calling("add"), result_of("add", "3"), calling("clock"),
                                    result_of("clock", "noon", true)}));
  EXPECT_TRUE(last.answer().msg->tool_calls.empty());
  EXPECT_EQ(last.text(), "clock failed: noon");
}

TEST(embedded_model, says_which_tools_there_are_where_one_is_unknown) {
  const auto h = ask(request_of({user("use the tool hammer with {}")}));
  EXPECT_NE(h.text().find("no tool called hammer"), std::string::npos);
  EXPECT_NE(h.text().find("add"), std::string::npos);
}

TEST(embedded_model, S29_refuses_above_its_window_and_states_both_numbers) {
  embedded_model model{{100}};
  auto request = request_of({user(std::string(400, 'x'))});
  request.tools = nullptr;
  const auto refused = ask(model, request);
  EXPECT_EQ(refused.error().error_class, provider_error_class::context_length);
  EXPECT_EQ(refused.error().limit_tokens, 100);
  EXPECT_EQ(refused.error().requested_tokens, 104); // (400 + 16) / 4
  EXPECT_TRUE(refused.deltas.empty());
  request.messages = {user(std::string(384, 'x'))};
  const auto full = ask(model, request);
  EXPECT_EQ(full.answer().usage.input_tokens, 100);
  EXPECT_EQ(full.answer().finish, finish_reason::length);
}

TEST(embedded_model, S33_cuts_at_the_output_limit) {
  auto request = request_of({user("write 500 words about rivers")});
  request.output_limit_tokens = 10;
  const auto h = ask(request);
  EXPECT_EQ(h.answer().finish, finish_reason::length);
  EXPECT_LE(h.text().size(), 40u);
  EXPECT_EQ(h.answer().usage.output_tokens, 10);
}

TEST(embedded_model, S20_a_summary_keeps_constraints_and_keys_through_two_compactions) {
  std::vector<message_ptr> talk{
      user("Build the parser. Never touch the lexer. The release key is RK-4471-A."),
      assistant("I begin with the grammar and go on from there, step by step, as you wish.")};
  for (int i = 0; i < 20; ++i) {
    talk.push_back(
        user("Step " + std::to_string(i) +
             " of the work: look at the next file and say something about it at length"));
    talk.push_back(assistant("I looked at it, and it is a long file that says many things about "
                             "which there is little to say."));
  }
  talk.push_back(user("Summarise the conversation."));
  auto request = request_of(talk);
  request.kind = sampling_kind::compact;
  const auto first = ask(request);
  EXPECT_EQ(first.answer().finish, finish_reason::stop);
  EXPECT_LT(embedded_prompt_tokens(request_of({assistant(first.text())})),
            embedded_prompt_tokens(request) / 2);

  std::vector<message_ptr> later{
      make(message_role::user, "This conversation goes on.", user_origin::continuation),
      assistant("Handoff\n" + first.text())};
  for (int i = 0; i < 10; ++i) {
    later.push_back(user(
        "Once more, tell me about the number of things in that other file, in many words please"));
    later.push_back(assistant(
        "There are many things in it, and I could go on about them for quite some time."));
  }
  later.push_back(user("Summarise the conversation."));
  request.messages = later;
  const auto second = ask(request);
  for (const auto* kept : {"Never touch the lexer.", "RK-4471-A", "Build the parser"})
    EXPECT_NE(second.text().find(kept), std::string::npos) << kept << "\n" << second.text();

  const auto recalled = ask(
      request_of({make(message_role::user, "This conversation goes on.", user_origin::continuation),
                  assistant(second.text()), user("What did I say about the release key?")}));
  EXPECT_NE(recalled.text().find("RK-4471-A"), std::string::npos) << recalled.text();
}

TEST(embedded_model, S20_reads_a_labelled_transcript) {
  std::string transcript = "[transcript]\n[earlier handoff]\n[Handoff: a generated record.]\n\n"
                           "## Constraints\n- Never touch the lexer.\n## Pending\n- old work\n"
                           "[user]\nThe port is 8443.\n[assistant]\nFine.\n[call] clock {}\n"
                           "[result of clock]\nnoon KEY-77-B\n[result of add, an error]\nbroken\n";
  for (int i = 0; i < 20; ++i)
    transcript += "[assistant]\nI say something long and of no great weight here.\n";
  auto request = request_of({make(message_role::system, "You must write the handoff."),
                             user(transcript + "[end of the transcript]\nWrite the handoff now.")});
  request.kind = sampling_kind::compact;
  const auto text = ask(request).text();
  for (const auto* kept :
       {"Never touch the lexer.", "The port is 8443.", "clock -> noon", "add failed: broken"})
    EXPECT_NE(text.find(kept), std::string::npos) << kept << "\n" << text;
  for (const auto* dropped : {"old work", "[", "Write the handoff", "You must"})
    EXPECT_EQ(text.find(dropped), std::string::npos) << dropped << "\n" << text;
}

TEST(embedded_model, S20_a_summary_fits_its_output_limit) {
  std::vector<message_ptr> talk;
  for (int i = 0; i < 500; ++i)
    talk.push_back(user("Remember: rule number " + std::to_string(i) +
                        " must hold in every case and for everyone, always."));
  talk.push_back(user("Summarise."));
  auto request = request_of(talk);
  request.kind = sampling_kind::compact;
  request.output_limit_tokens = 200;
  const auto h = ask(request);
  EXPECT_EQ(h.answer().finish, finish_reason::stop);
  EXPECT_LE(h.text().size(), 800u);
  EXPECT_NE(h.text().find("rule number 499"), std::string::npos);
}

TEST(embedded_model, S4_cancel_ends_the_stream_once) {
  embedded_model model;
  auto request = request_of({user("write 500 words about rivers")});
  int deltas = 0;
  std::vector<sampling_outcome> ends;
  model.start(request, {[&](sampling_delta) {
                          if (++deltas == 3)
                            model.cancel("r1");
                        },
                        [&](sampling_outcome o) { ends.push_back(std::move(o)); }});
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<sampling_cancelled>(ends[0]));
  EXPECT_EQ(deltas, 3);
  model.cancel("r1"); // unknown by now
  EXPECT_FALSE(ask(model, request).deltas.empty());
}

/// Hears an answer that comes on another thread.
class listener {
public:
  explicit listener(std::function<void(std::size_t)> on_delta = {})
      : on_delta_(std::move(on_delta)) {}
  sampling_sink sink() {
    return {[this](sampling_delta d) {
              heard_.deltas.push_back(std::move(d.text));
              if (on_delta_)
                on_delta_(heard_.deltas.size());
            },
            [this](sampling_outcome o) {
              heard_.ends.push_back(std::move(o));
              ended_.set_value();
            }};
  }
  /// What was heard, once it is over.
  const heard& all() {
    over_.wait();
    return heard_;
  }

private:
  std::function<void(std::size_t)> on_delta_;
  heard heard_;
  std::promise<void> ended_;
  std::shared_future<void> over_ = ended_.get_future();
};

constexpr std::int64_t never_ms = 3'600'000;

TEST(embedded_model, with_a_pause_the_answer_is_the_same_and_its_end_comes_last) {
  const auto request = request_of({user("write 500 words about rivers")});
  const auto inline_answer = ask(request);
  embedded_model model{{32'000, 1}};
  listener first;
  listener second;
  auto other = request;
  other.request_id = "r2";
  model.start(request, first.sink());
  model.start(other, second.sink());
  EXPECT_EQ(first.all().deltas, inline_answer.deltas);
  EXPECT_EQ(second.all().text(), first.all().text());
  EXPECT_EQ(first.all().answer().usage.output_tokens, inline_answer.answer().usage.output_tokens);
}

TEST(embedded_model, S4_with_a_pause_start_does_not_block_and_cancel_ends_the_pause) {
  embedded_model model{{32'000, never_ms}};
  listener one;
  model.start(request_of({user("write 500 words about rivers")}), one.sink());
  model.cancel("r2"); // unknown
  model.cancel("r1");
  EXPECT_TRUE(std::holds_alternative<sampling_cancelled>(one.all().ends.at(0)));
  EXPECT_TRUE(one.all().deltas.empty());
}

TEST(embedded_model, S4_with_a_pause_a_sink_may_cancel) {
  embedded_model model{{32'000, 1}};
  listener one([&](std::size_t deltas) {
    if (deltas == 3)
      model.cancel("r1");
  });
  model.start(request_of({user("write 500 words about rivers")}), one.sink());
  const auto& all = one.all();
  EXPECT_TRUE(std::holds_alternative<sampling_cancelled>(all.ends.at(0)));
  EXPECT_EQ(all.deltas.size(), 3u);
}

TEST(embedded_model, what_streams_when_the_model_goes_is_cancelled) {
  listener one;
  {
    embedded_model model{{32'000, never_ms}};
    model.start(request_of({user("hello")}), one.sink());
  }
  EXPECT_TRUE(std::holds_alternative<sampling_cancelled>(one.all().ends.at(0)));
}

TEST(embedded_model, cuts_between_characters) {
  std::string fact;
  for (int i = 0; i < 400; ++i)
    fact += "日本語";
  const auto h = ask(request_of({user(fact)}));
  for (const auto& delta : h.deltas)
    EXPECT_NE(static_cast<unsigned char>(delta.front()) & 0xC0, 0x80);
}

} // namespace
} // namespace rind::provider
