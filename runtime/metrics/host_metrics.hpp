// What a host did and does, in numbers for a monitor, in the text format of Prometheus
// (https://prometheus.io/docs/instrumenting/exposition_formats/). Counts from the start of the
// process; no label holds anything that a client chose. Every function may be called on any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "messages/events.hpp"
#include "messages/journal_entry.hpp"

namespace rind::metrics {

class host_metrics {
public:
  host_metrics();
  ~host_metrics();
  host_metrics(const host_metrics&) = delete;
  host_metrics& operator=(const host_metrics&) = delete;

  /// An entry that a session committed: operations, inputs, compactions.
  void took(const entry_body& body);
  /// What a session told while it lasts: outcomes of compactions, retries, tokens.
  void took(const live_event_body& body);
  /// A session is in memory from here on, or is not any more.
  void session_began();
  void session_ended();
  /// A group of appends reached the journal and was answered.
  void committed(std::int64_t appends, std::int64_t entries, double seconds);
  /// Requests of a provider that are under way, and those that wait for a place.
  void provider_load(const std::string& provider, std::int64_t in_flight, std::int64_t waiting);
  /// A client that was turned away or disconnected, by the type of the error.
  void client_refused(const std::string& type);

  /// What is true at this moment, and nobody counts.
  struct now {
    std::int64_t connections = 0;
    std::int64_t journal_waiting = 0; // jobs
  };
  std::string text(const now& n) const;

private:
  struct families;
  std::unique_ptr<families> families_;
};

} // namespace rind::metrics
