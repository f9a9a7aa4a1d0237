// What happened in a run, as a hash of all of it and, where somebody will read it, as lines.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/kit/simulation/observer.hpp"

namespace rind::kit {

inline constexpr std::size_t timeline_lines_max = 5'000;

class trace final : public observer {
public:
  /// `now_ms` tells the time of the run; `lines`: keep lines for people.
  trace(std::function<std::int64_t()> now_ms, bool lines);

  std::uint64_t hash() const { return hash_; }
  const std::vector<std::string>& lines() const { return lines_; }
  /// A line of somebody else's.
  void say(const std::string& what);

  void on_delivery(std::string_view actor) override;
  void on_committed(const std::string& session_id, const std::vector<entry_ptr>& entries) override;
  void on_request(const sampling_request& request) override;
  void on_sampling_end(const sampling_request& request, const sampling_outcome& outcome) override;
  void on_tool_call(const tools::invocation& call) override;
  void on_asked(const client_request& request) override;
  void on_answered(const client_request& request, const client_answer& answer) override;
  void on_event(std::size_t client, const session_event& event) override;
  void on_history(std::size_t client, const std::string& session_id, std::int64_t cursor,
                  const std::string& event_id) override;
  void on_crash(const std::vector<std::string>& sessions) override;

private:
  void tell_live(std::size_t client, const session_event& event);
  void mix(std::string_view text);
  void mix(std::uint64_t number);

  std::function<std::int64_t()> now_ms_;
  bool keeps_lines_;
  std::int64_t start_ms_;
  std::uint64_t hash_ = 14'695'981'039'346'656'037ull; // the offset basis of FNV-1a
  std::vector<std::string> lines_;
};

} // namespace rind::kit
