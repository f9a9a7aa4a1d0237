// Runs the comparisons and prints a table; `--results=PATH` also writes it as JSON. Other flags are
// Google Benchmark's. Exit code 1 where a ratio is over its goal.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>

#include <nlohmann/json.hpp>

#include "bench/comparison.hpp"

namespace {

using rind::bench::comparison;

constexpr int repetitions = 5;
constexpr double min_time_s = 0.05;
constexpr double ns_per_s = 1e9;

/// Keeps the best time by item of each benchmark: what disturbs a run only makes it slower.
class best_times final : public benchmark::BenchmarkReporter {
public:
  bool ReportContext(const Context&) override { return true; }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const auto& run : runs) {
      if (run.error_occurred) {
        std::cerr << run.benchmark_name() << ": " << run.error_message << '\n';
        failed_ = true;
        continue;
      }
      const auto rate = run.counters.find("items_per_second");
      if (run.run_type != Run::RT_Iteration || rate == run.counters.end())
        continue;
      auto& best = ns_[run.run_name.function_name];
      const auto ns = ns_per_s / rate->second.value;
      best = best == 0 ? ns : std::min(best, ns);
    }
  }

  double ns_of(const std::string& name) const {
    const auto found = ns_.find(name);
    return found == ns_.end() ? 0 : found->second;
  }
  bool has_failed() const { return failed_; }

private:
  std::map<std::string, double> ns_;
  bool failed_ = false;
};

std::string value_name(const comparison& c) {
  return c.name + " [value]";
}

std::string floor_name(const comparison& c) {
  return c.name + " [floor]";
}

void register_one(const std::string& name, const rind::bench::body& body, const comparison& c) {
  auto* b = benchmark::RegisterBenchmark(name.c_str(), body);
  b->Repetitions(repetitions);
  if (c.waits)
    b->UseRealTime();
  if (c.iterations > 0)
    b->Iterations(c.iterations);
  else
    b->MinTime(min_time_s);
}

std::vector<comparison> all_comparisons() {
  std::vector<comparison> all;
  for (auto group : {rind::bench::context_comparisons(), rind::bench::compaction_comparisons(),
                     rind::bench::codec_comparisons(), rind::bench::journal_comparisons()})
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

/// One row of the table and of the results; null where the comparison was not run.
nlohmann::json row_of(const comparison& c, const best_times& times) {
  const auto value = times.ns_of(value_name(c));
  const auto floor = times.ns_of(floor_name(c));
  if (value <= 0 || floor <= 0)
    return nullptr;
  const auto ratio = value / floor;
  return {{"name", c.name}, {"value", value}, {"floor", floor},          {"ratio", ratio},
          {"goal", c.goal}, {"unit", c.unit}, {"holds", ratio <= c.goal}};
}

void print_row(const nlohmann::json& row) {
  std::printf("%-58s %12.1f %12.1f %-11s %7.2f %6.2f  %s\n",
              row["name"].get_ref<const std::string&>().c_str(), row["value"].get<double>(),
              row["floor"].get<double>(), row["unit"].get_ref<const std::string&>().c_str(),
              row["ratio"].get<double>(), row["goal"].get<double>(),
              row["holds"].get<bool>() ? "holds" : "OVER");
}

bool write_results(const std::string& path, const nlohmann::json& rows) {
  if (const auto folder = std::filesystem::path(path).parent_path(); !folder.empty())
    std::filesystem::create_directories(folder);
  std::ofstream out(path);
  out << rows.dump(2) << '\n';
  return bool(out.flush());
}

} // namespace

int main(int argc, char** argv) {
  std::string results;
  std::vector<char*> arguments{argv[0]};
  std::string interleaved = "--benchmark_enable_random_interleaving=true";
  arguments.push_back(interleaved.data());
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    constexpr std::string_view flag = "--results=";
    if (argument.substr(0, flag.size()) == flag)
      results = argument.substr(flag.size());
    else
      arguments.push_back(argv[i]);
  }
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data()))
    return 2;

  const auto all = all_comparisons();
  for (const auto& c : all) {
    register_one(value_name(c), c.value, c);
    register_one(floor_name(c), c.floor, c);
  }
  best_times times;
  benchmark::RunSpecifiedBenchmarks(&times);

  std::printf("%-58s %12s %12s %-11s %7s %6s\n", "", "value", "floor", "", "ratio", "goal");
  auto rows = nlohmann::json::array();
  bool holds = !times.has_failed();
  for (const auto& c : all) {
    auto row = row_of(c, times);
    if (row.is_null())
      continue;
    print_row(row);
    holds = holds && row["holds"].get<bool>();
    rows.push_back(std::move(row));
  }
  if (!results.empty() && !write_results(results, rows)) {
    std::cerr << "rind_bench: cannot write " << results << '\n';
    return 1;
  }
  return holds ? 0 : 1;
}
