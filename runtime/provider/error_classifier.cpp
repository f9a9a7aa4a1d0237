// The order in which evidence is weighed.
#include "runtime/provider/error_classifier.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "runtime/provider/embedded_text.hpp"
#include "runtime/provider/error_evidence.hpp"
#include "runtime/provider/error_patterns.hpp"
#include "runtime/provider/phrase.hpp"
#include "runtime/provider/phrase_shape.hpp"
#include "runtime/provider/retry_hint.hpp"

namespace rind::provider {

namespace {

using enum provider_error_class;

/// Classes whose codes and words beat "too long", strongest first.
constexpr std::array<provider_error_class, 9> negative_classes{
    quota,          overloaded, rate_limit, output_limit, auth,
    content_filter, permission, not_found,  timeout};

/// Statuses on which general wordings count; 0 is an error inside a stream that names none.
constexpr std::array<int, 6> wording_statuses{0, 400, 403, 413, 422, 500};

/// Servers that answer an empty 400 or 413 to a prompt that is too long.
constexpr std::array<std::string_view, 1> empty_overflow_providers{"cerebras"};

constexpr std::string_view cut_mark = "…"; // that excerpt puts behind what it cut

constexpr std::int64_t unbelievable_factor = 4;
constexpr double doubtful_share = 0.1; // of the window

constexpr std::int64_t shrink_room_tokens =
    1'024; // of output that must be left for lowering the output limit to help
constexpr std::int64_t shrink_room_share = 16; // or this part of a small window

struct finding {
  provider_error_class error_class = unrecognised;
  std::string matched_by;
  std::optional<std::size_t> text; // which message
};

class case_file {
public:
  case_file(const response_head& head, std::string_view body, const sent_facts& sent)
      : head_(head), sent_(sent), evidence_(read_evidence(body)) {
    for (const auto& m : evidence_.messages)
      texts_.push_back(normalised(m));
    for (const auto* name : {"x-amzn-errortype", ":exception-type"})
      if (const auto type = header_value(head, name); !type.empty())
        evidence_.codes.push_back(lowered(type.substr(0, type.find(':'))));
    status_ = head.status >= 400 ? head.status : evidence_.inner_status.value_or(0);
    if (head.status >= 400 && evidence_.inner_status == 429)
      status_ = 429;
  }

  classification judge() {
    auto found = find();
    classification result;
    auto& error = result.error;
    error.error_class = found.error_class;
    error.status = head_.status;
    error.code = evidence_.codes.empty() ? std::string{} : evidence_.codes.front();
    error.message = words(found.text);
    add_numbers(error);
    if (contradicts_what_was_sent(error) && !found.matched_by.starts_with("code:"))
      found = disbelieve(error);
    add_retry(error);
    result.matched_by = std::move(found.matched_by);
    return result;
  }

private:
  // -- weighing -------------------------------------------------------------

  finding find() {
    if (status_ == 402)
      return {quota, "status:402", {}};
    for (const auto& rule : context_codes())
      if (has_code(rule.code) && status_ != 429)
        return {context_length, "code:" + std::string{rule.code}, {}};
    if (auto found = negative())
      return *found;
    if (status_ == 429)
      return {rate_limit, "status:429", {}};
    if (status_ == 401)
      return {auth, "status:401", {}};
    for (const auto rules : {exempt_wordings(), context_wordings(), other_wordings()})
      if (auto found = by_wording(rules))
        return *found;
    if (is_about_output_limit())
      return {invalid_request, "param:output limit", {}};
    if (auto found = by_code(invalid_request))
      return *found;
    if (auto found = by_general_wording())
      return *found;
    return by_status();
  }

  std::optional<finding> negative() {
    if (has_code_part("perday"))
      return finding{quota, "veto:a daily quota", {}};
    if (has_code_part("perminute"))
      return finding{rate_limit, "veto:a quota a minute", {}};
    for (const auto error_class : negative_classes) {
      if (auto found = by_wording(veto_wordings(), error_class)) {
        found->matched_by.replace(0, found->matched_by.find(':'), "veto");
        return found;
      }
      if (auto found = by_code(error_class))
        return found;
    }
    return std::nullopt;
  }

  std::optional<finding> by_wording(std::span<const wording_rule> rules,
                                    std::optional<provider_error_class> only = {}) const {
    stated_numbers ignored;
    for (const auto& rule : rules) {
      if (only && rule.error_class != *only)
        continue;
      for (std::size_t i = 0; i < texts_.size(); ++i)
        if (match_phrase(rule.phrase, texts_[i], ignored))
          return finding{rule.error_class, "wording:" + std::string{rule.phrase}, i};
    }
    return std::nullopt;
  }

