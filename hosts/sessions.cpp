// The journal as a table, as text, as JSON lines.
#include "hosts/sessions.hpp"

#include <functional>
#include <iostream>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "messages/json.hpp"
#include "runtime/journal/sqlite_store.hpp"
#include "runtime/protocol/command_texts.hpp"

namespace rind::hosts {

namespace {

int fail(const std::string& why) {
  std::cerr << "rind: error: " << why << "\n";
  return 1;
}

/// Opens the store of the settings and hands it on; a journal in memory has nothing to show.
int with_store(const config::settings& settings, const std::function<int(journal::store&)>& use) {
  constexpr std::string_view scheme = "sqlite:";
  if (settings.journal.compare(0, scheme.size(), scheme) != 0)
    return fail("only a journal in a file can be looked into; this one is `" + settings.journal +
                "`");
  journal::sqlite_options options;
  options.path = settings.journal.substr(scheme.size());
  if (::access(options.path.c_str(), F_OK) != 0)
    return fail("there is no journal " + options.path);
  auto store = journal::open_sqlite(options);
  return store ? use(**store) : fail(store.error().message);
}

/// Every entry of a session in order; the answer is the exit code.
int each_entry(journal::store& store, const std::string& session_id,
               const std::function<void(const entry&)>& visit) {
  auto found = store.find(session_id);
  if (!found)
    return fail(found.error().message);
  if (!*found)
    return fail("there is no session " + session_id);
  for (std::int64_t after = 0;;) {
    auto page = store.read(session_id, after, journal::read_limit_max);
    if (!page)
      return fail(page.error().message);
    if (page->empty())
      return 0;
    for (const auto& e : *page)
      visit(*e);
    after = page->back()->position;
  }
}

void print_entry(const entry& e) {
  if (const auto* m = message_of(e.body)) {
    std::cout << "\n[" << e.position << "] " << to_string((*m)->role);
    if (!(*m)->name.empty())
      std::cout << " " << (*m)->name;
    std::cout << "\n" << (*m)->content << "\n";
    for (const auto& call : (*m)->tool_calls)
      std::cout << "-> " << call.name << " " << call.arguments << "\n";
  } else if (const auto* b = std::get_if<entries::boundary>(&e.body)) {
    std::cout << "\n[" << e.position << "] " << protocol::compacted_text(*b->record) << "\n";
    if (b->record->handoff_text)
      std::cout << *b->record->handoff_text << "\n";
  } else if (const auto* end = std::get_if<entries::turn_ended>(&e.body)) {
    std::cout << "\n[" << e.position << "] turn " << to_string(end->outcome);
    if (end->error)
      std::cout << ": " << end->error->message;
    std::cout << "\n";
  }
}

} // namespace

int list_sessions(const config::settings& settings) {
  return with_store(settings, [](journal::store& store) {
    std::string after;
    do {
      auto page = store.list(journal::list_limit_max, after);
      if (!page)
        return fail(page.error().message);
      if (!page->sessions.empty() || after.empty())
        std::cout << protocol::sessions_text(page->sessions, {}) << "\n";
      after = page->next;
    } while (!after.empty());
    return 0;
  });
}

int show_session(const config::settings& settings, const std::string& session_id) {
  return with_store(
      settings, [&](journal::store& store) { return each_entry(store, session_id, print_entry); });
}

int export_session(const config::settings& settings, const std::string& session_id) {
  return with_store(settings, [&](journal::store& store) {
    return each_entry(store, session_id, [](const entry& e) {
      nlohmann::json line;
      line["position"] = e.position;
      line["id"] = e.id;
      line["ts"] = format_time(e.time_ms);
      line["turn_id"] = e.turn_id;
      line["kind"] = kind_of(e.body);
      line["body"] = nlohmann::json::parse(encode_body(e.body), nullptr, false);
      std::cout << dump_json(line) << "\n";
    });
  });
}

} // namespace rind::hosts
