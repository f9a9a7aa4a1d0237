// A journal that tells an observer what it is asked to append and what it wrote: a decorator that
// stands right before the real store, behind every fault. Used from one thread at a time.
#pragma once

#include <unordered_map>

#include "tests/kit/forwarding_store.hpp"
#include "tests/kit/simulation/observer.hpp"

namespace rind::kit {

class watched_store final : public forwarding_store {
public:
  watched_store(std::unique_ptr<journal::store> inner, observer& who)
      : forwarding_store(std::move(inner)), who_(who) {}

  std::vector<result<journal::append_receipt>>
  append(std::span<const journal::append_request> group) override;

private:
  observer& who_;
  std::unordered_map<std::string, std::int64_t> last_position_; // by session, of what was told
};

} // namespace rind::kit
