// Whole journals, a page at a time.
#include "hosts/journal_tools.hpp"

#include <functional>
#include <iostream>

#include "messages/json.hpp"
#include "runtime/journal/open_journal.hpp"
#include "runtime/journal/summary_tracker.hpp"

namespace rind::hosts {

namespace {

using journal::journal_access;
using journal::store;

/// Entries in one append of a copy.
constexpr std::int64_t copied_at_once = 200;

int fail(const std::string& why) {
  std::cerr << "rind: error: " << why << "\n";
  return 1;
}

result<done> each_session(store& in,
                          const std::function<void(const journal::session_summary&)>& visit) {
  for (std::string after;;) {
    auto page = in.list(journal::list_limit_max, after);
    if (!page)
      return page.error();
    for (const auto& one : page->sessions)
      visit(one);
    if (page->next.empty())
      return done{};
    after = page->next;
  }
}

std::string text_of(const entry& e) {
  return std::to_string(e.position) + " " + e.id + " " + std::to_string(e.time_ms) + " " +
         e.turn_id + " " + kind_of(e.body) + " " + encode_body(e.body);
}

/// What does not fit together of a session, or nothing.
std::optional<std::string> fault_of(store& in, const journal::session_summary& told) {
  journal::summary_tracker found(told.session_id);
  for (std::int64_t after = 0; after < told.last_position;) {
    const auto page = in.read(told.session_id, after, journal::read_limit_max);
    if (!page)
      return page.error().message;
    for (const auto& e : *page)
      found.apply(*e);
    after = page->back()->position;
  }
  const auto& s = found.summary();
  const std::pair<bool, const char*> checks[]{
      {s.message_count == told.message_count, "the number of its messages"},
      {s.generation == told.generation, "its generation"},
      {s.open_turn_id == told.open_turn_id, "its open operation"},
      {s.model == told.model, "its model"},
      {s.title == told.title, "its title"},
  };
  for (const auto& [holds, what] : checks)
    if (!holds)
      return "the journal of session " + told.session_id +
             " does not fit what is told of it: " + what;
  return std::nullopt;
}

/// One session into another store.
class session_copy {
public:
  session_copy(store& from, store& to, std::string session_id)
      : from_(from), to_(to), id_(std::move(session_id)) {}

  /// Copies what is not there yet, and compares everything.
  result<std::int64_t> run() {
    const auto there = to_.find(id_);
    if (!there)
      return there.error();
    if (*there)
      if (auto taken = go_on((*there)->last_position); !taken)
        return taken.error();
    if (auto copied = copy_rest(); !copied)
      return copied.error();
    return compare();
  }

private:
  result<done> go_on(std::int64_t last) {
    done_ = last;
    if (auto same = compare(); !same)
      return same.error();
    auto claimed = to_.claim(id_);
    if (!claimed)
      return claimed.error();
    epoch_ = claimed->epoch;
    return done{};
  }

  result<done> copy_rest() {
    for (;;) {
      const auto page = from_.read(id_, done_, copied_at_once);
      if (!page)
        return page.error();
      if (page->empty())
        return done{};
      journal::append_request append;
      append.session_id = id_;
      append.create = done_ == 0;
      append.epoch = epoch_;
      for (const auto& e : *page)
        append.entries.push_back(*e);
      auto receipt = std::move(to_.append({&append, 1}).front());
      if (!receipt)
        return receipt.error();
      epoch_ = receipt->epoch;
      done_ = receipt->entries.back()->position;
    }
  }

  /// The entries up to where the copy is; answers how many.
  result<std::int64_t> compare() {
    for (std::int64_t after = 0; after < done_;) {
      const auto limit = std::min(done_ - after, journal::read_limit_max);
      const auto here = from_.read(id_, after, limit);
      const auto there = to_.read(id_, after, limit);
      if (!here || !there)
        return here ? there.error() : here.error();
      const bool is_same =
          std::equal(here->begin(), here->end(), there->begin(), there->end(),
                     [](const auto& a, const auto& b) { return text_of(*a) == text_of(*b); });
      if (!is_same || here->empty())
        return make_failure(error_code::persistence_conflict,
                            "session " + id_ + " stands there already, and is another one");
      after = here->back()->position;
    }
    return done_;
  }

  store& from_;
  store& to_;
  std::string id_;
  std::uint64_t epoch_ = 0;
  std::int64_t done_ = 0; // entries that stand on both sides
};

} // namespace

int migrate_journal(const config::settings& settings) {
  const auto opened = journal::open_journal(settings.journal, journal_access::serve);
  if (!opened)
    return fail(opened.error().message);
  std::cout << "the journal is up to date\n";
  return 0;
}

int check_journal(const config::settings& settings) {
  const auto opened = journal::open_journal(settings.journal, journal_access::look);
  if (!opened)
    return fail(opened.error().message);
  std::int64_t sessions = 0;
  std::int64_t entries = 0;
  std::int64_t faulty = 0;
  const auto looked = each_session(**opened, [&](const auto& one) {
    ++sessions;
    entries += one.last_position;
    if (const auto fault = fault_of(**opened, one)) {
      ++faulty;
      std::cerr << "rind: error: " << *fault << "\n";
    }
  });
  if (!looked)
    return fail(looked.error().message);
  std::cout << sessions << " sessions, " << entries << " entries, " << faulty
            << " sessions that make no sense\n";
  return faulty == 0 ? 0 : 1;
}

int copy_journal(const std::string& from, const std::string& to) {
  const auto source = journal::open_journal(from, journal_access::look);
  if (!source)
    return fail("from: " + source.error().message);
  const auto target = journal::open_journal(to, journal_access::serve);
  if (!target)
    return fail("to: " + target.error().message);
  std::int64_t sessions = 0;
  std::int64_t entries = 0;
  std::int64_t failed = 0;
  const auto copied = each_session(**source, [&](const auto& one) {
    const auto count = session_copy(**source, **target, one.session_id).run();
    if (count) {
      ++sessions;
      entries += *count;
    } else {
      ++failed;
      std::cerr << "rind: error: " << count.error().message << "\n";
    }
  });
  if (!copied)
    return fail(copied.error().message);
  std::cout << sessions << " sessions with " << entries << " entries are the same on both sides, "
            << failed << " are not\n";
  return failed == 0 ? 0 : 1;
}

} // namespace rind::hosts
