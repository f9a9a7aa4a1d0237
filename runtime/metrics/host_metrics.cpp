// The families, and what of an entry or an event counts in which.
#include "runtime/metrics/host_metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "messages/json.hpp"

namespace rind::metrics {

namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

Family<Counter>& counters(prometheus::Registry& in, const char* name, const char* help) {
  return BuildCounter().Name(name).Help(help).Register(in);
}

Family<Gauge>& gauges(prometheus::Registry& in, const char* name, const char* help) {
  return BuildGauge().Name(name).Help(help).Register(in);
}

Histogram& histogram(prometheus::Registry& in, const char* name, const char* help,
                     const Histogram::BucketBoundaries& limits) {
  return BuildHistogram().Name(name).Help(help).Register(in).Add({}, limits);
}

} // namespace

struct host_metrics::families {
  prometheus::Registry all;
  Family<Counter>& started =
      counters(all, "rind_operations_started_total", "Operations that began or were resumed");
  Family<Counter>& ended =
      counters(all, "rind_operations_ended_total", "Operations that came to their end");
  Family<Counter>& inputs = counters(all, "rind_inputs_total", "Steering and follow-up inputs");
  Family<Counter>& boundaries =
      counters(all, "rind_compactions_total", "Boundaries that were committed");
  Family<Counter>& outcomes =
      counters(all, "rind_compactions_ended_total", "Attempts to compact, by what came of them");
  Family<Counter>& retries =
      counters(all, "rind_retries_total", "Samplings that are tried again, by class of the error");
  Family<Counter>& tokens =
      counters(all, "rind_tokens_total", "Tokens as providers counted them; cached of the input");
  Family<Counter>& refused =
      counters(all, "rind_clients_refused_total", "Clients that were turned away");
  Family<Gauge>& sessions = gauges(all, "rind_sessions_live", "Sessions in memory");
  Family<Gauge>& connections = gauges(all, "rind_connections", "Clients that are connected");
  Family<Gauge>& waiting = gauges(all, "rind_journal_waiting", "Jobs that wait for the journal");
  Family<Gauge>& requests =
      gauges(all, "rind_provider_requests", "Requests of a provider, under way or waiting");
  Counter& entries =
      counters(all, "rind_journal_entries_total", "Entries that were written").Add({});
  Histogram& commit_seconds =
      histogram(all, "rind_journal_commit_seconds", "Time of a commit",
                {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 30});
  Histogram& group_appends = histogram(all, "rind_journal_group_appends", "Appends in one commit",
                                       {1, 2, 4, 8, 16, 32, 64, 128, 256});
  Gauge& live = sessions.Add({});

  void took(const entries::turn_started& e) {
    started.Add({{"operation", to_string(e.operation)}, {"resumed", e.resumed ? "true" : "false"}})
        .Increment();
  }
  void took(const entries::turn_ended& e) {
    const char* why = "";
    if (e.error)
      why = to_string(e.error->code);
    else if (e.outcome == entries::turn_outcome::cancelled)
      why = to_string(e.reason);
    ended.Add({{"outcome", to_string(e.outcome)}, {"why", why}}).Increment();
  }
  void took(const entries::input_accepted& e) { input(to_string(e.mode), "accepted"); }
  void took(const entries::input_delivered& e) { input(to_string(e.msg->origin), "delivered"); }
  void took(const entries::boundary& e) {
    boundaries
        .Add({{"reason", to_string(e.record->reason)}, {"strategy", to_string(e.record->strategy)}})
        .Increment();
  }
  void took(const events::compaction_ended& e) {
    outcomes.Add({{"outcome", e.outcome}}).Increment();
  }
  void took(const events::turn_step_retry& e) { retries.Add({{"class", e.reason}}).Increment(); }
  void took(const events::token_stats_updated& e) {
    const char* sampling = to_string(e.kind);
    const auto add = [&](const char* kind, const std::optional<std::int64_t>& count) {
      if (count && *count > 0)
        tokens.Add({{"sampling", sampling}, {"kind", kind}}).Increment(static_cast<double>(*count));
    };
    add("input", e.usage.input_tokens);
    add("cached", e.usage.cached_tokens);
    add("output", e.usage.output_tokens);
    add("reasoning", e.usage.reasoning_tokens);
  }
  template <class Other>
  void took(const Other&) {}

private:
  void input(const char* mode, const char* what) {
    inputs.Add({{"mode", mode}, {"what", what}}).Increment();
  }
};

host_metrics::host_metrics() : families_(std::make_unique<families>()) {}

host_metrics::~host_metrics() = default;

void host_metrics::took(const entry_body& body) {
  std::visit([this](const auto& b) { families_->took(b); }, body);
}

void host_metrics::took(const live_event_body& body) {
  std::visit([this](const auto& b) { families_->took(b); }, body);
}

void host_metrics::session_began() {
  families_->live.Increment();
}

void host_metrics::session_ended() {
  families_->live.Decrement();
}

void host_metrics::committed(std::int64_t appends, std::int64_t entries, double seconds) {
  families_->entries.Increment(static_cast<double>(entries));
  families_->commit_seconds.Observe(seconds);
  families_->group_appends.Observe(static_cast<double>(appends));
}

void host_metrics::provider_load(const std::string& provider, std::int64_t in_flight,
                                 std::int64_t waiting) {
  const auto set = [&](const char* state, std::int64_t count) {
    families_->requests.Add({{"provider", provider}, {"state", state}})
        .Set(static_cast<double>(count));
  };
  set("under_way", in_flight);
  set("waiting", waiting);
}

void host_metrics::client_refused(const std::string& type) {
  families_->refused.Add({{"type", type}}).Increment();
}

std::string host_metrics::text(const now& n) const {
  families_->connections.Add({}).Set(static_cast<double>(n.connections));
  families_->waiting.Add({}).Set(static_cast<double>(n.journal_waiting));
  return prometheus::TextSerializer().Serialize(families_->all.Collect());
}

} // namespace rind::metrics
