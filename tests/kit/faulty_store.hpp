// A journal that fails on demand: a decorator of any store. What fails is said by a script that the
// test keeps; the store asks it at each call. Used from one thread at a time, like every store.
#pragma once

#include <map>
#include <memory>

#include "runtime/journal/port.hpp"

namespace rind::kit {

/// What happens to one append, counted from 1 over the life of the store.
struct append_fault {
  /// Answered in place of the receipt; persistence_conflict only where a store could.
  error_code code = error_code::persistence_failed;
  /// The append is made all the same, and only its answer is lost.
  bool commits = false;
};

/// Shared with the store; may be changed between calls.
struct journal_faults {
  std::map<std::int64_t, append_fault> appends; // by the number of the append; each happens once
  bool fail_appends = false;                    // all of them, with persistence_failed
  bool fail_reads = false;                      // claim, read, find, list, find_input
  bool fail_removes = false;
  bool throws = false;           // what fails throws std::runtime_error instead of answering
  std::int64_t append_count = 0; // kept by the store: appends it was asked for
};

/// `faults` is never null.
std::unique_ptr<journal::store> make_faulty_store(std::unique_ptr<journal::store> inner,
                                                  std::shared_ptr<journal_faults> faults);

} // namespace rind::kit
