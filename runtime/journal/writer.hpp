// The journal writer: puts a blocking store behind callbacks. Owns one thread, or none: then its
// owner says when it works, which is how a simulation has slow commits. Appends that wait together
// are committed together, in the order of their arrival; a lone one does not wait for company. A
// store that failed may have written all the same and lost only its answer: it is asked again with
// the same entry ids, in the same place of the order. No CAF here; the journal actor is a thin
// adapter over it.
#pragma once

#include <functional>

#include "runtime/journal/port.hpp"

namespace rind::journal {

inline constexpr std::size_t group_limit = 512; // appends in one transaction
inline constexpr std::size_t queue_limit =
    65'536; // jobs waiting; the next one is answered persistence_failed at once

inline constexpr int append_attempts_max =
    2; // the second asks a store that failed once more, before anything that came later

/// What one commit came to; told on the thread that made it.
struct commit_report {
  std::int64_t appends = 0;
  std::int64_t entries = 0;
  double seconds = 0; // with its repeats
};

struct writer_stats {
  std::uint64_t groups = 0;
  std::uint64_t appends = 0;
  std::uint64_t entries = 0;
  std::size_t waiting = 0; // jobs, at this moment
};

enum class writer_mode : std::uint8_t {
  own_thread,
  when_told, // work waits for run_next(), on the caller's thread
};

class writer {
public:
  using append_callback = std::function<void(result<append_receipt>)>;
  using read_job = std::function<void(store&)>; // runs on the writer's thread, between groups, in
                                                // order with the appends before it

  /// `waiting` is called, where one is given, after a job was queued; `committed` after each
  /// commit, before its answers.
  writer(std::unique_ptr<store> backend, writer_mode mode, std::function<void()> waiting = {},
         std::function<void(const commit_report&)> committed = {});
  ~writer(); // finishes what is queued, then joins, unless finish() has given that up
  writer(const writer&) = delete;
  writer& operator=(const writer&) = delete;

  /// The callback runs on the writer's thread (or inside run_next), exactly once.
  void append(append_request request, append_callback done);
  /// Answers false (and does not keep the job) past queue_limit.
  bool post(read_job job);

  /// Does the job that waits first: a group of appends, or what was posted. False: none waits. Only
  /// when_told, and not from inside a job.
  bool run_next();

  /// Takes no more jobs, finishes what is queued and joins. False: that takes longer than
  /// `within_ms` (a store that hangs); the thread is left behind with its store and whatever waits.
  bool finish(std::int64_t within_ms);

  writer_stats stats() const;

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace rind::journal
