// The directory: session id → actor. Activates a session on first use, lets idle ones go, and stops
// all of them in two steps.
#pragma once

#include <deque>
#include <map>

#include <caf/typed_event_based_actor.hpp>

#include "actors/answer.hpp"
#include "actors/node.hpp"

namespace rind::actors {

/// Sessions that were made and never prompted, beyond those that are live; the oldest goes.
inline constexpr std::size_t drafts_max = 10'000;

class directory final : public directory_actor::base {
public:
  directory(caf::actor_config& cfg, node_ptr n);

  const char* name() const override { return "directory"; }
  behavior_type make_behavior() override;
  /// Lets go of its sessions: each holds the directory.
  void on_exit() override;

private:
  using open_promise = answer<open_session_reply>;
  struct live_session {
    session_actor handle;
    bool is_draft = false;
  };

  caf::result<open_session_reply> on_open(const open_session_command& c);
  find_live_reply on_find_live(const find_live_command& c) const;
  void on_forget(const forget_session_command& c);
  done_reply on_passivate(const passivate_command& c);
  caf::result<done_reply> on_stop(const stop_command& c);
  abandoned_sessions_reply on_abandon(const abandon_sessions_command&);
  void on_down(const caf::down_msg& m);
  void found(const open_session_command& c, bool in_journal, open_promise reply);
  session_actor spawn_session(const open_session_command& c, bool in_journal);
  void resume_interrupted(std::string after);
  void stopped_one();
  void answer_stops();

  node_ptr node_;
  std::map<std::string, live_session> live_;
  std::map<caf::actor_addr, std::string> by_address_;
  std::map<std::string, entries::session_created> drafts_; // made and never prompted
  std::deque<std::string> draft_order_;
  std::optional<stop_command> stopping_;
  std::size_t stop_open_ = 0;
  std::vector<answer<done_reply>> stop_replies_;
};

} // namespace rind::actors
