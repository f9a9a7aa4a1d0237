// Estimator, projection, message boundary: what each message costs once.
#include "bench/comparison.hpp"
#include "bench/conversation.hpp"
#include "messages/json.hpp"
#include "runtime/context/token_estimator.hpp"

namespace rind::bench {

namespace {

constexpr std::size_t text_bytes = 64 * 1024;
constexpr std::int64_t turns = 500;
constexpr std::int64_t short_turns = 25;
constexpr std::int64_t long_turns = 5'000;
constexpr std::int64_t appended_turns = 200;

void estimate_text(benchmark::State& state) {
  const auto text = mixed_text(text_bytes);
  for (auto _ : state)
    benchmark::DoNotOptimize(context::estimate_text(text));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(text.size() / 1024));
}

void count_text(benchmark::State& state) {
  const auto text = mixed_text(text_bytes);
  for (auto _ : state)
    benchmark::DoNotOptimize(count_characters(text));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(text.size() / 1024));
}

void project(benchmark::State& state) {
  const auto entries = working_session(turns);
  for (auto _ : state) {
    auto p = projection_of(entries);
    benchmark::DoNotOptimize(p.view().tokens);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(entries.size()));
}

void estimate_each(benchmark::State& state) {
  const auto entries = working_session(turns);
  for (auto _ : state) {
    std::int64_t tokens = 0;
    for (const auto& e : entries)
      if (const auto* m = message_of(e.body))
        tokens += context::estimate_message(**m);
    benchmark::DoNotOptimize(tokens);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(entries.size()));
}

/// One more turn of a session that has `before` of them.
body append_turn(std::int64_t before) {
  return [before](benchmark::State& state) {
    auto p = projection_of(working_session(before));
    std::vector<std::vector<entry>> next;
    auto position = p.last_position();
    for (std::int64_t i = 0; i < appended_turns; ++i) {
      next.push_back(next_turn(before + 1 + i, position));
      position = next.back().back().position;
    }
    std::size_t at = 0;
    for (auto _ : state) {
      for (const auto& e : next.at(at))
        if (!p.apply(e))
          state.SkipWithError("a sample entry was refused");
      ++at;
    }
    state.SetItemsProcessed(state.iterations());
  };
}

void check_boundary(benchmark::State& state) {
  const auto messages = messages_of(working_session(turns));
  for (auto _ : state) {
    view::boundary_checker checker;
    for (const auto& m : messages)
      checker.add(*m);
    benchmark::DoNotOptimize(checker.structure_fault());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(messages.size()));
}

void check_utf8(benchmark::State& state) {
  const auto messages = messages_of(working_session(turns));
  for (auto _ : state) {
    bool valid = true;
    for (const auto& m : messages)
      valid = is_valid_utf8(m->content) && valid;
    benchmark::DoNotOptimize(valid);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(messages.size()));
}

} // namespace

std::vector<comparison> context_comparisons() {
  return {
      {"token estimate, against counting characters", "ns/KiB", 8, estimate_text, count_text},
      {"projection, against estimating its messages", "ns/entry", 3, project, estimate_each},
      {"one more turn after 20,000 messages, against after 100", "ns/turn", 1.5,
       append_turn(long_turns), append_turn(short_turns), appended_turns},
      {"message boundary, against checking UTF-8", "ns/message", 2, check_boundary, check_utf8},
  };
}

} // namespace rind::bench
