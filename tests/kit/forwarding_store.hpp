// A decorator of a store that changes it in one place: every call goes to the inner store, and a
// class of its own overrides the one that it is about.
#pragma once

#include <memory>
#include <utility>

#include "runtime/journal/memory_store.hpp"

namespace rind::kit {

class forwarding_store : public journal::store {
public:
  /// Forwards to a store in memory.
  forwarding_store() : forwarding_store(std::make_unique<journal::memory_store>()) {}
  /// `inner` is never null.
  explicit forwarding_store(std::unique_ptr<journal::store> inner) : inner_(std::move(inner)) {}

  std::vector<result<journal::append_receipt>>
  append(std::span<const journal::append_request> group) override {
    return inner_->append(group);
  }
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
};

} // namespace rind::kit
