// Who may use a host over its listeners: the tokens, and what the clients of each token hold
// together (S42). Shared by all connections; every function may be called on any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "messages/result.hpp"
#include "runtime/config/settings.hpp"

namespace rind::protocol {

/// What the clients of one token may hold together.
struct token_limits {
  std::int64_t connections_max = 0;
  std::int64_t requests_max = 0; // in flight
  std::int64_t sessions_max = 0; // followed at once; one that two connections follow counts twice
};

/// What one connection takes of its token's limits; given back when it goes. Belongs to the
/// connection.
class access_pass {
public:
  /// For a host without tokens: nothing is counted.
  access_pass() = default;
  ~access_pass();
  access_pass(access_pass&& other) noexcept;
  access_pass& operator=(access_pass&& other) noexcept;

  /// What logs call the token; empty without one.
  std::string_view name() const;
  /// Whether the token was taken off the list since.
  bool is_withdrawn() const;

  /// Counts one more request in flight. Fails with too_many_requests.
  result<done> begin_request();
  void end_request();
  /// How many sessions the connection follows from here on. Fewer than before always succeeds;
  /// fails with too_many_requests, and nothing changes.
  result<done> follow(std::int64_t sessions);

private:
  friend class access_list;
  struct account;
  explicit access_pass(std::shared_ptr<account> of);
  void give_back();

  std::shared_ptr<account> account_;
  std::int64_t requests_ = 0;
  std::int64_t sessions_ = 0;
};

class access_list {
public:
  /// No tokens: everybody may enter.
  access_list(const std::vector<config::named_secret>& tokens, token_limits limits);
  ~access_list();

  /// Fails with unauthorized, or with too_many_requests where the token's clients hold as many
  /// connections as they may. Takes the same time whichever token is right, and however much of one
  /// is.
  result<access_pass> enter(std::string_view token) const;
  /// Whether the token is on the list; takes no place. In constant time.
  bool knows(std::string_view token) const { return find(token) != nullptr; }
  /// Whether this is the token of the pass. In constant time.
  bool is_of(const access_pass& pass, std::string_view token) const;
  /// The tokens from here on. Those that are still there keep what their clients hold; passes of
  /// the others are withdrawn.
  void replace(const std::vector<config::named_secret>& tokens);

private:
  using accounts = std::vector<std::shared_ptr<access_pass::account>>;
  std::shared_ptr<access_pass::account> find(std::string_view token) const;

  token_limits limits_;
  mutable std::mutex mutex_; // guards the next one
  accounts accounts_;
};

} // namespace rind::protocol
