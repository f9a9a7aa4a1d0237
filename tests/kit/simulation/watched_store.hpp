// A journal that tells an observer what it is asked to append and what it wrote: a decorator that
// stands right before the real store, behind every fault. Used from one thread at a time.
#pragma once

#include <memory>
#include <unordered_map>

#include "tests/kit/simulation/observer.hpp"

namespace rind::kit {

class watched_store final : public journal::store {
public:
  watched_store(std::unique_ptr<journal::store> inner, observer& who)
      : inner_(std::move(inner)), who_(who) {}

  std::vector<result<journal::append_receipt>>
  append(std::span<const journal::append_request> group) override;
  result<journal::loaded_session> claim(const std::string& id) override {
    return inner_->claim(id);
  }
  result<std::vector<entry_ptr>> read(const std::string& id, std::int64_t after,
                                      std::int64_t limit) override {
    return inner_->read(id, after, limit);
  }
  result<std::optional<journal::session_summary>> find(const std::string& id) override {
    return inner_->find(id);
  }
  result<journal::session_page> list(std::int64_t limit, const std::string& after) override {
    return inner_->list(limit, after);
  }
  result<std::optional<journal::input_trace>> find_input(const std::string& id,
                                                         const std::string& input) override {
    return inner_->find_input(id, input);
  }
  result<done> remove(const std::string& id, std::uint64_t epoch) override {
    return inner_->remove(id, epoch);
  }

private:
  std::unique_ptr<journal::store> inner_;
  observer& who_;
  std::unordered_map<std::string, std::int64_t> last_position_; // by session, of what was told
};

} // namespace rind::kit
