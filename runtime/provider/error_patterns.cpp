// Codes and wordings of provider errors.
#include "runtime/provider/error_patterns.hpp"

#include <array>

namespace rind::provider {

namespace {

using enum provider_error_class;

constexpr std::array<std::string_view, 10> context_code_table{
    "context_length_exceeded",
    "model_max_prompt_tokens_exceeded",
    "exceed_context_size_error",
    "invalid_request_prompt_too_long",
    "model_context_window_exceeded",
    "context_window_exceeded",
    "input_too_large",
    "prompt_too_long",
    "contextwindowexceedederror",
    "tokens_limit_reached",
};

constexpr std::array<code_rule, 51> plain_code_table{{
    {"insufficient_quota", quota},
    {"usage_limit_reached", quota},
    {"usage_not_included", quota},
    {"exceeded_current_quota_error", quota},
    {"billing_error", quota},
    {"billing_hard_limit_reached", quota},
    {"insufficient_balance", quota},
    {"1113", quota},
    {"engine_overloaded_error", overloaded},
    {"overloaded_error", overloaded},
    {"server_is_overloaded", overloaded},
    {"slow_down", overloaded},
    {"overloaded", overloaded},
    {"rate_limit_exceeded", rate_limit},
    {"rate_limit_error", rate_limit},
    {"ratelimitexceeded", rate_limit},
    {"throttling_error", rate_limit},
    {"throttlingexception", rate_limit},
    {"token_quota_exceeded", rate_limit},
    {"too_many_tokens_error", rate_limit},
    {"too_many_requests", rate_limit},
    {"service_tier_capacity_exceeded", rate_limit},
    {"tokens", rate_limit},
    {"requests", rate_limit},
    {"resource_exhausted", rate_limit},
    {"invalid_api_key", auth},
    {"api_key_invalid", auth},
    {"authentication_error", auth},
    {"unauthenticated", auth},
    {"content_filter", content_filter},
    {"content_policy_violation", content_filter},
    {"responsibleaipolicyviolation", content_filter},
    {"data_inspection_failed", content_filter},
    {"prohibited_content", content_filter},
    {"permission_error", permission},
    {"permission_denied", permission},
    {"access_denied", permission},
    {"model_not_found", not_found},
    {"not_found_error", not_found},
    {"deploymentnotfound", not_found},
    {"timeout_error", timeout},
    {"deadline_exceeded", timeout},
    {"string_above_max_length", invalid_request},
    {"array_above_max_length", invalid_request},
    {"unsupported_parameter", invalid_request},
    {"unsupported_value", invalid_request},
    {"unknown_parameter", invalid_request},
    {"tool_use_failed", invalid_request},
    {"expiredtokenexception", auth},
    {"unrecognizedclientexception", auth},
    {"invalidsignatureexception", auth},
}};

constexpr std::array<wording_rule, 45> veto_table{{
    {"extra usage is required", quota, "anthropic, long context without extra usage"},
    {"credit balance", quota, "anthropic, no credit"},
    {"exceeded your current quota", quota, "openai, gemini a day"},
    {"exceeded current quota", quota, "moonshot"},
    {"usage limit has been reached", quota, "openai plans"},
    {"insufficient balance", quota, "deepseek, z.ai"},
    {"insufficient credits", quota, "openrouter"},
    {"requires more credits", quota, "openrouter 402"},
    {"insufficient quota", quota, "…"},
    {"out of credits", quota, "…"},
    {"no credits", quota, "…"},
    {"spending limit", quota, "…"},
    {"spend limit", quota, "…"},
    {"check your billing", quota, "…"},
    {"billing details", quota, "…"},
    {"monthly limit", quota, "…"},
    {"model is overloaded", overloaded, "tgi, gemini"},
    {"currently overloaded", overloaded, "openai, moonshot"},
    {"server is overloaded", overloaded, "…"},
    {"rate limit", rate_limit, "openai, anthropic, azure"},
    {"rate-limit", rate_limit, "openrouter upstream"},
    {"ratelimit", rate_limit, "litellm"},
    {"per minute", rate_limit, "groq, cerebras"},
    {"per-minute", rate_limit, "anthropic"},
    {"per min ", rate_limit, "openai"},
    {"per min)", rate_limit, "openai"},
    {"(tpm)", rate_limit, "openai, groq"},
    {"(tpd)", rate_limit, "groq"},
    {"(rpm)", rate_limit, "…"},
    {"tokens per day", rate_limit, "groq"},
    {"requests per day", rate_limit, "…"},
    {"per hour", rate_limit, "…"},
    {"per second", rate_limit, "…"},
    {"too many requests", rate_limit, "…"},
    {"please wait before trying again", rate_limit, "bedrock throttling"},
    {"throttl", rate_limit, "bedrock"},
    {"concurrent", rate_limit, "…"},
    {"could not finish the message because max_tokens", output_limit,
     "azure, reasoning used the whole limit"},
    {"api key not valid", auth, "gemini"},
    {"incorrect api key", auth, "openai"},
    {"invalid api key", auth, "…"},
    {"invalid x-api-key", auth, "anthropic"},
    {"was flagged", content_filter, "openai, openrouter moderation"},
    {"considered high risk", content_filter, "moonshot"},
    {"content exists risk", content_filter, "deepseek"},
}};

constexpr std::array<wording_rule, 57> context_table{{
    {"maximum context length is {limit} tokens. however, your messages resulted in {requested} "
     "tokens",
     context_length, "openai chat"},
    {"maximum context length is {limit} tokens, however you requested {requested} tokens ({prompt} "
     "in your prompt; {output} for the completion)",
     context_length, "openai completions"},
    {"maximum context length is {limit} tokens. however, you requested {requested} tokens "
     "({prompt} in the messages, {output} in the completion)",
     context_length, "openai, deepseek, vllm"},
    {"maximum context length is {limit} tokens. however, you requested {output} output tokens and "
     "your prompt contains at least {prompt} input tokens, for a total of at least {requested} "
     "tokens",
     context_length, "vllm"},
    {"maximum context length is {limit} tokens. however, you requested {output} output tokens and "
     "your prompt contains at least {prompt} input tokens",
     context_length, "vllm behind a gateway"},
    {"maximum context length is {limit} tokens. however, you requested about {requested} tokens "
     "({prompt} of text input, {output} in the output)",
     context_length, "openrouter"},
    {"maximum context length is {limit} tokens. however, you requested about {requested} tokens "
     "({n} of text input, {n} of tool input, {output} in the output)",
     context_length, "openrouter with tools"},
    {"maximum context length is {limit} tokens. however, you requested about {requested} tokens",
     context_length, "openrouter"},
    {"maximum context length is {limit} tokens. however, you requested {requested} tokens",
     context_length, "openai, vllm"},
    {"is too large: {output}. this model's maximum context length is {limit} tokens and your "
     "request has {prompt} input tokens",
     context_length, "vllm, output beside the prompt"},
    {"input tokens exceed the configured limit of {limit} tokens. your messages resulted in "
     "{requested} tokens",
     context_length, "openai, input cap"},
    {"requested token count exceeds the model's maximum context length of {limit} tokens. you "
     "requested a total of {requested} tokens: {prompt} tokens from the input messages and "
     "{output} tokens for the completion",
     context_length, "sglang"},
    {"requested token count exceeds the model's maximum context length", context_length, "sglang"},
    {"prompt is too long: {requested} tokens > {limit} maximum", context_length, "anthropic"},
    {"prompt is too long: {requested}, model maximum context length: {limit}", context_length,
     "ollama cloud"},
    {"prompt is too long", context_length, "anthropic on vertex"},
    {"input length and `max_tokens` exceed context limit: {prompt} + {output} > {limit}",
     context_length, "anthropic, sum"},
    {"input length and max_tokens exceed context limit: {prompt} + {output} > {limit}",
     context_length, "anthropic, sum"},
    {"input token count ({requested}) exceeds the maximum number of tokens allowed ({limit})",
     context_length, "gemini"},
    {"input token count exceeds the maximum number of tokens allowed {limit}", context_length,
     "gemini without its count"},
    {"prompt contains {requested} tokens~too large for model with {limit} maximum context length",
     context_length, "mistral"},
    {"prompt {requested} > {limit} maximum context length", context_length, "mistral, newer"},
    {"prompt (length {requested}) is longer than the maximum model length of {limit}",
     context_length, "vllm, decoder prompt"},
    {"must be at least 1, got -{n}", context_length, "vllm, no room left for output"},
    {"context length is only {limit} tokens", context_length, "vllm, counts cut short"},
    {"context size has been exceeded", context_length, "llama.cpp in mid-stream"},
    {"exceeds the available context size", context_length, "llama.cpp"},
    {"(n_keep: {requested}>= n_ctx: {limit})", context_length, "lm studio"},
    {"trying to keep the first {requested} tokens~context length of only {limit} tokens",
     context_length, "lm studio, streamed"},
    {"`inputs` tokens + `max_new_tokens` must be <= {limit}. given: {prompt} `inputs` tokens and "
     "{output} `max_new_tokens`",
     context_length, "tgi"},
    {"`inputs` must have less than {limit} tokens. given: {requested}", context_length, "tgi"},
    {"input is too long for requested model", context_length, "bedrock"},
    {"prompt tokens ({requested}) exceed model maximum ({limit})", context_length,
     "bedrock, openai form"},
    {"maximum prompt length is {limit} but the request contains {requested} tokens", context_length,
     "xai"},
    {"({requested} tokens) exceeds budget ({limit} tokens)", context_length, "xai, newer"},
    {"current length is {requested} while limit is {limit}", context_length, "cerebras"},
    {"prompt token count of {requested} exceeds the limit of {limit}", context_length, "copilot"},
    {"too large for model context window", context_length, "copilot, messages form"},
    {"exceeded model token limit: {limit} (requested: {requested})", context_length, "kimi"},
    {"context window exceeds limit", context_length, "minimax"},
    {"prompt exceeds max length", context_length, "z.ai 1261"},
    {"tokens in request more than max tokens allowed", context_length, "z.ai 1210"},
    {"range of input length should be [{n}, {limit}]", context_length, "qwen"},
    {"number of tokens in the prompt cannot exceed {limit} - received {requested}", context_length,
     "cohere"},
    {"number of input tokens {requested} cannot exceed the total tokens limit {limit}",
     context_length, "watsonx"},
    {"input length {requested} exceeds the maximum allowed input length of {limit} tokens",
     context_length, "poolside"},
    {"exceeds the context window of this model", context_length, "openai responses"},
    {"maximum context length is {limit} tokens. however, your request has {requested} input tokens",
     context_length, "vllm, newer"},
    {"prompt length {requested} exceeds the max_model_len {limit}", context_length, "vllm, engine"},
    {"({requested} tokens) is longer than the model's context length ({limit} tokens)",
     context_length, "sglang, input"},
    {"({requested} tokens) exceeds the maximum allowed length ({limit} tokens)", context_length,
     "sglang, input"},
    {"length ({requested}) exceeds maximum input length ({limit})", context_length, "tensorrt"},
    {"reached context length of {limit} tokens", context_length, "lm studio in mid-stream"},
    {"input and maximum output tokens ({requested}) exceeded this model context window limit "
     "({limit})",
     context_length, "workers ai"},
    {"input token count is {requested} but model only supports up to {limit}", context_length,
     "vertex"},
    {"too large for~model. max size: {limit} tokens", context_length, "azure inference"},
    {"max tokens of {limit} exceeded", context_length, "snowflake"},
}};

constexpr std::array<wording_rule, 39> other_table{{
    {"payload size", request_too_large, "gemini, bytes"},
    {"exceeds the maximum size", request_too_large, "anthropic 413"},
    {"entity too large", request_too_large, "nginx"},
    {"content too large", request_too_large, "…"},
    {"payload too large", request_too_large, "…"},
    {"body too large", request_too_large, "…"},
    {"request body is too large", request_too_large, "…"},
    {"string value length ({n}) exceeds the maximum allowed", request_too_large,
     "qwen, one string"},
    {"image exceeds", invalid_request, "anthropic, one image"},
    {"string too long", invalid_request, "openai, one field"},
    {"maximum allowed number of output tokens", invalid_request, "anthropic, max_tokens"},
    {"supports at most {n} completion tokens", invalid_request, "openai, max_tokens"},
    {"max_tokens~cannot be greater than max_model_len", invalid_request, "vllm, max_tokens"},
    {"max_completion_tokens` must be less than or equal", invalid_request, "groq"},
    {"max_tokens` must be less than or equal", invalid_request, "groq"},
    {"max_tokens is too large", invalid_request, "openai"},
    {"max_tokens must be less", invalid_request, "…"},
    {"max_tokens value", invalid_request, "deepseek"},
    {"unsupported parameter", invalid_request, "openai"},
    {"must be followed by tool messages", invalid_request, "openai, pairing"},
    {"`tool_use` ids were found without `tool_result`", invalid_request, "anthropic, pairing"},
    {"unexpected `tool_use_id`", invalid_request, "anthropic, pairing"},
    {"no tool output found", invalid_request, "openai responses, pairing"},
    {"no tool call found", invalid_request, "openai responses, pairing"},
    {"without its required following item", invalid_request, "openai responses, reasoning"},
    {"`signature` in `thinking` block", invalid_request, "anthropic, thinking"},
    {"blocks in the latest assistant message cannot be modified", invalid_request,
     "anthropic, thinking"},
    {"failed to call a function", invalid_request, "groq, the model's own call"},
    {"content management policy", content_filter, "azure"},
    {"content filtering policy", content_filter, "anthropic"},
    {"inappropriate content", content_filter, "qwen"},
    {"flagged by", content_filter, "…"},
    {"not yet available for this subscription", permission, "anthropic, long context beta"},
    {"does not have permission", permission, "anthropic"},
    {"does not exist or you do not have access", not_found, "openai"},
    {"maximum pending requests exceeded", overloaded, "ollama"},
    {"output token limit", invalid_request, "…"},
    {"array too long", invalid_request, "openai, one field"},
    {"text bytes", request_too_large, "bedrock"},
}};

constexpr std::array<wording_rule, 47> general_table{{
    {"maximum context length", context_length, "…"},
    {"max context length", context_length, "…"},
    {"context length exceeded", context_length, "…"},
    {"context_length_exceeded", context_length, "…"},
    {"exceed~context length", context_length, "…"},
    {"exceed~context window", context_length, "…"},
    {"exceed~context size", context_length, "…"},
    {"exceed~context limit", context_length, "…"},
    {"context window~exceed", context_length, "…"},
    {"context limit~exceed", context_length, "…"},
    {"context size~exceed", context_length, "…"},
    {"larger than the context", context_length, "…"},
    {"longer than the~context", context_length, "…"},
    {"greater than the context", context_length, "…"},
    {"not fit~context", context_length, "…"},
    {"too long~context", context_length, "…"},
    {"too large~context", context_length, "…"},
    {"prompt too long", context_length, "…"},
    {"prompt too large", context_length, "…"},
    {"prompt is too large", context_length, "…"},
    {"input is too long", context_length, "…"},
    {"input too long", context_length, "…"},
    {"input_too_large", context_length, "…"},
    {"conversation is too long", context_length, "…"},
    {"messages are too long", context_length, "…"},
    {"too many input tokens", context_length, "…"},
    {"too many tokens", context_length, "cohere; throttling is told apart before"},
    {"input tokens~exceed", context_length, "…"},
    {"prompt tokens~exceed", context_length, "…"},
    {"number of tokens~exceed", context_length, "…"},
    {"token count~exceed", context_length, "…"},
    {"exceed~token limit", context_length, "…"},
    {"exceed~maximum~input tokens", context_length, "…"},
    {"exceed~max_model_len", context_length, "…"},
    {"reduce the length of the messages", context_length, "groq"},
    {"reduce the length of the input", context_length, "…"},
    {"token limit exceeded", context_length, "…"},
    {"exceed~maximum context", context_length, "…"},
    {"exceed~maximum input length", context_length, "…"},
    {"exceed~maximum number of tokens", context_length, "…"},
    {"context overflow", context_length, "…"},
    {"prompt length~exceed", context_length, "…"},
    {"input length~exceed", context_length, "…"},
    {"token count~cannot exceed", context_length, "…"},
    {"超长", context_length, "…"},
    {"超出模型上下文", context_length, "…"},
    {"上下文长度超", context_length, "…"},
}};

constexpr std::array<std::string_view, 23> number_table{
    "({prompt} in the messages, {output} in the completion)",
    "maximum context length is {limit}",
    "maximum context length of {limit}",
    "{limit} maximum context length",
    "maximum context length: {limit}",
    "maximum context length ({limit})",
    "max context length is {limit}",
    "context window of {limit}",
    "context window is {limit}",
    "context window ({limit}",
    "context length of {limit}",
    "context length ({limit}",
    "context size ({limit}",
    "context limit of {limit}",
    "{requested} tokens > {limit}",
    "resulted in {requested} tokens",
    "you requested {requested} tokens",
    "prompt has {requested} tokens",
    "request contains {requested} tokens",
    "got {requested} tokens",
    "token limit: {limit}",
    "token limit of {limit}",
    "context window limit ({limit})",
};

} // namespace

std::span<const std::string_view> context_codes() {
  return context_code_table;
}

std::span<const code_rule> plain_codes() {
  return plain_code_table;
}

std::span<const wording_rule> veto_wordings() {
  return veto_table;
}

std::span<const wording_rule> context_wordings() {
  return context_table;
}

std::span<const wording_rule> other_wordings() {
  return other_table;
}

std::span<const wording_rule> general_context_wordings() {
  return general_table;
}

std::span<const std::string_view> number_phrases() {
  return number_table;
}

} // namespace rind::provider
