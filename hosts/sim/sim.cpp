// Seeds, failures and what is printed of them.
#include "hosts/sim/sim.hpp"

#include <charconv>
#include <chrono>
#include <fstream>
#include <iostream>
#include <optional>

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "messages/json.hpp"
#include "runtime/canary/canary.hpp"
#include "tests/kit/scenario/minimize.hpp"
#include "tests/kit/scenario/player.hpp"

namespace rind::hosts::sim {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t timeline_shown_max = 60;

struct seed_range {
  std::uint64_t first = 1;
  std::uint64_t last = 1;
};

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t n = 0;
  const auto end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, n);
  if (error != std::errc{} || stop != end)
    return std::nullopt;
  return n;
}

std::optional<seed_range> range_in(const std::string& text) {
  const auto dots = text.find("..");
  const auto first = number_in(std::string_view{text}.substr(0, dots));
  const auto last =
      dots == std::string::npos ? first : number_in(std::string_view{text}.substr(dots + 2));
  if (!first || !last || *last < *first || *last - *first >= seeds_max)
    return std::nullopt;
  return seed_range{*first, *last};
}

int refuse(const std::string& what) {
  std::cerr << "rind sim: error: " << what << "\n";
  return 2;
}

class stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

std::string hex(std::uint64_t n) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(n));
  return text;
}

/// What all runs of a command came to.
struct tally {
  std::uint64_t runs = 0;
  std::vector<std::uint64_t> failed_seeds;
  std::vector<kit::breach> breaches;
  kit::counters total;     // by name, over all runs
  kit::counters runs_with; // runs in which it happened at least once
  std::int64_t deliveries = 0;
  std::uint64_t trace_hash = 0; // of one run: its own; of several: of theirs, in order
  double seconds = 0;

  void add(const kit::run_report& r) {
    constexpr std::uint64_t mixer = 1'099'511'628'211ull;
    trace_hash = runs == 0 ? r.trace_hash : trace_hash * mixer ^ r.trace_hash;
    ++runs;
    deliveries += r.deliveries;
    for (const auto& [name, n] : r.counts) {
      total[name] += n;
      runs_with[name] += n > 0;
    }
  }
};