  /// What unseen servers would say, on the statuses with which they say it.
  std::optional<finding> by_general_wording() const {
    if (std::find(wording_statuses.begin(), wording_statuses.end(), status_) ==
        wording_statuses.end())
      return std::nullopt;
    for (std::size_t i = 0; i < texts_.size(); ++i)
      if (const auto complaint = find_length_complaint(texts_[i]); complaint && !is_doubtful())
        return finding{context_length, "shape:" + complaint->words, i};
    return by_wording(general_context_wordings());
  }

  /// A guess by the shape of a sentence does not count where far less was sent than fits and the
  /// server gives no number.
  bool is_doubtful() const {
    const auto is_far_below =
        sent_.estimated_tokens > 0 && static_cast<double>(sent_.estimated_tokens) <
                                          doubtful_share * static_cast<double>(sent_.window_tokens);
    return is_far_below && !numbers_stated().limit;
  }

  std::optional<finding> by_code(provider_error_class error_class) const {
    for (const auto& rule : plain_codes())
      if (rule.error_class == error_class && has_code(rule.code))
        return finding{rule.error_class, "code:" + std::string{rule.code}, {}};
    return std::nullopt;
  }

  bool has_code(std::string_view code) const {
    return std::find(evidence_.codes.begin(), evidence_.codes.end(), code) != evidence_.codes.end();
  }

  bool has_code_part(std::string_view part) const {
    return std::any_of(evidence_.codes.begin(), evidence_.codes.end(),
                       [&](const auto& c) { return c.find(part) != std::string::npos; });
  }

  /// A complaint about the output limit itself, the prompt's size not being looked at.
  bool is_about_output_limit() const {
    const auto names = shape_words(shape_part::output);
    return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
      constexpr std::string_view parameter_mark = "max";
      if (!name.starts_with(parameter_mark))
        return false;
      return evidence_.param == name ||
             std::any_of(texts_.begin(), texts_.end(),
                         [&](const auto& t) { return t.find(name) <= 1; });
    });
  }

  finding by_status() const {
    const auto from = "status:" + std::to_string(status_);
    if (evidence_.is_empty && (status_ == 400 || status_ == 413) && is_known_empty_overflow())
      return {context_length, from + " without a body", {}};
    switch (status_) {
    case 0:
      return inside_stream();
    case 400:
      return {unrecognised, from, {}};
    case 403:
      return {permission, from, {}};
    case 404:
      return {not_found, from, {}};
    case 408:
    case 504:
    case 524:
      return {timeout, from, {}};
    case 413:
      return {request_too_large, from, {}};
    case 498: // groq: its flexible capacity is used up
    case 529:
      return {overloaded, from, {}};
    case 503:
      return {is_busy() ? overloaded : server_error, from, {}};
    case 424: // tgi, bedrock: the model failed
    case 499: // the server's side gave up
      return {server_error, from, {}};
    default:
      return {status_ >= 500 ? server_error : invalid_request, from, {}};
    }
  }

  bool is_busy() const {
    return std::any_of(texts_.begin(), texts_.end(), [](const auto& t) {
      return contains_any(
          t, {"overload", "busy", "loading model", "capacity", "temporarily unavailable"});
    });
  }

  finding inside_stream() const {
    const auto is_ours = has_code_part("invalid_request") || has_code_part("badrequest") ||
                         has_code_part("invalid_argument") || has_code_part("validation");
    return {is_ours ? unrecognised : server_error, "status:none", {}};
  }

  bool is_known_empty_overflow() const {
    const auto provider = lowered(sent_.provider);
    const auto known = std::any_of(
        empty_overflow_providers.begin(), empty_overflow_providers.end(),
        [&](std::string_view name) { return provider.find(name) != std::string::npos; });
    if (sent_.estimated_tokens == 0 || sent_.window_tokens == 0)
      return known;
    return known && static_cast<double>(sent_.estimated_tokens) >=
                        nearly_full_share * static_cast<double>(sent_.window_tokens);
  }

  /// A count of several times what was sent is not about this request: words of the conversation
  /// that the server repeats. Estimates are wrong by a factor of two, not of this.
  bool contradicts_what_was_sent(const provider_error& error) const {
    const auto sent = sent_.estimated_tokens + sent_.output_limit_tokens;
    return error.error_class == context_length && sent_.estimated_tokens > 0 &&
           error.requested_tokens && *error.requested_tokens / unbelievable_factor > sent;
  }

  finding disbelieve(provider_error& error) const {
    auto found = by_status();
    error.error_class = found.error_class;
    error.limit_tokens.reset();
    error.requested_tokens.reset();
    error.shrink_output_first = false;
    return found;
  }

