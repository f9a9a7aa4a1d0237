// The journal in memory: the twin of the durable stores, for tests, simulation and hosts that keep
// nothing. It is the oracle of the contract suite: where another store answers something else, one
// of the two is wrong. Used from one thread at a time.
#pragma once

#include <map>
#include <unordered_map>

#include "runtime/journal/append_rules.hpp"

namespace rind::journal {

class memory_store final : public store {
public:
  std::vector<result<append_receipt>> append(std::span<const append_request> group) override;
  result<loaded_session> claim(const std::string& session_id) override;
  result<std::vector<entry_ptr>> read(const std::string& session_id, std::int64_t after_position,
                                      std::int64_t limit) override;
  result<std::optional<session_summary>> find(const std::string& session_id) override;
  result<session_page> list(std::int64_t limit, const std::string& after) override;
  result<std::optional<input_trace>> find_input(const std::string& session_id,
                                                const std::string& input_id) override;
  result<done> remove(const std::string& session_id, std::uint64_t epoch) override;

private:
  struct session {
    session_state state;
    std::vector<entry_ptr> entries; // position p at index p - 1
  };
  struct place {
    std::string session_id;
    std::int64_t position = 0;
  };

  result<append_receipt> append_one(const append_request& request);
  result<append_receipt> repeat(const append_request& request, const place& first) const;

  std::map<std::string, session> sessions_;
  std::unordered_map<std::string, place> places_; // by entry id
  std::uint64_t epoch_floor_ = 0;                 // no session starts at or below it
};

} // namespace rind::journal
