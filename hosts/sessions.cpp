// The journal as a table, as text, as JSON lines.
#include "hosts/sessions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iomanip>
#include <iostream>
#include <sstream>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "messages/json.hpp"
#include "runtime/config/models.hpp"
#include "runtime/journal/open_journal.hpp"
#include "runtime/journal/usage_ledger.hpp"
#include "runtime/protocol/command_texts.hpp"
#include "runtime/protocol/number_text.hpp"
#include "runtime/protocol/responses.hpp"

namespace rind::hosts {

namespace {

int fail(const std::string& why) {
  std::cerr << "rind: error: " << why << "\n";
  return 1;
}

/// Opens the store of the settings and hands it on.
int with_store(const config::settings& settings, const std::function<int(journal::store&)>& use) {
  const auto store = journal::open_journal(settings.journal, journal::journal_access::look);
  return store ? use(**store) : fail(store.error().message);
}

/// Every entry of a session in order.
result<done> read_entries(journal::store& store, const std::string& session_id,
                          const std::function<void(const entry&)>& visit) {
  for (std::int64_t after = 0;;) {
    auto page = store.read(session_id, after, journal::read_limit_max);
    if (!page)
      return page.error();
    if (page->empty())
      return done{};
    for (const auto& e : *page)
      visit(*e);
    after = page->back()->position;
  }
}

/// The same for a session that somebody named; the answer is the exit code.
int each_entry(journal::store& store, const std::string& session_id,
               const std::function<void(const entry&)>& visit) {
  const auto read = read_entries(store, session_id, visit);
  if (read)
    return 0;
  return fail(read.error().code == error_code::session_not_found
                  ? "there is no session " + session_id
                  : read.error().message);
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

/// Every page of the list, the first one even if it is empty; the answer is the exit code.
int each_page(journal::store& store,
              const std::function<int(const std::vector<journal::session_summary>&)>& visit) {
  std::string after;
  do {
    auto page = store.list(journal::list_limit_max, after);
    if (!page)
      return fail(page.error().message);
    if (const int code = visit(page->sessions); code != 0)
      return code;
    after = page->next;
  } while (!after.empty());
  return 0;
}

/// One line of `usage`. Without a model it is the total.
struct usage_row {
  std::string session_id;
  std::string model;
  journal::usage_sum sum;
  std::optional<double> cost;
};

struct counted_column {
  const char* key;
  const char* heading;
  std::int64_t journal::usage_sum::*member;
};
constexpr std::array<counted_column, 7> counted_columns{{
    {"samplings", "samplings", &journal::usage_sum::samplings},
    {"summaries", "summaries", &journal::usage_sum::summaries},
    {"uncounted", "uncounted", &journal::usage_sum::uncounted},
    {"input_tokens", "input", &journal::usage_sum::input_tokens},
    {"cached_input_tokens", "cached", &journal::usage_sum::cached_tokens},
    {"output_tokens", "output", &journal::usage_sum::output_tokens},
    {"reasoning_tokens", "reasoning", &journal::usage_sum::reasoning_tokens},
}};
constexpr int number_width = 15;
constexpr int cost_digits = 4; // after the point; one token of a dear model is still seen in a few
constexpr double cost_steps = 1e9; // JSON shows costs to a billionth, not the dust of adding them

usage_row total_of(const std::vector<usage_row>& rows) {
  usage_row total;
  total.cost = 0;
  for (const auto& row : rows) {
    total.sum += row.sum;
    total.cost = total.cost && row.cost ? std::optional(*total.cost + *row.cost) : std::nullopt;
  }
  return total;
}

std::string usage_json(const usage_row& row) {
  nlohmann::json out;
  if (row.model.empty())
    out["total"] = true;
  else
    out = {{"session_id", row.session_id}, {"model", row.model}};
  for (const auto& column : counted_columns)
    out[column.key] = row.sum.*column.member;
  if (row.cost)
    out["cost"] = std::round(*row.cost * cost_steps) / cost_steps;
  return dump_json(out) + "\n";
}

std::string usage_heading() {
  std::ostringstream out;
  out << std::right;
  for (const auto& column : counted_columns)
    out << std::setw(number_width) << column.heading;
  out << std::setw(number_width) << "cost"
      << "  session and model\n";
  return out.str();
}

std::string usage_text(const usage_row& row) {
  std::ostringstream cost;
  if (row.cost)
    cost << std::fixed << std::setprecision(cost_digits) << *row.cost;
  std::ostringstream out;
  out << std::right;
  for (const auto& column : counted_columns)
    out << std::setw(number_width) << protocol::grouped(row.sum.*column.member);
  out << std::setw(number_width) << (row.cost ? cost.str() : "-") << "  "
      << (row.model.empty() ? "total" : row.session_id + " " + row.model) << "\n";
  return out.str();
}

/// Adds the rows of one session.
void add_rows(const config::settings& settings, const std::string& session_id,
              const journal::usage_ledger& ledger, std::vector<usage_row>& rows) {
  for (const auto& [model, sum] : ledger.by_model()) {
    usage_row row{session_id, model, sum, std::nullopt};
    if (const auto found = config::find_model(settings, model); found && found->price)
      row.cost = journal::cost_of(sum, *found->price);
    rows.push_back(std::move(row));
  }
}

/// Adds the rows of all sessions; one that is deleted meanwhile has none, and one that cannot be
/// read hides no other. The answer is the exit code.
int add_all_rows(const config::settings& settings, journal::store& store,
                 std::vector<usage_row>& rows) {
  int code = 0;
  const int listed = each_page(store, [&](const auto& sessions) {
    for (const auto& s : sessions) {
      journal::usage_ledger ledger;
      const auto read = read_entries(store, s.session_id, [&](const entry& e) { ledger.take(e); });
      if (read)
        add_rows(settings, s.session_id, ledger, rows);
      else if (read.error().code != error_code::session_not_found)
        code = fail("not counted: " + read.error().message);
    }
    return 0;
  });
  return std::max(code, listed);
}

int add_one_session(const config::settings& settings, journal::store& store,
                    const std::string& session_id, std::vector<usage_row>& rows) {
  journal::usage_ledger ledger;
  const int code = each_entry(store, session_id, [&](const entry& e) { ledger.take(e); });
  if (code == 0)
    add_rows(settings, session_id, ledger, rows);
  return code;
}

} // namespace

int list_sessions(const config::settings& settings, bool json) {
  return with_store(settings, [&](journal::store& store) {
    bool is_first = true;
    return each_page(store, [&](const auto& sessions) {
      if (json)
        for (const auto& s : sessions)
          std::cout << dump_json(protocol::to_json(
                           protocol::listed_session{s, protocol::state_in_journal(s)}))
                    << "\n";
      else if (is_first || !sessions.empty())
        std::cout << protocol::sessions_text(sessions, {}) << "\n";
      is_first = false;
      return 0;
    });
  });
}

int show_usage(const config::settings& settings, const std::string& session_id, bool json) {
  return with_store(settings, [&](journal::store& store) {
    std::vector<usage_row> rows;
    const int code = session_id.empty() ? add_all_rows(settings, store, rows)
                                        : add_one_session(settings, store, session_id, rows);
    if (rows.empty() && code != 0)
      return code;
    rows.push_back(total_of(rows));
    if (!json)
      std::cout << usage_heading();
    for (const auto& row : rows)
      std::cout << (json ? usage_json(row) : usage_text(row));
    return code;
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
