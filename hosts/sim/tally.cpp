// Sums, and the two forms.
#include "hosts/sim/tally.hpp"

#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "messages/json.hpp"

namespace rind::hosts::sim {

namespace {

using nlohmann::json;

constexpr std::size_t name_column_chars = 40;

std::string hex(std::uint64_t n) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(n));
  return text;
}

/// {"a": 1, "b": {"c": 2}} of {"a": 1, "b.c": 2}.
json nested(const kit::counters& counts) {
  auto out = json::object();
  for (const auto& [name, n] : counts) {
    const auto dot = name.find('.');
    if (dot == std::string::npos)
      out[name] = n;
    else
      out[name.substr(0, dot)][name.substr(dot + 1)] = n;
  }
  return out;
}

std::int64_t sum_of(const kit::counters& counts, const std::string& group) {
  std::int64_t sum = 0;
  for (const auto& [name, n] : counts)
    if (name.rfind(group + ".", 0) == 0)
      sum += n;
  return sum;
}

double runs_per_s(const tally& t) {
  return t.seconds > 0 ? static_cast<double>(t.runs) / t.seconds : 0.0;
}

} // namespace

void tally::add(const kit::run_report& r) {
  constexpr std::uint64_t mixer = 1'099'511'628'211ull;
  trace_hash = runs == 0 ? r.trace_hash : trace_hash * mixer ^ r.trace_hash;
  ++runs;
  deliveries += r.deliveries;
  for (const auto& [name, n] : r.counts) {
    total[name] += n;
    runs_with[name] += n > 0;
  }
}

std::string to_json_text(const tally& t) {
  const auto exercised = nested(t.total);
  auto out = json{{"runs", t.runs},
                  {"failures", t.failed.size()},
                  {"failed_seeds", json::array()},
                  {"runs_per_s", runs_per_s(t)},
                  {"deliveries", t.deliveries},
                  {"crashes", sum_of(t.total, "crashes")},
                  {"runs_with", nested(t.runs_with)},
                  {"trace_hash", hex(t.trace_hash)},
                  {"breaches", json::array()}};
  for (const auto* group : {"operations", "steps", "compactions", "rescues", "resumes", "retries",
                            "cancels", "inputs", "ends"})
    out[group] = exercised.value(group, json{});
  out["crashes_by_phase"] = exercised.value("crashes", json{});
  for (const auto& one : t.failed) {
    out["failed_seeds"].push_back(one.seed);
    out["breaches"].push_back({{"seed", one.seed},
                               {"invariant", one.breach.invariant},
                               {"what", one.breach.what},
                               {"line", one.breach.line},
                               {"at_ms", one.breach.at_ms}});
  }
  return dump_json(out) + "\n";
}

std::string to_text(const tally& t) {
  auto out = std::to_string(t.runs) + " runs, " + std::to_string(t.failed.size()) + " failures, " +
             std::to_string(static_cast<std::int64_t>(runs_per_s(t))) + " runs a second, " +
             std::to_string(t.deliveries) + " messages delivered\ntrace " + hex(t.trace_hash) +
             "\n\n";
  for (const auto& [name, n] : t.total) {
    auto line = "  " + name;
    line.resize(std::max(line.size() + 1, name_column_chars), ' ');
    out += line + std::to_string(n) + " in " + std::to_string(t.runs_with.at(name)) + " runs\n";
  }
  return out;
}

} // namespace rind::hosts::sim
