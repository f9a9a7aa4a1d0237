// One place that knows every store.
#include "runtime/journal/open_journal.hpp"

#include <unistd.h>

#include "runtime/journal/memory_store.hpp"
#include "runtime/journal/postgres_store.hpp"
#include "runtime/journal/sqlite_store.hpp"

namespace rind::journal {

namespace {

constexpr std::string_view in_memory = "memory";
constexpr std::string_view sqlite_scheme = "sqlite:";

failure refused(std::string why) {
  return make_failure(error_code::invalid_request, std::move(why));
}

result<std::unique_ptr<store>> open_file(const std::string& path, journal_access access) {
  sqlite_options options;
  options.path = path;
  options.access = access == journal_access::serve ? sqlite_access::serve : sqlite_access::look;
  if (access == journal_access::look && ::access(path.c_str(), F_OK) != 0)
    return refused("there is no journal " + path);
  return open_sqlite(options);
}

} // namespace

std::optional<std::string> journal_problem(const std::string& where) {
  if (is_postgres_address(where))
    return postgres_address_problem(where);
  const bool is_file = where.starts_with(sqlite_scheme) && where.size() > sqlite_scheme.size();
  if (where == in_memory || is_file)
    return std::nullopt;
  return "must be `memory`, `sqlite:PATH` or `postgresql://…`";
}

result<std::unique_ptr<store>> open_journal(const std::string& where, journal_access access) {
  if (const auto problem = journal_problem(where))
    return refused("the journal " + *problem);
  if (is_postgres_address(where)) {
    postgres_options options;
    options.address = where;
    options.access =
        access == journal_access::serve ? postgres_access::serve : postgres_access::look;
    return open_postgres(options);
  }
  if (where != in_memory)
    return open_file(where.substr(sqlite_scheme.size()), access);
  if (access == journal_access::look)
    return refused(
        "only a journal that outlives its host can be looked into; this one is `memory`");
  return std::unique_ptr<store>(std::make_unique<memory_store>());
}

} // namespace rind::journal
