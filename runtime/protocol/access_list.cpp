// Counters that never pass their limit, whoever adds at the same time.
#include "runtime/protocol/access_list.hpp"

#include <algorithm>
#include <utility>

#include "runtime/protocol/secret_compare.hpp"

namespace rind::protocol {

struct access_pass::account {
  std::string name;
  config::secret token;
  token_limits limits;
  std::atomic<std::int64_t> connections = 0;
  std::atomic<std::int64_t> requests = 0;
  std::atomic<std::int64_t> sessions = 0;
  std::atomic<bool> withdrawn = false;
};

namespace {

bool add_within(std::atomic<std::int64_t>& count, std::int64_t more, std::int64_t limit) {
  auto now = count.load();
  do
    if (now + more > limit)
      return false;
  while (!count.compare_exchange_weak(now, now + more));
  return true;
}

failure over_limit(const std::string& what, std::int64_t limit) {
  return make_failure(error_code::too_many_requests,
                      "the clients of this token may have " + std::to_string(limit) + " " + what);
}

} // namespace

access_pass::access_pass(std::shared_ptr<account> of) : account_(std::move(of)) {}

access_pass::~access_pass() {
  give_back();
}

access_pass::access_pass(access_pass&& other) noexcept
    : account_(std::move(other.account_)),
      requests_(std::exchange(other.requests_, 0)),
      sessions_(std::exchange(other.sessions_, 0)) {}

access_pass& access_pass::operator=(access_pass&& other) noexcept {
  if (this == &other)
    return *this;
  give_back();
  account_ = std::move(other.account_);
  requests_ = std::exchange(other.requests_, 0);
  sessions_ = std::exchange(other.sessions_, 0);
  return *this;
}

void access_pass::give_back() {
  if (!account_)
    return;
  account_->connections -= 1;
  account_->requests -= requests_;
  account_->sessions -= sessions_;
  account_.reset();
}

std::string_view access_pass::name() const {
  return account_ ? std::string_view(account_->name) : std::string_view();
}

bool access_pass::is_withdrawn() const {
  return account_ && account_->withdrawn;
}

result<done> access_pass::begin_request() {
  if (account_ && !add_within(account_->requests, 1, account_->limits.requests_max))
    return over_limit("requests in flight", account_->limits.requests_max);
  ++requests_;
  return done{};
}

void access_pass::end_request() {
  --requests_;
  if (account_)
    account_->requests -= 1;
}

result<done> access_pass::follow(std::int64_t sessions) {
  const auto more = sessions - sessions_;
  if (account_ && more < 0)
    account_->sessions += more;
  else if (account_ && !add_within(account_->sessions, more, account_->limits.sessions_max))
    return over_limit("sessions at once", account_->limits.sessions_max);
  sessions_ = sessions;
  return done{};
}

access_list::access_list(const std::vector<config::named_secret>& tokens, token_limits limits)
    : limits_(limits) {
  replace(tokens);
}

access_list::~access_list() = default;

// Looks at every token, so that the time tells nothing.
std::shared_ptr<access_pass::account> access_list::find(std::string_view token) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<access_pass::account> found;
  for (const auto& one : accounts_)
    if (equal_in_constant_time(one->token.reveal(), token))
      found = one;
  return found;
}

result<access_pass> access_list::enter(std::string_view token) const {
  {
    const std::lock_guard lock(mutex_);
    if (accounts_.empty())
      return access_pass();
  }
  auto found = find(token);
  if (!found)
    return make_failure(error_code::unauthorized, "initialize needs a token of this server");
  if (!add_within(found->connections, 1, found->limits.connections_max))
    return over_limit("connections", found->limits.connections_max);
  return access_pass(std::move(found));
}

bool access_list::is_of(const access_pass& pass, std::string_view token) const {
  return !pass.account_ || equal_in_constant_time(pass.account_->token.reveal(), token);
}

void access_list::replace(const std::vector<config::named_secret>& tokens) {
  const std::lock_guard lock(mutex_);
  accounts before = std::exchange(accounts_, {});
  for (const auto& token : tokens) {
    const auto same = std::find_if(before.begin(), before.end(), [&](const auto& one) {
      return one->token.reveal() == token.value.reveal();
    });
    if (same != before.end()) {
      accounts_.push_back(*same);
      continue;
    }
    auto made = std::make_shared<access_pass::account>();
    made->name = token.name;
    made->token = token.value;
    made->limits = limits_;
    accounts_.push_back(std::move(made));
  }
  for (const auto& one : before)
    one->withdrawn = std::find(accounts_.begin(), accounts_.end(), one) == accounts_.end();
}

} // namespace rind::protocol
