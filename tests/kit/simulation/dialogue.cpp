// Small verbs over a world.
#include "tests/kit/simulation/dialogue.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "messages/json.hpp"
#include "runtime/protocol/session_updates.hpp"
#include "runtime/view/view.hpp"
#include "tests/kit/journal_builder.hpp"

namespace rind::kit {

void fill(world& w, scripted_client& c, std::int64_t tokens, int times) {
  for (int i = 0; i < times; ++i) {
    auto said = c.prompt(text_of_tokens(tokens));
    if (!w.time().advance_until([&] { return said.arrived() || said.lost(); }, 600'000))
      throw std::runtime_error("a prompt that should fill the session is not answered");
    w.run();
    if (!said.ok())
      throw std::runtime_error("a prompt that should fill the session: " + said.said());
  }
}

void serve_politely(world& w) {
  w.model().serve([](const sampling_request& r) {
    return r.kind == sampling_kind::compact ? says("The user wants the parser done.")
                                            : says("Yes.");
  });
}

tool_call look(std::string id, std::string arguments) {
  return {std::move(id), "look", std::move(arguments)};
}

std::string durable_of(const std::vector<event_ptr>& events) {
  std::string text;
  for (const auto& e : events)
    if (std::holds_alternative<entry_ptr>(e->body))
      text += text_of(*e) + "\n";
  return text;
}

std::string replayed(world& w, const std::string& session_id) {
  std::string text;
  for (const auto& e : w.journal_of(session_id))
    if (is_durable_event(e->body))
      text += dump_json(protocol::durable_event_body(session_id, *e)) + "\n";
  return text;
}

const entries::turn_ended* last_end(const std::vector<event_ptr>& events) {
  for (auto e = events.rbegin(); e != events.rend(); ++e)
    if (const auto* durable = std::get_if<entry_ptr>(&(*e)->body)) {
      if (const auto* end = std::get_if<entries::turn_ended>(&(*durable)->body))
        return end;
      if (std::holds_alternative<entries::turn_started>((*durable)->body))
        return nullptr;
    }
  return nullptr;
}

const failure& failure_of(const std::vector<event_ptr>& events) {
  const auto* end = last_end(events);
  if (!end || !end->error)
    throw std::logic_error("the operation did not fail: " + line_of(events));
  return *end->error;
}

std::vector<std::shared_ptr<const compaction_record>> boundaries_of(world& w,
                                                                    const std::string& session_id) {
  std::vector<std::shared_ptr<const compaction_record>> all;
  for (const auto& e : w.journal_of(session_id))
    if (const auto* b = std::get_if<entries::boundary>(&e->body))
      all.push_back(b->record);
  return all;
}

std::int64_t count_of(const std::string& line, const std::string& word) {
  std::istringstream in{line};
  std::int64_t n = 0;
  for (std::string w; in >> w;)
    n += w == word;
  return n;
}

std::int64_t holding(const std::vector<message_ptr>& messages, const std::string& text) {
  return std::count_if(messages.begin(), messages.end(), [&](const message_ptr& m) {
    return m->content.find(text) != std::string::npos;
  });
}

std::string first_boundary_fault(const scripted_model& m) {
  for (const auto& r : m.requests())
    if (auto fault = view::boundary_fault(r.request.messages))
      return r.request.request_id + ": " + *fault;
  return {};
}

input_fate fate_of(world& w, const std::string& session_id, const std::string& text) {
  input_fate f;
  std::string id;
  for (const auto& e : w.journal_of(session_id)) {
    if (const auto* a = std::get_if<entries::input_accepted>(&e->body); a && a->text == text) {
      ++f.accepted;
      id = a->input_id;
    }
    if (const auto* d = std::get_if<entries::input_delivered>(&e->body))
      f.delivered += d->msg->content == text;
    if (const auto* t = std::get_if<entries::input_taken_back>(&e->body))
      f.taken_back += !id.empty() && t->input_id == id;
    if (const auto* end = std::get_if<entries::turn_ended>(&e->body))
      for (const auto& u : end->undelivered)
        f.handed_back += u.text == text;
  }
  return f;
}

} // namespace rind::kit
