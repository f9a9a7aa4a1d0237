// Responses on the wire, against their golden lines.
#include <gtest/gtest.h>

#include "messages/json.hpp"
#include "runtime/protocol/replay.hpp"
#include "runtime/protocol/responses.hpp"
#include "tests/unit/protocol/samples.hpp"

namespace rind::protocol {

namespace {

using nlohmann::json;
using namespace samples;

std::string text_of(const response_text& response, std::int64_t sequence = 0) {
  return response.head + (response.numbered ? std::to_string(sequence) : "") + response.tail;
}

turn_state running() {
  return {"t-1", operation_kind::compact, turn_progress::running, 2, 1, 0};
}

failure with_numbers() {
  failure_details numbers;
  numbers.estimated_tokens = 70'000;
  numbers.limit_tokens = 60'000;
  return make_failure(error_code::compact_input_too_large, "too large", numbers);
}

std::vector<listed_session> two_sessions() {
  journal::session_summary first{"s-1", "Fix it", "m",   new_year_ms,          new_year_ms + 1,
                                 12,    1,        "t-1", operation_kind::turn, 20};
  journal::session_summary second{"s-2", "", "m", 0, 0, 0, 0, "", operation_kind::turn, 1};
  return {{first, state_in_journal(first)}, {second, state_in_journal(second)}};
}

context_report report() {
  context_report out;
  out.session_id = "s-1";
  out.stats = stats();
  out.decisions = {{new_year_ms, "t-1", "compact", "over the threshold", stats()}};
  out.boundaries = {std::make_shared<const compaction_record>(record())};
  return out;
}

replay_page page_of(replay_mode mode) {
  calls::session_replay call;
  call.session_id = "s-1";
  call.mode = mode;
  return replay_page(call);
}

/// One response of each shape, in the order of the golden file.
std::vector<response_text> every_response() {
  const session_info fresh{"s-1", "m", std::nullopt, "", std::nullopt};
  const session_info used{"s-1", "m", token_usage{100, 5, std::nullopt, 0}, "…and done.",
                          running()};
  const live_turn streaming{"t-1", operation_kind::turn, 2, "so f", "hm", {{"c1", "read"}}};
  return {
      result_frame(1, initialize_result(used, "0.1.0")),
      result_frame("a", ok_result()),
      result_frame(3, session_result(fresh)),
      result_frame(4, session_result(used)),
      result_frame(5, list_result(two_sessions(), "s-1", "k")),
      result_frame(6, list_result({}, "", "")),
      result_frame(7, subscribed_result({"s-1", "s-2"})),
      result_frame(8, prompt_result({"s-1", "t-1", entries::turn_outcome::failed})),
      result_frame(9, deleted_result("s-2")),
      result_frame(10, models_result({"m", "n"}, "m", "n")),
      result_frame(11, model_set_result("n")),
      result_frame(12, accepted_result({"in-1", input_mode::steering, 2})),
      result_frame(13, returned_result({"in-1", "wait", input_mode::follow_up, 0})),
      result_frame(14, rind::to_json(record())),
      result_frame(15, text_result("done")),
      result_frame(16, inspect_result(report())),
      result_frame(17, background_result()),
      result_frame(18, goal_result()),
      page_of(replay_mode::messages).answer(19, true, running(), streaming),
      page_of(replay_mode::events).answer(20, false, std::nullopt, std::nullopt),
      error_frame(nullptr, make_failure(error_code::parse_error, "the line is no JSON")),
      error_frame(22, make_failure(error_code::turn_active, "busy")),
      error_frame(23, with_numbers()),
      error_frame(24, as_response_error(make_failure(error_code::persistence_failed, "disk full"))),
  };
}

/// Feeds `entries` to pages until all are told; the answers' items, page by page.
std::vector<std::vector<json>> read_in_pages(const std::vector<entry>& entries,
                                             calls::session_replay call, std::size_t limit_bytes,
                                             const std::optional<live_turn>& live) {
  std::vector<std::vector<json>> pages;
  for (bool more = true; more && pages.size() < 100;) {
    replay_page page(call, limit_bytes);
    bool took_all = true;
    for (const auto& e : entries)
      if (e.position > call.after_cursor && took_all)
        took_all = page.take(e);
    const std::string text = text_of(page.answer(1, took_all, std::nullopt, live), 42);
    EXPECT_LE(text.size(), std::max(limit_bytes, std::size_t{5'000}));
    const json result = json::parse(text).at("result");
    pages.emplace_back(result.at(to_string(call.mode)).get<std::vector<json>>());
    more = result.at("has_more");
    EXPECT_EQ(result.at("as_of_sequence").is_null(), more);
    EXPECT_EQ(result.at("live_turn").is_null(), more || !live);
    call.after_cursor = result.at("cursor");
  }
  return pages;
}

std::vector<entry> journal_of(std::size_t messages, std::size_t text_bytes) {
  std::vector<entry> out;
  for (std::size_t i = 0; i < messages; ++i) {
    const auto position = static_cast<std::int64_t>(2 * i) + 1;
    out.push_back(
        {position, "e" + std::to_string(position), new_year_ms, "t-1",
         entries::assistant_message{assistant(std::string(text_bytes, 'x')), {}, 0, 0, 0, 1}});
    out.push_back({position + 1, "e" + std::to_string(position + 1), new_year_ms, "t-1",
                   entries::usage_recorded{}});
  }
  return out;
}

} // namespace

TEST(responses, every_response_is_as_its_golden_line) {
  const auto golden = golden_lines("responses.jsonl");
  const auto all = every_response();
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(text_of(all[i], 42), (i < golden.size() ? golden[i] : "") + "\n");
  EXPECT_EQ(golden.size(), all.size());
}

TEST(responses, S39_only_a_failing_journal_is_told_as_unavailable) {
  const auto told = as_response_error(make_failure(error_code::persistence_failed, "disk full"));
  EXPECT_EQ(told.code, error_code::unavailable);
  EXPECT_NE(told.message.find("persistence_failed"), std::string::npos);
  EXPECT_EQ(as_response_error(with_numbers()), with_numbers());
}

TEST(replay_page, S37_pages_tell_each_item_once_and_the_last_one_is_known) {
  calls::session_replay call;
  call.session_id = "s-1";
  for (const auto mode : {replay_mode::messages, replay_mode::events})
    for (const std::int64_t limit : {1, 3, 5, 6, 1'000}) {
      call.mode = mode;
      call.limit = limit;
      std::vector<std::int64_t> cursors;
      const auto pages =
          read_in_pages(journal_of(6, 10), call, replay_answer_limit_bytes, std::nullopt);
      for (const auto& page : pages) {
        EXPECT_LE(page.size(), static_cast<std::size_t>(limit));
        for (const auto& item : page)
          cursors.push_back(item.at("cursor"));
      }
      EXPECT_EQ(cursors, (std::vector<std::int64_t>{1, 3, 5, 7, 9, 11}));
      EXPECT_EQ(pages.size(), static_cast<std::size_t>((6 + limit - 1) / limit))
          << "no empty page at the end";
    }
}

TEST(replay_page, an_answer_is_bounded_and_an_oversized_item_goes_alone) {
  calls::session_replay call;
  call.session_id = "s-1";
  const auto pages = read_in_pages(journal_of(4, 2'000), call, 7'000, std::nullopt);
  ASSERT_EQ(pages.size(), 2U);
  EXPECT_EQ(pages[0].size(), 2U);
  const auto alone = read_in_pages(journal_of(3, 4'500), call, 4'000, std::nullopt);
  EXPECT_EQ(alone.size(), 3U);
}

TEST(replay_page, a_live_turn_that_does_not_fit_goes_with_a_page_of_its_own) {
  calls::session_replay call;
  call.session_id = "s-1";
  live_turn live;
  live.text = std::string(3'000, 'y');
  const auto pages = read_in_pages(journal_of(1, 2'000), call, 6'000, live);
  ASSERT_EQ(pages.size(), 2U);
  EXPECT_TRUE(pages[1].empty());
}

TEST(replay_page, the_cursor_passes_what_the_mode_tells_nothing_of) {
  auto page = page_of(replay_mode::messages);
  EXPECT_TRUE(page.take({7, "e7", 0, "", entries::model_set{"m"}}));
  EXPECT_EQ(page.cursor(), 7);
}

} // namespace rind::protocol
