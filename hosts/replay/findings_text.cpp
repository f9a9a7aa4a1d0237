// Findings for programs and for people.
#include <cstdio>

#include <nlohmann/json.hpp>

#include "hosts/replay/checks.hpp"

namespace rind::hosts::replay {

namespace {

using ordered = nlohmann::ordered_json;

/// Digits of an error in the JSON: more say nothing about an estimate.
double rounded(double value) {
  constexpr double steps = 1e6;
  return static_cast<double>(static_cast<std::int64_t>(value * steps + 0.5)) / steps;
}

std::string percent(double part) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f %%", part * 100);
  return text;
}

} // namespace

std::string to_json_text(const findings& f) {
  ordered o;
  o["messages"] = f.messages;
  o["samplings"] = f.samplings;
  o["compactions"] = {{"manual", f.manual},
                      {"auto", f.automatic},
                      {"context_length_error", f.context_length_error}};
  o["rescues"] = f.rescues;
  o["max_view_tokens"] = f.max_view_tokens;
  o["final_view_tokens"] = f.final_view_tokens;
  o["boundary_violations"] = f.boundary_violations;
  o["requests_over_window"] = f.requests_over_window;
  o["budget_error"] = {{"anchored",
                        {{"median", rounded(f.anchored.median)},
                         {"p99", rounded(f.anchored.p99)},
                         {"n", f.anchored.count}}},
                       {"unanchored",
                        {{"median", rounded(f.unanchored.median)},
                         {"max", rounded(f.unanchored.max)},
                         {"n", f.unanchored.count}}}};
  o["journal_messages"] = f.journal_messages;
  o["discarded_messages"] = f.discarded_messages;
  o["skipped_messages"] = f.skipped_messages;
  o["lost_messages"] = f.lost_messages;
  o["failed_turns"] = f.failed_turns;
  return o.dump();
}

std::string to_table(const findings& f) {
  std::string text;
  const auto row = [&](const std::string& name, const std::string& value) {
    text += name + std::string(name.size() < 28 ? 28 - name.size() : 1, ' ') + value + "\n";
  };
  const auto number = [](auto n) { return std::to_string(n); };
  row("messages", number(f.messages) + " recorded, " + number(f.journal_messages) +
                      " in the journal, " + number(f.discarded_messages) + " discarded, " +
                      number(f.skipped_messages) + " skipped");
  row("lost messages", number(f.lost_messages));
  row("failed turns", number(f.failed_turns));
  row("samplings", number(f.samplings));
  row("compactions", number(f.manual) + " manual, " + number(f.automatic) + " automatic, " +
                         number(f.context_length_error) + " after a refusal, " + number(f.rescues) +
                         " rescues");
  row("largest request", number(f.max_view_tokens) + " tokens (estimate)");
  row("view at the end", number(f.final_view_tokens) + " tokens (estimate)");
  row("boundary violations", number(f.boundary_violations));
  row("requests over the window", number(f.requests_over_window));
  row("estimate with an anchor", "off by " + percent(f.anchored.median) + " (median), " +
                                     percent(f.anchored.p99) + " (99th percentile) in " +
                                     number(f.anchored.count) + " samplings");
  row("estimate without", "off by " + percent(f.unanchored.median) + " (median), " +
                              percent(f.unanchored.max) + " (largest) in " +
                              number(f.unanchored.count) + " samplings");
  return text;
}

} // namespace rind::hosts::replay