  // -- what goes with the class ----------------------------------------------

  std::string words(std::optional<std::size_t> text) const {
    std::string result;
    const auto& messages = evidence_.messages;
    if (text)
      result = messages[*text];
    else if (!messages.empty())
      result = messages[0];
    const auto says_little = lowered(result) == "provider returned error";
    if (says_little && messages.size() > 1)
      result += ": " + messages[1];
    if (result.empty())
      result = head_.status == 0 ? "no words"
                                 : "status " + std::to_string(head_.status) + " without words";
    return excerpt(result, provider_words_bytes_max - cut_mark.size());
  }

  void add_numbers(provider_error& error) {
    if (error.error_class != context_length)
      return;
    const auto numbers = numbers_stated();
    error.limit_tokens = numbers.limit;
    error.requested_tokens = numbers.requested;
    if (!error.requested_tokens && numbers.prompt && numbers.output)
      error.requested_tokens = *numbers.prompt + *numbers.output;
    error.shrink_output_first = fits_with_less_output(error, numbers);
  }

  /// Fields of their own, then known wordings, then what any server would say. The first wins.
  stated_numbers numbers_stated() const {
    stated_numbers numbers;
    for (const auto& text : texts_)
      for (const auto& rule : context_wordings())
        match_phrase(rule.phrase, text, numbers);
    const auto is_counted = numbers.limit.has_value();
    for (const auto& text : texts_) {
      for (const auto phrase : number_phrases())
        match_phrase(phrase, text, numbers);
      if (is_counted)
        continue;
      if (const auto complaint = find_length_complaint(text))
        for (const auto phrase : sentence_number_phrases())
          match_phrase(phrase, complaint->rest, numbers);
    }
    if (!numbers.limit)
      numbers.limit = evidence_.window_tokens;
    if (!numbers.requested)
      numbers.requested = evidence_.prompt_tokens;
    return numbers;
  }

  /// Whether the prompt alone leaves room for an answer.
  bool fits_with_less_output(const provider_error& error, const stated_numbers& numbers) const {
    if (!numbers.limit || !numbers.output)
      return false;
    auto prompt = numbers.prompt;
    if (!prompt && error.requested_tokens)
      prompt = *error.requested_tokens - *numbers.output;
    if (!prompt) // not counted: the output has to be the one that leaves no room
      prompt = *numbers.output >= *numbers.limit ? sent_.estimated_tokens : *numbers.limit;
    return *numbers.limit - *prompt >=
           std::min(shrink_room_tokens, *numbers.limit / shrink_room_share);
  }

  void add_retry(provider_error& error) const {
    const auto waits = error.error_class == rate_limit || error.error_class == overloaded ||
                       error.error_class == server_error || error.error_class == timeout;
    const auto has_settled = error.error_class == context_length || error.error_class == quota;
    if (!has_settled)
      error.retry_same = should_retry(head_);
    if (waits)
      error.retry_after_s = retry_after(head_, evidence_, texts_);
    if (has_code("tool_use_failed"))
      error.retry_same = true;
    if (has_code("in_flight_budget_exhausted")) { // other requests hold the money for a moment
      error.retry_same = true;
      error.retry_after_s = retry_after(head_, evidence_, texts_);
    }
    if (error.error_class == rate_limit && is_over_the_rate_alone()) {
      error.retry_same = false;
      error.retry_after_s.reset();
    }
  }

  /// One request that is larger than the whole rate: waiting never helps.
  bool is_over_the_rate_alone() const {
    return std::any_of(texts_.begin(), texts_.end(), [](const auto& text) {
      stated_numbers n;
      const auto stated = match_phrase("limit {limit}, requested {requested}", text, n) ||
                          match_phrase("limit {limit}, used {n}, requested {requested}", text, n);
      return stated && n.requested && n.limit && *n.requested > *n.limit; // a zero is no number
    });
  }

  const response_head& head_;
  const sent_facts& sent_;
  error_evidence evidence_;
  std::vector<std::string> texts_; // normalised messages
  int status_ = 0;
};

} // namespace

classification classify(const response_head& head, std::string_view body, const sent_facts& sent) {
  return case_file{head, body, sent}.judge();
}

provider_error classify_error(const response_head& head, std::string_view body,
                              const sent_facts& sent) {
  return classify(head, body, sent).error;
}

bool may_retry_same(const provider_error& error) {
  if (error.retry_same)
    return *error.retry_same;
  switch (error.error_class) {
  case rate_limit:
  case overloaded:
  case server_error:
  case timeout:
  case stream_interrupted:
    return true;
  default:
    return false;
  }
}

} // namespace rind::provider
