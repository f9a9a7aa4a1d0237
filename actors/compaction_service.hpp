// The compaction service: plan, summary, boundary, for all three entrances alike (S17–S25). Keeps
// nothing between requests; owns the places for summaries at once, first come first served (a
// session has at most one request, so that is fair among sessions). It never decides whether the
// operation goes on.
#pragma once

#include <deque>
#include <map>

#include <caf/typed_event_based_actor.hpp>

#include "actors/answer.hpp"
#include "actors/node.hpp"
#include "runtime/compaction/pipeline.hpp"

namespace rind::actors {

/// Where models are served; the service is spawned before the node is complete, so it is given just
/// this.
struct compaction_dependencies {
  std::shared_ptr<host::environment> env;
  config::compaction_settings settings;
  std::map<std::string, model_route> models;
  journal_actor journal;
};

class compaction_service final : public compaction_service_actor::base {
public:
  compaction_service(caf::actor_config& cfg,
                     std::shared_ptr<const compaction_dependencies> dependencies);

  const char* name() const override { return "compaction_service"; }
  behavior_type make_behavior() override;
  /// Lets go of those who wait for an outcome.
  void on_exit() override;

private:
  using promise = answer<compaction_reply>;

  /// One request on its way. `summary` is set once a summary is needed.
  struct job {
    compact_request request;
    compaction::request steps;
    std::optional<compaction::summary_plan> summary;
    promise reply;
    std::optional<answer<done_reply>> ended; // its operation has lost its runner
    bool has_place = false;
    bool committing = false;
    std::string sampling_id;      // of the summary request that is out; empty: none
    std::int64_t serial = 0;      // of the timers that still count
    std::int64_t deadline_ms = 0; // wall clock; 0: the request was not sent yet
    std::int64_t last_data_ms = 0;
    bool waiting_for_retry = false;
    recovery::recovery_machine retries;
  };

  // -- handlers --
  caf::result<compaction_reply> on_request(compact_request& r);
  void on_cancel(const cancel_compaction& c);
  caf::result<done_reply> on_end(const end_compaction_command& c);
  void on_progress(const sampling_progressed& p);
  void on_ended(sampling_ended& e);
  void on_tick(const summary_tick& t);

  // -- steps --
  void want_summary(job& j);
  void give_places();
  void ask(job& j);
  void arm(job& j, std::int64_t delay_ms);
  void answered(const std::string& id, sampling_outcome outcome);
  void commit(const std::string& id, compaction::boundary_draft draft);
  void committed(const std::string& id, std::vector<entry_ptr> entries);
  void not_committed(const std::string& id, failure why, const compaction_record& record);
  void give_up_summary(job& j);
  void finish(const std::string& id, compaction::outcome outcome);
  void deliver(const std::string& id, compaction::outcome outcome);
  journal::append_request append_of(const job& j, entry_body body) const;

  std::shared_ptr<const compaction_dependencies> node_;
  std::map<std::string, job> jobs_;                // by compaction id
  std::map<std::string, std::string> by_sampling_; // sampling id → compaction id
  std::deque<std::string> waiting_;                // for a place, in order
  std::int64_t places_taken_ = 0;
};

} // namespace rind::actors
