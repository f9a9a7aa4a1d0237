// The decisions that all stores share.
#include "runtime/journal/append_rules.hpp"

#include <algorithm>
#include <charconv>
#include <unordered_set>

namespace rind::journal {

namespace {

failure invalid(std::string text) {
  return make_failure(error_code::invalid_request, std::move(text));
}

bool lacks_its_value(const entry_body& body) {
  if (const auto* msg = message_of(body))
    return *msg == nullptr;
  if (const auto* boundary = std::get_if<entries::boundary>(&body))
    return boundary->record == nullptr;
  return false;
}

} // namespace

std::optional<failure> malformed(const append_request& request) {
  if (request.session_id.empty())
    return invalid("an append needs a session id");
  if (request.entries.empty())
    return invalid("an append needs at least one entry");
  std::unordered_set<std::string_view> ids;
  for (std::size_t i = 0; i < request.entries.size(); ++i) {
    const entry& e = request.entries[i];
    if (e.id.empty())
      return invalid("an entry needs an id");
    if (!ids.insert(e.id).second)
      return id_in_use(e.id);
    if (lacks_its_value(e.body))
      return invalid("entry " + e.id + " has no value");
    const bool creates = std::holds_alternative<entries::session_created>(e.body);
    if (creates != (request.create && i == 0))
      return invalid("session_created is the first entry of a session and no other");
  }
  return std::nullopt;
}

std::optional<failure> refusal(const append_request& request, const session_state* state) {
  if (request.create) {
    if (state != nullptr)
      return make_failure(error_code::session_exists,
                          "session " + request.session_id + " exists already");
  } else {
    if (state == nullptr)
      return no_such_session(request.session_id);
    if (state->epoch != request.epoch)
      return not_the_owner(request.session_id);
  }
  const std::int64_t view_position = state == nullptr ? 0 : state->tracker.view_position();
  if (request.expected_view_position && *request.expected_view_position != view_position)
    return make_failure(error_code::persistence_conflict,
                        "the view of session " + request.session_id + " moved on to position " +
                            std::to_string(view_position));
  return std::nullopt;
}

std::optional<append_receipt> receipt_among(const append_request& request,
                                            const std::vector<entry_ptr>& stored) {
  const auto same_id = [](const entry_ptr& there, const entry& asked) {
    return there->id == asked.id;
  };
  const auto first = std::search(stored.begin(), stored.end(), request.entries.begin(),
                                 request.entries.end(), same_id);
  if (first == stored.end())
    return std::nullopt;
  append_receipt receipt;
  receipt.epoch = request.epoch;
  receipt.first_position = (*first)->position;
  receipt.entries.assign(first, first + static_cast<std::ptrdiff_t>(request.entries.size()));
  return receipt;
}

failure id_in_use(const std::string& entry_id) {
  return invalid("entry id " + entry_id + " is in use already");
}

failure no_such_session(const std::string& session_id) {
  return make_failure(error_code::session_not_found, "session " + session_id + " does not exist");
}

failure not_the_owner(const std::string& session_id) {
  return make_failure(error_code::not_owner,
                      "session " + session_id + " is owned by another writer");
}

std::optional<failure> wrong_limit(std::int64_t limit, std::int64_t max) {
  if (limit >= 1 && limit <= max)
    return std::nullopt;
  return invalid("limit must be 1 to " + std::to_string(max) + ", not " + std::to_string(limit));
}

std::string page_token(const session_summary& last_of_page) {
  return std::to_string(last_of_page.updated_at_ms) + "." + last_of_page.session_id;
}

result<page_start> parse_page_token(const std::string& token) {
  page_start start;
  const std::size_t dot = token.find('.');
  if (dot == std::string::npos)
    return invalid("this is no token of a session list");
  const char* const end = token.data() + dot;
  const auto parsed = std::from_chars(token.data(), end, start.updated_at_ms);
  if (parsed.ec != std::errc{} || parsed.ptr != end || dot + 1 == token.size())
    return invalid("this is no token of a session list");
  start.session_id = token.substr(dot + 1);
  return start;
}

} // namespace rind::journal
