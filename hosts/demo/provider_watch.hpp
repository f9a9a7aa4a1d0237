// What reached the model: each request is held against the rules for a view (S8 of
// docs/semantics.md) on the provider's side of the wire, and summaries are counted a session.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "hosts/demo/run_state.hpp"
#include "hosts/mock_provider/mock_server.hpp"

namespace rind::hosts::demo {

/// Why the messages of a Chat Completions body must not be sent, or empty.
std::string request_fault(const std::string& body);

struct request_faults {
  std::int64_t count = 0;
  std::vector<std::string> first; // a few, in words
};

/// Faults of a session that are told in words; the rest are counted.
inline constexpr std::size_t told_request_faults_max = 3;

class provider_watch {
public:
  explicit provider_watch(const run_state& run) : run_(run) {}

  /// For mock_server_options::on_request.
  void take(const mock_provider::recorded_request& request);

  std::int64_t summaries(const std::string& session) const;
  /// Waits for the summary request after the first `count` of a session.
  bool wait_for_summary_after(const std::string& session, std::int64_t count) const;
  request_faults faults(const std::string& session) const;
  std::int64_t requests() const;

private:
  struct record {
    std::int64_t summaries = 0;
    request_faults faults;
  };

  const run_state& run_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<std::string, record> sessions_;
  std::int64_t requests_ = 0;
};

} // namespace rind::hosts::demo
