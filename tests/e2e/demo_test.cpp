// `rind demo` as its user runs it: one JSON object, and a good end only if all of it holds.
#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/kit/program.hpp"
#include "tests/kit/temp_folder.hpp"

namespace rind {
namespace {

using nlohmann::json;

constexpr std::int64_t demo_deadline_ms = 200'000;

std::size_t entries_in(const std::filesystem::path& folder) {
  const std::filesystem::directory_iterator files(folder);
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

/// Everything that the program prints until it closes its output.
std::string all_output(kit::program& program) {
  std::string text;
  while (const auto line = program.pipes().next_line(demo_deadline_ms))
    text += *line + "\n";
  return text;
}

TEST(demo, S3_S5_S8_S17_S35_S37_eight_sessions_come_through_every_entrance_and_a_killed_host) {
  const kit::temp_folder folder;
  kit::program_options options;
  options.arguments = {"demo", "--sessions", "8", "--json"};
  options.variables = {{"TMPDIR", folder.file(".")}};
  kit::program demo(RIND_PROGRAM, options);
  const auto text = all_output(demo);
  const auto end = demo.wait();
  ASSERT_TRUE(end.is_in_time);
  EXPECT_EQ(end.exit_code, 0);
  const auto report = json::parse(text, nullptr, false);
  ASSERT_TRUE(report.is_object()) << text;
  SCOPED_TRACE(report.dump(2));

  EXPECT_EQ(report.at("sessions"), 8);
  for (const auto* reason : {"manual", "auto", "context_length_error"})
    EXPECT_GE(report.at("compactions").at(reason), 8) << reason;
  EXPECT_GE(report.at("rescues"), 1);
  EXPECT_GE(report.at("retries"), 1);
  EXPECT_GE(report.at("turns"), 8 * 8);
  EXPECT_GT(report.at("samplings"), report.at("turns"));
  EXPECT_EQ(report.at("boundary_violations"), 0);
  EXPECT_EQ(report.at("terminal_events_missing_or_double"), 0);
  EXPECT_EQ(report.at("restarts"), 1);
  EXPECT_GT(report.at("turns_per_s"), 0);
  EXPECT_GT(report.at("wall_s"), 0);

  const std::int64_t accepted = report.at("inputs_accepted");
  const std::int64_t delivered = report.at("inputs_delivered");
  const std::int64_t returned = report.at("inputs_returned");
  const std::int64_t dropped = report.at("inputs_dropped_by_cancel");
  EXPECT_EQ(accepted, delivered + returned + dropped);
  EXPECT_GE(delivered, 8);
  EXPECT_GE(returned, 8);
  EXPECT_GE(dropped, 8);
  EXPECT_EQ(entries_in(folder.file(".")), 0U) << "the demo left files behind";
}

TEST(demo, an_interrupt_ends_it_and_leaves_nothing_behind) {
  const kit::temp_folder folder;
  kit::program_options options;
  options.arguments = {"demo", "--sessions", "4"};
  options.variables = {{"TMPDIR", folder.file(".")}};
  kit::program demo(RIND_PROGRAM, options);
  // "start", then "first half": the host and its sessions run.
  for (int line = 0; line < 2; ++line)
    ASSERT_TRUE(demo.pipes().next_line(demo_deadline_ms)) << "no line of progress";
  demo.signal(SIGINT);
  const auto end = demo.wait(demo_deadline_ms);
  EXPECT_TRUE(end.is_in_time);
  EXPECT_EQ(end.exit_code, 128 + SIGINT);
  EXPECT_EQ(entries_in(folder.file(".")), 0U) << "the demo left files behind";
}

} // namespace
} // namespace rind
