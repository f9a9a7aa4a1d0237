// Each row of the tables of codes, vetoes and look-alikes decides for a case: a recorded one, or
// one of the table below. A row that nothing needs is found here, and so is one that an earlier row
// hides.
#include <set>

#include <gtest/gtest.h>

#include "runtime/provider/error_classifier.hpp"
#include "runtime/provider/error_patterns.hpp"
#include "tests/unit/provider/recorded_cases.hpp"

namespace rind::provider {
namespace {

using nlohmann::json;
using testing::recorded_cases;

/// What a row decides for, where no recorded answer leaves the decision to it. A code is given
/// alone where the words of its server decide before it: servers change their words first.
struct row_case {
  const char* decides;
  int status;
  const char* code;
  const char* message;
};

constexpr row_case row_cases[]{
    // codes
    {"code:model_context_window_exceeded", 400, "model_context_window_exceeded", ""},
    {"code:context_window_exceeded", 400, "context_window_exceeded", ""},
    {"code:input_too_large", 400, "input_too_large", ""},
    {"code:prompt_too_long", 400, "prompt_too_long", ""},
    {"code:contextwindowexceedederror", 400, "ContextWindowExceededError", ""},
    {"code:arrearage", 400, "Arrearage", "Access denied."},
    {"code:usage_limit_reached", 429, "usage_limit_reached", ""},
    {"code:exceeded_current_quota_error", 403, "exceeded_current_quota_error", ""},
    {"code:billing_error", 403, "billing_error", "Your billing is not in order."},
    {"code:billing_hard_limit_reached", 400, "billing_hard_limit_reached",
     "Billing hard limit has been reached"},
    {"code:insufficient_balance", 403, "INSUFFICIENT_BALANCE", ""},
    {"code:1113", 429, "1113", ""},
    {"code:token_quota_reached", 403, "token_quota_reached", ""},
    {"code:budget_exceeded", 400, "budget_exceeded", ""},
    {"code:in_flight_budget_exhausted", 403, "in_flight_budget_exhausted", ""},
    {"code:engine_overloaded_error", 429, "engine_overloaded_error", ""},
    {"code:server_is_overloaded", 503, "server_is_overloaded", ""},
    {"code:overloaded", 429, "overloaded", ""},
    {"code:rate_limit_exceeded", 429, "rate_limit_exceeded", ""},
    {"code:rate_limit_error", 429, "rate_limit_error", "This request would exceed your allowance."},
    {"code:throttling_error", 429, "throttling_error", ""},
    {"code:token_quota_exceeded", 429, "token_quota_exceeded", ""},
    {"code:too_many_tokens_error", 429, "too_many_tokens_error", ""},
    {"code:too_many_requests", 429, "too_many_requests", ""},
    {"code:tokens", 413, "tokens", "Request too large for this tier."},
    {"code:requests", 429, "requests", ""},
    {"code:resource_exhausted", 429, "RESOURCE_EXHAUSTED", "Resource has been exhausted."},
    {"code:ratelimitreached", 429, "RateLimitReached", ""},
    {"code:request_limit_exceeded", 403, "REQUEST_LIMIT_EXCEEDED", ""},
    {"code:1302", 429, "1302", ""},
    {"code:1303", 429, "1303", ""},
    {"code:invalid_api_key", 401, "invalid_api_key", ""},
    {"code:api_key_invalid", 400, "API_KEY_INVALID", ""},
    {"code:authentication_error", 401, "authentication_error", ""},
    {"code:unauthenticated", 401, "UNAUTHENTICATED", "Request had invalid credentials."},
    {"code:expiredtokenexception", 403, "ExpiredTokenException", ""},
    {"code:unrecognizedclientexception", 403, "UnrecognizedClientException", ""},
    {"code:invalidsignatureexception", 403, "InvalidSignatureException",
     "Signature expired: it is earlier than the clock of the server."},
    {"code:content_policy_violation", 400, "content_policy_violation",
     "Your request was rejected by our safety system."},
    {"code:responsibleaipolicyviolation", 400, "ResponsibleAIPolicyViolation", ""},
    {"code:1301", 400, "1301", ""},
    {"code:invalid_prompt", 400, "invalid_prompt", ""},
    {"code:access_denied", 403, "access_denied", "No."},
    {"code:unsupported_country_region_territory", 403, "unsupported_country_region_territory", ""},
    {"code:resourcenotfoundexception", 404, "ResourceNotFoundException",
     "This model version has reached the end of its life."},
    {"code:timeout_error", 504, "timeout_error", "The request took too long."},
    {"code:deadline_exceeded", 504, "DEADLINE_EXCEEDED", ""},
    {"code:modeltimeoutexception", 408, "ModelTimeoutException",
     "The processing time went over the model's own."},
    {"code:array_above_max_length", 400, "array_above_max_length", ""},
    {"code:unsupported_parameter", 400, "unsupported_parameter", ""},
    {"code:unsupported_value", 400, "unsupported_value",
     "'temperature' does not support 0.2 with this model."},
    {"code:tool_use_failed", 400, "tool_use_failed", ""},
    {"code:base_resp 1001", 200, "base_resp 1001", ""},
    {"code:base_resp 1002", 200, "base_resp 1002", ""},
    {"code:base_resp 1004", 200, "base_resp 1004", "login fail"},
    {"code:base_resp 1008", 200, "base_resp 1008", ""},
    {"code:base_resp 1027", 200, "base_resp 1027", ""},
    {"code:base_resp 2049", 200, "base_resp 2049", ""},
    // vetoes
    {"veto:insufficient credits", 400, "", "Insufficient credits. Add more in the settings."},
    {"veto:requires more credits", 400, "",
     "This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, "
     "but can only afford 4000."},
    {"veto:insufficient quota", 400, "", "Insufficient quota for this request."},
    {"veto:out of credits", 403, "", "You are out of credits."},
    {"veto:no credits left", 403, "", "There are no credits left on this account."},
    {"veto:spend limit", 403, "", "The spend limit of your team is reached."},
    {"veto:check your billing", 400, "", "Please check your billing settings."},
    {"veto:billing details", 429, "", "Please add billing details to go on."},
    {"veto:monthly limit", 429, "", "You have reached your monthly limit for this model."},
    {"veto:all available credits", 403, "", "Your team has used all available credits."},
    {"veto:included credits", 400, "", "You have used up your included credits."},
    {"veto:payment method", 429, "", "To go on, add a payment method to your account."},
    {"veto:usage limit reached", 429, "",
     "Usage limit reached for 5 hour. It will reset at 18:00."},
    {"veto:premium request", 429, "", "You have no premium requests any more."},
    {"veto:can only afford", 400, "", "You requested up to 8192 tokens, but can only afford 1024."},
    {"veto:capacity temporarily exceeded", 429, "",
     "Capacity temporarily exceeded, please try again."},
    {"veto:server is overloaded", 503, "", "The server is overloaded or not ready yet."},
    {"veto:currently experiencing high demand", 503, "",
     "This model is currently experiencing high demand. Please try again later."},
    {"veto:rate-limit", 429, "", "some/model is temporarily rate-limited upstream."},
    {"veto:ratelimit", 429, "", "litellm.RateLimitError: the upstream refused."},
    {"veto:per-minute", 429, "", "This would exceed the per-minute allowance of input tokens."},
    {"veto:per min)", 429, "", "The limit (60 requests per min) is reached."},
    {"veto:(tpm)", 413, "", "Request too large on tokens (TPM): Limit 6000, Requested 9000."},
    {"veto:(tpd)", 429, "", "Limit reached on tokens (TPD): Limit 100000, Used 99000."},
    {"veto:(rpm)", 429, "", "Limit reached on requests (RPM): Limit 30, Used 30."},
    {"veto:requests per day", 429, "", "This model takes 50 requests per day."},
    {"veto:per hour", 429, "", "At most 100 prompts per hour."},
    {"veto:per second", 429, "", "At most 10 prompts per second."},
    {"veto:throttl", 400, "", "Request was throttled."},
    {"veto:concurrent request", 429, "", "Too many concurrent requests for this model."},
    {"veto:{n} api calls / minute", 429, "",
     "You are using a Trial key, which is limited to 10 API calls / minute."},
    {"veto:tokens per min", 429, "", "Limit: 10000 tokens per min."},
    {"veto:requests per min", 429, "", "Limit: 3 requests per min."},
    {"veto:invalid api key", 400, "", "Invalid API Key"},
    {"veto:token is expired", 403, "", "The token is expired."},
    {"veto:jwt", 403, "", "The JWT cannot be read."},
    {"veto:bearer token", 400, "", "No bearer token was given."},
    {"veto:authentication token", 403, "", "The authentication token is not known."},
    {"veto:considered high risk", 400, "",
     "The request was rejected because it was considered high risk"},
    {"veto:content exists risk", 400, "", "Content Exists Risk"},
    {"veto:usage policy", 400, "", "This would break our usage policy."},
    {"veto:violating our~policy", 400, "", "Refused as potentially violating our content policy."},
    {"veto:limited access to this content", 400, "",
     "We've limited access to this content for safety reasons."},
    {"veto:client.timeout", 500, "",
     "net/http: request canceled (Client.Timeout exceeded while awaiting headers)"},
    // look-alikes
    {"wording:content too large", 413, "", "Content Too Large"},
    {"wording:payload too large", 413, "", "Payload Too Large"},
    {"wording:body too large", 413, "", "http: request body too large"},
    {"wording:request body is too large", 413, "",
     "The request body is too large and exceeds the maximum permissible limit."},
    {"wording:max_tokens` must be less than or equal", 400, "",
     "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is "
     "less "
     "than the `context_window` for this model"},
    {"wording:max_tokens is too large", 400, "", "max_tokens is too large: 100000."},
    {"wording:max_tokens must be less", 400, "", "max_tokens must be less than 8193."},
    {"wording:unexpected `tool_use_id`", 400, "",
     "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1."},
    {"wording:no tool output found", 400, "", "No tool output found for function call call_1."},
    {"wording:without its required following item", 400, "",
     "Item 'rs_1' of type 'reasoning' was provided without its required following item."},
    {"wording:content management policy", 400, "",
     "The response was filtered due to the prompt triggering the content management policy."},
    {"wording:inappropriate content", 400, "", "Input data may contain inappropriate content."},
    {"wording:flagged by", 400, "", "Input flagged by the moderation of this gateway."},
    {"wording:does not have permission", 403, "",
     "Your API key does not have permission to use the specified resource."},
    {"wording:does not exist or you do not have access", 404, "",
     "The model `m` does not exist or you do not have access to it."},
    {"wording:output token limit", 400, "",
     "Requested output exceeds the output token limit of this model"},
    {"wording:text bytes", 400, "", "The request holds too many text bytes."},
};

std::string body_of(const row_case& c) {
  constexpr std::string_view minimax = "base_resp ";
  const std::string_view code = c.code;
  if (code.starts_with(minimax))
    return json{{"base_resp",
                 {{"status_code", std::stoi(std::string(code.substr(minimax.size())))},
                  {"status_msg", c.message}}}}
        .dump();
  json error{{"message", c.message}};
  if (!code.empty())
    error["code"] = code;
  return json{{"error", error}}.dump();
}

struct pattern_row {
  std::string name; // as `matched_by` names it
  std::string_view seen_at;
};

std::vector<pattern_row> all_rows() {
  std::vector<pattern_row> rows;
  const auto add = [&](const char* kind, std::string_view pattern, std::string_view seen_at) {
    rows.push_back({std::string(kind) + ":" + std::string(pattern), seen_at});
  };
  for (const auto& r : context_codes())
    add("code", r.code, r.seen_at);
  for (const auto& r : plain_codes())
    add("code", r.code, r.seen_at);
  for (const auto& r : veto_wordings())
    add("veto", r.phrase, r.seen_at);
  for (const auto rules : {exempt_wordings(), other_wordings()})
    for (const auto& r : rules)
      add("wording", r.phrase, r.seen_at);
  return rows;
}

/// The class that the tables give to what decides so.
std::optional<provider_error_class> class_of(std::string_view decides) {
  const auto pattern = decides.substr(decides.find(':') + 1);
  for (const auto& r : context_codes())
    if (r.code == pattern)
      return provider_error_class::context_length;
  for (const auto& r : plain_codes())
    if (r.code == pattern)
      return r.error_class;
  for (const auto rules : {veto_wordings(), exempt_wordings(), other_wordings()})
    for (const auto& r : rules)
      if (r.phrase == pattern)
        return r.error_class;
  return std::nullopt;
}

/// What decides for the recorded answers: for their bodies, or for an event of their streams.
std::set<std::string> recorded_decisions() {
  std::set<std::string> decisions;
  for (const auto& c : recorded_cases()) {
    response_head head{c["status"], {}};
    const auto headers = c.value("headers", json::object());
    for (const auto& [name, value] : headers.items())
      head.headers.push_back({name, value});
    const auto sent = testing::facts_of(c);
    const std::string body = c["body"];
    decisions.insert(classify(head, body, sent).matched_by);
    sse_parser parser;
    for (const auto& event : parser.feed(body).events)
      decisions.insert(classify(head, event.data, sent).matched_by);
  }
  return decisions;
}

TEST(pattern_rows, each_row_decides_for_a_case) {
  auto decisions = recorded_decisions();
  for (const auto& c : row_cases)
    decisions.insert(c.decides);
  for (const auto& row : all_rows())
    EXPECT_TRUE(decisions.contains(row.name))
        << row.name << " (" << row.seen_at << ") decides for no case: add the one it is there for";
}

TEST(pattern_rows, each_case_is_decided_by_its_row) {
  for (const auto& c : row_cases) {
    const auto found = classify({c.status, {}}, body_of(c), {});
    EXPECT_EQ(found.matched_by, c.decides);
    EXPECT_EQ(found.error.error_class, class_of(c.decides)) << c.decides;
  }
}

TEST(pattern_rows, no_row_stands_twice) {
  std::set<std::string> names;
  for (const auto& row : all_rows())
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
}

} // namespace
} // namespace rind::provider
