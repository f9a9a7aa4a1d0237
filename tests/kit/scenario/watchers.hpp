// One observer that stands for many, and a tool whose calls are seen.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tests/kit/simulation/observer.hpp"

namespace rind::kit {

/// Passes everything on to all who watch.
class watchers : public observer {
public:
  void add(observer& who) { all_.push_back(&who); }

  void on_delivery(std::string_view a) override { tell(&observer::on_delivery, a); }
  void on_append(const journal::append_request& r) override { tell(&observer::on_append, r); }
  void on_committed(const std::string& id, const std::vector<entry_ptr>& e) override {
    tell(&observer::on_committed, id, e);
  }
  void on_request(const sampling_request& r) override { tell(&observer::on_request, r); }
  void on_sampling_end(const sampling_request& r, const sampling_outcome& o) override {
    tell(&observer::on_sampling_end, r, o);
  }
  void on_tool_call(const tools::invocation& c) override { tell(&observer::on_tool_call, c); }
  void on_asked(const client_request& r) override { tell(&observer::on_asked, r); }
  void on_answered(const client_request& r, const client_answer& a) override {
    tell(&observer::on_answered, r, a);
  }
  void on_connected(std::size_t c) override { tell(&observer::on_connected, c); }
  void on_event(std::size_t c, const session_event& e) override { tell(&observer::on_event, c, e); }
  void on_history(std::size_t c, const std::string& s, std::int64_t cursor,
                  const std::string& id) override {
    tell(&observer::on_history, c, s, cursor, id);
  }
  void on_crash(const std::vector<std::string>& s) override { tell(&observer::on_crash, s); }

private:
  template <class Hook, class... Args>
  void tell(Hook hook, Args&&... args) {
    for (auto* who : all_)
      (who->*hook)(args...);
  }
  std::vector<observer*> all_;
};

/// A user's tool whose calls are seen.
class watched_tool final : public tools::tool {
public:
  watched_tool(std::shared_ptr<tools::tool> inner, observer& who)
      : inner_(std::move(inner)), who_(who) {}
  const tool_definition& definition() const override { return inner_->definition(); }
  void start(const tools::invocation& call, tools::tool_sink sink) override {
    who_.on_tool_call(call);
    inner_->start(call, std::move(sink));
  }
  void cancel(const std::string& invocation_id) override { inner_->cancel(invocation_id); }

private:
  std::shared_ptr<tools::tool> inner_;
  observer& who_;
};

} // namespace rind::kit
