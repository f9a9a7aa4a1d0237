// What the models of a session have counted, added up from its journal: answers, summaries, and
// what was paid for and thrown away (S23). Pure; entries come in, sums go out.
#pragma once

#include <map>
#include <string>

#include "messages/journal_entry.hpp"
#include "runtime/config/models.hpp"

namespace rind::journal {

/// Tokens as a provider counted them. `cached_tokens` are part of `input_tokens`,
/// `reasoning_tokens` part of `output_tokens`.
struct usage_sum {
  std::int64_t samplings = 0; // answers, and failed attempts that were counted
  std::int64_t summaries = 0; // those that were thrown away included
  std::int64_t uncounted = 0; // of both: where the provider said no number
  std::int64_t input_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t reasoning_tokens = 0;
  friend bool operator==(const usage_sum&, const usage_sum&) = default;
};

usage_sum& operator+=(usage_sum& to, const usage_sum& other);

/// In the currency of the price.
double cost_of(const usage_sum& usage, const config::token_price& price);

class usage_ledger {
public:
  /// The next entry of the session, from the first one on.
  void take(const entry& e);

  /// By the name that the session has for the model. A model that nobody asked is not there.
  const std::map<std::string, usage_sum>& by_model() const { return by_model_; }

private:
  void take(const entries::session_created& body) { model_ = body.model; }
  void take(const entries::model_set& body) { model_ = body.model; }
  void take(const entries::assistant_message& body);
  void take(const entries::usage_recorded& body);
  void take(const entries::boundary& body);
  template <class Body>
  void take(const Body&) {} // counted nothing
  void add(const std::string& model, sampling_kind kind, const token_usage& usage);

  std::string model_; // the session's at this place of the journal
  std::map<std::string, usage_sum> by_model_;
};

} // namespace rind::journal
