// Which entry and which event counts in which number, and that no number is named by a client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/metrics/host_metrics.hpp"
#include "tests/kit/journal_samples.hpp"

namespace rind::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;

entry_body failed_end() {
  entries::turn_ended end;
  end.outcome = entries::turn_outcome::failed;
  end.error = make_failure(error_code::no_gain, "it said secret-words");
  return end;
}

entry_body cancelled_end() {
  entries::turn_ended end;
  end.outcome = entries::turn_outcome::cancelled;
  end.reason = cancel_reason::user;
  return end;
}

TEST(host_metrics, each_entry_counts_in_its_family) {
  host_metrics counts;
  for (const auto& body :
       {kit::sample_turn_started(), kit::sample_turn_started(operation_kind::compact),
        kit::sample_ended(entries::turn_outcome::completed), failed_end(), cancelled_end(),
        kit::sample_accepted("secret-id", input_mode::steering, "secret-text"),
        kit::sample_delivered("secret-id", input_mode::steering, "secret-text"),
        kit::sample_boundary(1), kit::sample_prompt("secret-words"),
        kit::sample_answer("secret-words")})
    counts.took(body);
  const auto text = counts.text({});
  for (const auto* line :
       {"rind_operations_started_total{operation=\"turn\",resumed=\"false\"} 1",
        "rind_operations_started_total{operation=\"compact\",resumed=\"false\"} 1",
        "rind_operations_ended_total{outcome=\"completed\",why=\"\"} 1",
        "rind_operations_ended_total{outcome=\"failed\",why=\"no_gain\"} 1",
        "rind_operations_ended_total{outcome=\"cancelled\",why=\"user\"} 1",
        "rind_inputs_total{mode=\"steering\",what=\"accepted\"} 1",
        "rind_inputs_total{mode=\"steering\",what=\"delivered\"} 1",
        "rind_compactions_total{reason="})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, Not(HasSubstr("secret")));
}

TEST(host_metrics, what_is_told_live_counts_too) {
  host_metrics counts;
  counts.took(live_event_body{events::compaction_ended{"committed", 10, 5, 3}});
  for (int i = 0; i < 2; ++i)
    counts.took(live_event_body{events::turn_step_retry{1, "overloaded", 5, false, "words"}});
  token_usage usage;
  usage.input_tokens = 100;
  usage.cached_tokens = 40;
  usage.output_tokens = 7;
  counts.took(live_event_body{events::token_stats_updated{usage, sampling_kind::compact}});
  counts.took(live_event_body{events::assistant_delta{"text"}});
  const auto text = counts.text({});
  for (const auto* line : {"rind_compactions_ended_total{outcome=\"committed\"} 1",
                           "rind_retries_total{class=\"overloaded\"} 2",
                           "rind_tokens_total{kind=\"input\",sampling=\"compact\"} 100",
                           "rind_tokens_total{kind=\"cached\",sampling=\"compact\"} 40",
                           "rind_tokens_total{kind=\"output\",sampling=\"compact\"} 7"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, Not(HasSubstr("reasoning"))); // it was not said
}

TEST(host_metrics, gauges_and_histograms_say_how_it_is) {
  host_metrics counts;
  counts.session_began();
  counts.session_began();
  counts.session_ended();
  counts.committed(3, 9, 0.002);
  counts.committed(1, 1, 0.2);
  counts.provider_load("big", 5, 2);
  counts.provider_load("big", 4, 0);
  counts.client_refused("Unauthorized");
  const auto text = counts.text({.connections = 7, .journal_waiting = 8});
  for (const auto* line :
       {"rind_sessions_live 1", "rind_connections 7", "rind_journal_waiting 8",
        "rind_journal_entries_total 10", "rind_journal_commit_seconds_count 2",
        "rind_journal_commit_seconds_bucket{le=\"0.0025\"} 1", "rind_journal_group_appends_sum 4",
        "rind_provider_requests{provider=\"big\",state=\"under_way\"} 4",
        "rind_provider_requests{provider=\"big\",state=\"waiting\"} 0",
        "rind_clients_refused_total{type=\"Unauthorized\"} 1"})
    EXPECT_THAT(text, HasSubstr(line));
}

} // namespace
} // namespace rind::metrics
