// What a run exercised, counted: operations, compactions, retries, and in which phase of an
// operation a crash or a cancel hit it. Names are "group.member", as `rind sim --json` prints them.
#pragma once

#include <map>
#include <string>

#include "tests/kit/simulation/observer.hpp"

namespace rind::kit {

using counters = std::map<std::string, std::int64_t, std::less<>>;

class exercise final : public observer {
public:
  exercise();
  const counters& counts() const { return counts_; }
  std::int64_t deliveries() const { return deliveries_; }

  void on_delivery(std::string_view actor) override;
  void on_committed(const std::string& session_id, const std::vector<entry_ptr>& entries) override;
  void on_request(const sampling_request& request) override;
  void on_sampling_end(const sampling_request& request, const sampling_outcome& outcome) override;
  void on_tool_call(const tools::invocation& call) override;
  void on_asked(const client_request& request) override;
  void on_answered(const client_request& request, const client_answer& answer) override;
  void on_event(std::size_t client, const session_event& event) override;
  void on_crash(const std::vector<std::string>& sessions) override;

  /// Every name, so that what never happened shows as 0.
  static const std::vector<std::string>& names();

private:
  /// What a session is at.
  struct activity {
    std::string turn_id; // empty: no operation
    int samplings = 0;   // in flight
    int summaries = 0;
    int tools = 0; // calls without a result
    bool waits_for_retry = false;
    bool waits_for_place = false;
    bool compacts = false;    // the summary is there, the boundary is not
    std::string newest_retry; // event id
  };
  static std::string phase_of(const activity& a);
  void count(const std::string& name) { ++counts_[name]; }

  counters counts_;
  std::map<std::string, activity> sessions_;
  std::map<std::size_t, std::string> cancel_phases_; // by the number of the request
  std::int64_t deliveries_ = 0;
};

} // namespace rind::kit
