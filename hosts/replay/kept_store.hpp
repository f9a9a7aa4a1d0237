// A journal store that outlives the host which writes to it, so that it can be read afterwards.
#pragma once

#include <memory>
#include <utility>

#include "runtime/journal/port.hpp"

namespace rind::hosts::replay {

/// Hands every call on. The store below is used by one at a time: the host, then who keeps it.
class kept_store final : public journal::store {
public:
  explicit kept_store(std::shared_ptr<journal::store> below) : below_(std::move(below)) {}

  std::vector<result<journal::append_receipt>>
  append(std::span<const journal::append_request> group) override {
    return below_->append(group);
  }
  result<journal::loaded_session> claim(const std::string& session_id) override {
    return below_->claim(session_id);
  }
  result<std::vector<entry_ptr>> read(const std::string& session_id, std::int64_t after_position,
                                      std::int64_t limit) override {
    return below_->read(session_id, after_position, limit);
  }
  result<std::optional<journal::session_summary>> find(const std::string& session_id) override {
    return below_->find(session_id);
  }
  result<journal::session_page> list(std::int64_t limit, const std::string& after) override {
    return below_->list(limit, after);
  }
  result<std::optional<journal::input_trace>> find_input(const std::string& session_id,
                                                         const std::string& input_id) override {
    return below_->find_input(session_id, input_id);
  }
  result<done> remove(const std::string& session_id, std::uint64_t epoch) override {
    return below_->remove(session_id, epoch);
  }

private:
  std::shared_ptr<journal::store> below_;
};

} // namespace rind::hosts::replay
