// What a scenario expects, against what was seen.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/kit/scenario/scenario.hpp"
#include "tests/kit/simulation/observer.hpp"

namespace rind::kit {

class world;

class expectations final : public observer {
public:
  /// Empty, or what does not hold.
  std::string check(const expect_line& l, world& w) const;

  void on_committed(const std::string& session_id, const std::vector<entry_ptr>& entries) override;
  void on_request(const sampling_request& request) override;
  void on_tool_call(const tools::invocation& call) override;
  void on_answered(const client_request& request, const client_answer& answer) override;
  void on_event(std::size_t client, const session_event& event) override;

private:
  struct seen {
    std::string last; // the newest terminal event with its code or reason
    std::int64_t samplings = 0;
    std::int64_t summaries = 0;
    std::int64_t boundaries = 0;
    std::int64_t turns = 0;
    std::int64_t resumes = 0;
    std::int64_t tool_runs = 0;
    std::vector<std::string> compactions;       // of the boundaries, "reason:strategy"
    std::vector<std::string> undelivered;       // ids, of the newest terminal event
    std::string request;                        // texts of the newest one
    std::string summary_request;                // the same
    std::map<std::string, std::string> answers; // by input id, else by the kind of the request
    std::vector<std::string> events;            // types, as a client hears them
    std::string newest_event;
  };
  static void take_end(seen& s, const entries::turn_ended& end);

  std::map<std::string, seen> sessions_;
};

} // namespace rind::kit
