// S7, S10, S30, S32, S33: what an operation may cost is bounded by numbers of the rules; what is
// not worth another try gets none.
#include <array>

#include "tests/kit/invariants/bookkeeping.hpp"
#include "tests/kit/invariants/invariant.hpp"

namespace rind::kit {

namespace {

// Spelled out again: these are the promise, not what the runtime happens to use.
constexpr std::int64_t samplings_max = 500;
constexpr std::int64_t resumes_max = 3;
constexpr std::int64_t rescues_max = 4;
constexpr std::int64_t context_errors_max = 1 + rescues_max;
constexpr double retry_after_max_s = 60;

enum retry_group : std::size_t { stream, server, rate, retry_groups };
constexpr std::array<std::int64_t, retry_groups> retries_max{3, 3, 5};
constexpr std::array<const char*, retry_groups> group_names{"interrupted streams", "server errors",
                                                            "rate limits and overloads"};
constexpr std::int64_t retries_of_all_max = 3 + 3 + 5;
/// Between two entries that move an operation on: a compaction, once more after a conflict, each
/// with a second one for a smaller suffix.
constexpr std::int64_t summaries_max = 4 * (1 + retries_of_all_max);

std::optional<retry_group> group_of(provider_error_class c) {
  switch (c) {
  case provider_error_class::stream_interrupted:
    return stream;
  case provider_error_class::server_error:
  case provider_error_class::timeout:
    return server;
  case provider_error_class::rate_limit:
  case provider_error_class::overloaded:
    return rate;
  default:
    return std::nullopt;
  }
}

/// Nothing of the operation is tried after it (S33).
bool is_final(const provider_error& e) {
  switch (e.error_class) {
  case provider_error_class::auth:
  case provider_error_class::permission:
  case provider_error_class::quota:
  case provider_error_class::not_found:
  case provider_error_class::invalid_request:
  case provider_error_class::content_filter:
  case provider_error_class::request_too_large:
    return true;
  default:
    return e.retry_after_s && *e.retry_after_s > retry_after_max_s &&
           group_of(e.error_class) == rate;
  }
}

class bounded final : public invariant {
public:
  std::string_view name() const override { return "S32_calls_are_bounded"; }

  void on_committed(const std::string& id, const std::vector<entry_ptr>& batch) override {
    for (const auto& e : batch)
      if (!e->turn_id.empty())
        take(id, operations_[{id, e->turn_id}], *e);
  }

  void on_request(const sampling_request& r) override {
    auto& o = operations_[{r.session_id, r.turn_id}];
    if (!o.final_error.empty())
      broken(words(at(r.session_id, r.turn_id), "request ", r.request_id,
                   " reaches the model although the operation had failed with ", o.final_error));
    auto& n = r.kind == sampling_kind::compact ? o.summaries : o.requests;
    const auto most = r.kind == sampling_kind::compact ? summaries_max : 1 + retries_of_all_max;
    if (++n > most)
      broken(words(at(r.session_id, r.turn_id), n, " requests ",
                   r.kind == sampling_kind::compact ? "for a summary " : "",
                   "reached the model and nothing came of them; at most ", most, " may"));
  }

  void on_sampling_end(const sampling_request& r, const sampling_outcome& outcome) override {
    const auto* error = std::get_if<provider_error>(&outcome);
    if (!error || r.kind != sampling_kind::assistant)
      return;
    auto& o = operations_[{r.session_id, r.turn_id}];
    if (is_final(*error))
      o.final_error = to_string(error->error_class);
    if (error->error_class == provider_error_class::context_length &&
        ++o.refusals > context_errors_max + 1 + o.resumes)
      broken(words(at(r.session_id, r.turn_id), "the model refused the length ", o.refusals,
                   " times"));
    if (const auto group = group_of(error->error_class))
      if (++o.errors[*group] > retries_max[*group] + 1)
        broken(words(at(r.session_id, r.turn_id), o.errors[*group], " ", group_names[*group],
                     " in one sampling; at most ", retries_max[*group], " retries may follow"));
  }

private:
  struct operation {
    std::int64_t answers = 0; // of the operation
    std::int64_t resumes = 0;
    std::int64_t refusals = 0;
    std::int64_t context_errors = 0;
    std::int64_t rescues = 0;
    std::array<std::int64_t, retry_groups> errors{}; // of the sampling
    std::int64_t requests = 0;                       // since an entry moved it on
    std::int64_t summaries = 0;
    std::int64_t lowered_sampling = 0; // whose output limit was lowered last
    std::string final_error;
  };

  void take(const std::string& id, operation& o, const entry& e) {
    if (const auto* started = as<entries::turn_started>(e)) {
      if (started->resumed && !started->handed_over && ++o.resumes > resumes_max)
        broken(words(at(id, e.turn_id), "was resumed ", o.resumes, " times"));
      o.final_error.clear(); // the failure was not journaled
      o.errors = {};
    } else if (as<entries::assistant_message>(e)) {
      if (++o.answers > samplings_max)
        broken(words(at(id, e.turn_id), o.answers, " samplings in one operation"));
      o.errors = {};
    } else if (const auto* attempt = as<entries::attempt_started>(e)) {
      take_attempt(id, e, o, *attempt);
    } else if (!as<entries::input_delivered>(e) && !as<entries::boundary>(e)) {
      return;
    }
    o.requests = o.summaries = 0;
  }

  void take_attempt(const std::string& id, const entry& e, operation& o,
                    const entries::attempt_started& a) {
    if (a.output_limit_tokens) {
      if (o.lowered_sampling == a.sampling)
        broken(words(at(id, e.turn_id), "the output limit of sampling ", a.sampling,
                     " was lowered twice"));
      o.lowered_sampling = a.sampling;
      return;
    }
    if (a.context_errors > context_errors_max || a.rescues > rescues_max)
      broken(words(at(id, e.turn_id), "attempt after ", a.context_errors,
                   " context-length errors and ", a.rescues, " rescues"));
    const bool goes_on = a.context_errors >= o.context_errors && a.rescues >= o.rescues &&
                         a.context_errors + a.rescues > o.context_errors + o.rescues;
    if (!goes_on)
      broken(words(at(id, e.turn_id), "the count of attempts goes from ", o.context_errors,
                   " errors and ", o.rescues, " rescues to ", a.context_errors, " and ",
                   a.rescues));
    o.context_errors = a.context_errors;
    o.rescues = a.rescues;
  }

  std::map<std::pair<std::string, std::string>, operation> operations_; // by session and turn
};

} // namespace

invariant_ptr calls_are_bounded() {
  return std::make_unique<bounded>();
}

} // namespace rind::kit
