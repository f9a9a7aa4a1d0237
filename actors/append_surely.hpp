// An append whose acknowledgement may be lost: what the journal holds decides, not what it
// answered, else its author would go on from another state than the one that a restart finds. For
// the actors that append.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>

#include "actors/actors.hpp"
#include "runtime/journal/append_rules.hpp"

namespace rind::actors {

/// How an append ended. `is_certain` is false where the journal answered neither the append nor the
/// question what stands; then `value` is a failure and the entries may stand all the same.
struct append_end {
  rind::result<rind::journal::append_receipt> value;
  bool is_certain = true;
};

using append_handler = std::function<void(append_end)>;

inline failure journal_gone() {
  return make_failure(error_code::persistence_failed, "the journal is gone");
}

/// Asks for the receipt of entries that stand already; only an append knows the epoch of the
/// session that it made.
template <class Self>
void ask_for_epoch(Self* self, const journal_actor& to,
                   const std::shared_ptr<const rind::journal::append_request>& asked,
                   const append_handler& then) {
  self->request(to, caf::infinite, append_command{*asked})
      .then(
          [then](append_reply& r) {
            const bool answered = bool(r.value);
            then({std::move(r.value), answered});
          },
          [then](caf::error&) {
            then({journal_gone(), false});
          });
}

template <class Self>
void find_appended(Self* self, const journal_actor& to,
                   const std::shared_ptr<const rind::journal::append_request>& asked,
                   std::int64_t after_position, const failure& why, const append_handler& then) {
  self->request(to, caf::infinite,
                read_command{asked->session_id, after_position, rind::journal::read_limit_max})
      .then(
          [self, to, asked, after_position, why, then](const read_reply& r) {
            if (!r.value)
              return then({why, r.value.error().code == error_code::session_not_found});
            if (auto receipt = rind::journal::receipt_among(*asked, *r.value)) {
              if (asked->create)
                return ask_for_epoch(self, to, asked, then);
              return then({std::move(*receipt), true});
            }
            if (static_cast<std::int64_t>(r.value->size()) < rind::journal::read_limit_max)
              return then({why, true});
            // The page may have cut the append in two: the next one begins where this one could.
            const auto cut =
                r.value->back()->position - static_cast<std::int64_t>(asked->entries.size());
            find_appended(self, to, asked, std::max(cut, after_position + 1), why, then);
          },
          [why, then](caf::error&) {
            then({why, false});
          });
}

/// Appends; where the journal fails, looks for the entries by their ids before `then` is called.
/// None of them stands at or before `after_position`.
template <class Self>
void append_surely(Self* self, const journal_actor& to, rind::journal::append_request request,
                   std::int64_t after_position, append_handler then) {
  auto asked = std::make_shared<const rind::journal::append_request>(request);
  self->request(to, caf::infinite, append_command{std::move(request)})
      .then(
          [self, to, asked, after_position, then](append_reply& r) {
            if (r.value || r.value.error().code != error_code::persistence_failed)
              return then({std::move(r.value), true});
            find_appended(self, to, asked, after_position, r.value.error(), then);
          },
          [then](caf::error&) {
            then({journal_gone(), false});
          });
}

} // namespace rind::actors
