// Codes of provider errors.
#include <array>

#include "runtime/provider/error_patterns.hpp"

namespace rind::provider {

namespace {

using enum provider_error_class;

/// A row: the code, and where it was seen.
constexpr std::array<context_code, 13> context_code_table{{
    {"context_length_exceeded", "openai"},
    {"model_max_prompt_tokens_exceeded", "github copilot"},
    {"exceed_context_size_error", "llama.cpp"},
    {"invalid_request_prompt_too_long", "mistral"},
    {"model_context_window_exceeded", "anthropic, z.ai"},
    {"context_window_exceeded", "gateways"},
    {"input_too_large", "xai"},
    {"prompt_too_long", "gateways"},
    {"contextwindowexceedederror", "litellm"},
    {"tokens_limit_reached", "github models"},
    {"outofcontexterror", "volcengine"},
    {"tokens_too_long", "baidu"},
    {"1261", "z.ai"},
}};

constexpr std::array<code_rule, 73> plain_code_table{{
    {"arrearage", quota, "qwen"},
    {"insufficient_quota", quota, "openai"},
    {"usage_limit_reached", quota, "openai plans"},
    {"usage_not_included", quota, "openai plans"},
    {"exceeded_current_quota_error", quota, "moonshot"},
    {"billing_error", quota, "anthropic"},
    {"billing_hard_limit_reached", quota, "openai"},
    {"insufficient_balance", quota, "gateways"},
    {"1113", quota, "z.ai"},
    {"token_quota_reached", quota, "watsonx"},
    {"budget_exceeded", quota, "litellm"},
    {"base_resp 1008", quota, "minimax"},
    {"in_flight_budget_exhausted", quota, "openrouter"},
    {"engine_overloaded_error", overloaded, "moonshot"},
    {"overloaded_error", overloaded, "anthropic"},
    {"server_is_overloaded", overloaded, "openai responses"},
    {"slow_down", overloaded, "openai responses"},
    {"overloaded", overloaded, "tgi"},
    {"rate_limit_exceeded", rate_limit, "openai, groq"},
    {"rate_limit_error", rate_limit, "anthropic"},
    {"ratelimitexceeded", rate_limit, "vertex"},
    {"throttling_error", rate_limit, "litellm over azure"},
    {"throttlingexception", rate_limit, "bedrock"},
    {"token_quota_exceeded", rate_limit, "cerebras"},
    {"too_many_tokens_error", rate_limit, "cerebras"},
    {"too_many_requests", rate_limit, "gateways"},
    {"service_tier_capacity_exceeded", rate_limit, "mistral"},
    {"tokens", rate_limit, "openai, groq"},
    {"requests", rate_limit, "openai, groq"},
    {"resource_exhausted", rate_limit, "gemini, vertex"},
    {"base_resp 1002", rate_limit, "minimax"},
    {"base_resp 1039", rate_limit, "minimax, tokens a minute"},
    {"ratelimitreached", rate_limit, "github models"},
    {"request_limit_exceeded", rate_limit, "databricks"},
    {"1302", rate_limit, "z.ai"},
    {"1303", rate_limit, "z.ai"},
    {"invalid_api_key", auth, "openai"},
    {"api_key_invalid", auth, "gemini"},
    {"authentication_error", auth, "anthropic"},
    {"unauthenticated", auth, "vertex"},
    {"expiredtokenexception", auth, "bedrock"},
    {"unrecognizedclientexception", auth, "bedrock"},
    {"invalidsignatureexception", auth, "bedrock"},
    {"base_resp 1004", auth, "minimax"},
    {"base_resp 2049", auth, "minimax"},
    {"content_filter", content_filter, "azure"},
    {"content_policy_violation", content_filter, "openai images"},
    {"responsibleaipolicyviolation", content_filter, "azure"},
    {"data_inspection_failed", content_filter, "qwen"},
    {"prohibited_content", content_filter, "gemini"},
    {"base_resp 1026", content_filter, "minimax, input"},
    {"base_resp 1027", content_filter, "minimax, output"},
    {"1301", content_filter, "z.ai"},
    {"invalid_prompt", content_filter, "openai responses"},
    {"permission_error", permission, "anthropic"},
    {"permission_denied", permission, "vertex"},
    {"access_denied", permission, "gateways"},
    {"accessdeniedexception", permission, "bedrock"},
    {"unsupported_country_region_territory", permission, "openai"},
    {"model_not_found", not_found, "openai"},
    {"not_found_error", not_found, "anthropic, ollama"},
    {"deploymentnotfound", not_found, "azure"},
    {"resourcenotfoundexception", not_found, "bedrock"},
    {"timeout_error", timeout, "anthropic"},
    {"deadline_exceeded", timeout, "gemini"},
    {"base_resp 1001", timeout, "minimax"},
    {"modeltimeoutexception", timeout, "bedrock"},
    {"string_above_max_length", invalid_request, "openai, one field"},
    {"array_above_max_length", invalid_request, "openai, one field"},
    {"unsupported_parameter", invalid_request, "openai"},
    {"unsupported_value", invalid_request, "openai"},
    {"unknown_parameter", invalid_request, "openai"},
    {"tool_use_failed", invalid_request, "groq, the model's own call"},
}};

} // namespace

std::span<const context_code> context_codes() {
  return context_code_table;
}

std::span<const code_rule> plain_codes() {
  return plain_code_table;
}

} // namespace rind::provider