/// {"a": 1, "b": {"c": 2}} of {"a": 1, "b.c": 2}.
ordered_json nested(const kit::counters& counts) {
  ordered_json out;
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

void print_json(const tally& t) {
  auto exercised = nested(t.total);
  ordered_json out;
  out["runs"] = t.runs;
  out["failures"] = t.failed_seeds.size();
  out["failed_seeds"] = t.failed_seeds;
  out["runs_per_s"] = t.seconds > 0 ? static_cast<double>(t.runs) / t.seconds : 0.0;
  out["operations"] = exercised["operations"];
  out["steps"] = exercised["steps"];
  out["deliveries"] = t.deliveries;
  out["compactions"] = exercised["compactions"];
  out["rescues"] = exercised["rescues"];
  out["resumes"] = exercised["resumes"];
  out["retries"] = exercised["retries"];
  out["crashes"] = sum_of(t.total, "crashes");
  out["crashes_by_phase"] = exercised["crashes"];
  out["cancels"] = exercised["cancels"];
  out["inputs"] = exercised["inputs"];
  out["ends"] = exercised["ends"];
  out["runs_with"] = nested(t.runs_with);
  out["trace_hash"] = hex(t.trace_hash);
  for (std::size_t i = 0; i < t.breaches.size(); ++i)
    out["breaches"].push_back({{"seed", t.failed_seeds[i]},
                               {"invariant", t.breaches[i].invariant},
                               {"what", t.breaches[i].what}});
  std::cout << dump_json(nlohmann::json(out)) << "\n";
}

void print_table(const tally& t) {
  std::cout << t.runs << " runs, " << t.failed_seeds.size() << " failures, "
            << static_cast<std::int64_t>(static_cast<double>(t.runs) / std::max(t.seconds, 1e-9))
            << " runs a second, " << t.deliveries << " messages delivered\n"
            << "trace " << hex(t.trace_hash) << "\n\n";
  for (const auto& [name, n] : t.total) {
    std::string line = "  " + name;
    line.resize(40, ' ');
    std::cout << line << n << " in " << t.runs_with.at(name) << " runs\n";
  }
}

class simulation {
public:
  explicit simulation(const sim_options& o) : options_(o) {}

  int run_seeds(seed_range range) {
    stopwatch watch;
    for (auto seed = range.first;; ++seed) {
      auto report = kit::play(drawn(seed), {is_single(range), {}});
      take(seed, drawn(seed), std::move(report), is_single(range));
      if (seed == range.last || tally_.failed_seeds.size() >= failures_max)
        break;
    }
    tally_.seconds = watch.seconds();
    return finish();
  }

  int run_scenario(const kit::scenario& s) {
    stopwatch watch;
    take(s.world.seed, s, kit::play(s, {options_.timeline, {}}), true);
    tally_.seconds = watch.seconds();
    return finish();
  }

  int run_canaries() {
    ordered_json found = ordered_json::array();
    bool all_found = true;
    for (const auto& c : canary::all()) {
      canary::plant(c.which);
      const auto row = find(c);
      all_found = all_found && row.at("found").get<bool>();
      if (!options_.json)
        std::cout << canary_line(row) << std::endl;
      found.push_back(row);
    }
    canary::plant(canary::id::none);
    if (options_.json)
      std::cout << dump_json(nlohmann::json{{"canaries", found}}) << "\n";
    return all_found ? 0 : 1;
  }

private:
  static bool is_single(seed_range r) { return r.first == r.last; }

  kit::scenario drawn(std::uint64_t seed) const {
    auto d = options_.draw;
    d.seed = seed;
    return kit::draw(d);
  }

  void take(std::uint64_t seed, const kit::scenario& s, kit::run_report report, bool single) {
    tally_.add(report);
    if (options_.timeline && single && !options_.json)
      print_timeline(report.timeline);
    if (!report.failure)
      return;
    tally_.failed_seeds.push_back(seed);
    tally_.breaches.push_back(*report.failure);
    auto& out = options_.json ? std::cerr : std::cout;
    out << "seed " << seed << ": " << report.failure->invariant << ": " << report.failure->what
        << "\n";
    if (options_.minimize)
      show_smallest(seed, s, *report.failure, out);
  }

  static void print_timeline(const std::vector<std::string>& lines) {
    for (const auto& l : lines)
      std::cout << l << "\n";
  }

  void show_smallest(std::uint64_t seed, const kit::scenario& s, const kit::breach& broken,
                     std::ostream& out) const {
    const auto smallest = kit::minimize(s, [&](const kit::scenario& candidate) {
      const auto r = kit::play(candidate);
      return r.failure && r.failure->invariant == broken.invariant;
    });
    const auto path = options_.failures_folder + "/sim-failure-" + std::to_string(seed) + ".jsonl";
    std::ofstream file{path};
    file << kit::to_json_lines(smallest);
    file.close();
    const auto timeline = kit::play(smallest, {true, {}}).timeline;
    const auto skipped =
        timeline.size() > timeline_shown_max ? timeline.size() - timeline_shown_max : 0;
    if (skipped > 0)
      out << "  … " << skipped << " lines before\n";
    for (auto i = skipped; i < timeline.size(); ++i)
      out << "  " << timeline[i] << "\n";
    out << (file ? "  replays it: rind sim --scenario " + path
                 : "  " + path + " could not be written")
        << "\n";
  }

  int finish() const {
    if (options_.json)
      print_json(tally_);
    else
      print_table(tally_);
    return tally_.failed_seeds.empty() ? 0 : 1;
  }

  ordered_json find(const canary::description& c) const {
    ordered_json row;
    row["id"] = c.name;
    row["found"] = false;
    for (std::uint64_t seed = 1; seed <= canary_seeds_max; ++seed) {
      const auto r = kit::play(drawn(seed));
      row["seeds"] = seed;
      if (!r.failure || fails_anyway(seed, c))
        continue;
      row["found"] = true;
      row["invariant"] = r.failure->invariant;
      row["what"] = r.failure->what;
      break;
    }
    return row;
  }

  /// A seed that fails without the bug proves nothing of it.
  bool fails_anyway(std::uint64_t seed, const canary::description& c) const {
    canary::plant(canary::id::none);
    const auto clean = kit::play(drawn(seed));
    canary::plant(c.which);
    return clean.failure.has_value();
  }

  static std::string canary_line(const ordered_json& row) {
    auto line = row.at("id").get<std::string>();
    line.resize(34, ' ');
    if (!row.at("found").get<bool>())
      return line + "NOT FOUND in " + std::to_string(canary_seeds_max) + " seeds";
    return line + std::to_string(row.at("seeds").get<std::uint64_t>()) + " seeds  " +
           row.at("invariant").get<std::string>() + ": " + row.at("what").get<std::string>();
  }

  const sim_options& options_;
  tally tally_;
};

} // namespace

int run_sim(const sim_options& options) {
  const auto range = range_in(options.seeds);
  if (!range)
    return refuse("--seeds is A..B or A, at most " + std::to_string(seeds_max) +
                  " of them, not \"" + options.seeds + "\"");
  if (options.canaries && !canary::are_built_in())
    return refuse(
        "this program holds no planted bugs; `make canaries` builds and runs one that does");
  // What a run provokes on purpose is no news to who started it.
  spdlog::set_level(spdlog::level::off);
  simulation s{options};
  if (options.canaries)
    return s.run_canaries();
  if (options.scenario_file.empty())
    return s.run_seeds(*range);
  std::ifstream file{options.scenario_file};
  if (!file)
    return refuse(options.scenario_file + " cannot be read");
  const auto read = kit::read_scenario(file);
  if (!read)
    return refuse(options.scenario_file + ": " + read.error().message);
  return s.run_scenario(*read);
}

} // namespace rind::hosts::sim
