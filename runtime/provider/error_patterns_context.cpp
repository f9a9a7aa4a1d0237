// Wordings of a known "too long".
#include <array>

#include "runtime/provider/error_patterns.hpp"

namespace rind::provider {

namespace {

using enum provider_error_class;

constexpr std::array<wording_rule, 91> context_table{{
    {"maximum context length is {limit} tokens. however, you requested {output} output tokens and "
     "your prompt contains {n} characters",
     context_length, "vllm, characters"},
    {"you passed {prompt} input tokens and requested {output} output tokens. however, the model's "
     "context length is only {limit} tokens",
     context_length, "vllm, counts cut short"},
    {"however, you requested {requested} tokens in the messages", context_length, "vllm, old"},
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
    {"(total length {requested}) is too long to fit into the model (context length {limit})",
     context_length, "vllm, with media"},
    {"prompt length of {requested} is longer than the maximum model length of {limit}",
     context_length, "vllm"},
    {"too many input tokens. max input tokens: {limit}, request input token count: {requested}",
     context_length, "bedrock, mistral models"},
    {"number of input tokens exceeds maximum length", context_length, "bedrock, nova models"},
    {"size limit exceeded by {n} tokens. try using shorter or fewer inputs. the limit for this "
     "model is {limit} tokens",
     context_length, "cohere, newer"},
    {"size limit exceeded by {n} tokens", context_length, "cohere"},
    {"exceeds the limit of {limit} tokens", context_length, "cohere, older"},
    {"the sum of 'inputs' tokens and 'max_new_tokens' must not exceed {limit}", context_length,
     "together"},
    {"number of input tokens ({requested}) has exceeded max_prompt_tokens ({limit})",
     context_length, "siliconflow"},
    {"number of input tokens ({requested}) has exceeded max_seq_len ({limit})", context_length,
     "siliconflow"},
    {"requested input length {requested} exceeds maximum input length {limit}", context_length,
     "deepinfra"},
    {"messages have {requested} tokens, which exceeds the max limit of {limit} tokens",
     context_length, "perplexity"},
    {"requested {output} to generate tokens, following a prompt of length {prompt}, which exceeds "
     "the max limit of {limit} tokens",
     context_length, "perplexity, sum"},
    {"total tokens of image and text exceed max message tokens", context_length, "volcengine"},
    {"input length {requested} exceeds the maximum length {limit}", context_length, "volcengine"},
    {"input length {requested} tokens exceeds the model limit {limit}", context_length, "gateways"},
    {"prompt tokens too long", context_length, "baidu"},
    {"requires a sequence length of {requested}, but the maximum supported sequence length is just "
     "{limit}",
     context_length, "sambanova"},
    {"prompt token count ({prompt}) plus max_tokens ({output}) cannot exceed {limit}",
     context_length, "databricks"},
    {"prompt token count ({requested}) cannot exceed {limit}", context_length, "databricks"},
    {"length ({requested}) exceeds model's maximum context length ({limit})", context_length,
     "sglang"},
    {"prompt length {requested} exceeds the max session length {limit}", context_length,
     "lmdeploy"},
    {"length {requested} is greater than max_seq_len {limit}", context_length, "tabbyapi"},
    {"too big compared to kv size", context_length, "llama.cpp, older"},
    {"n_keep ({requested}) >= n_ctx ({limit})", context_length, "lm studio"},
    {"token sequence length exceeds limit ({requested} > {limit})", context_length, "ollama"},
    {"exceeded max context length by {n} tokens", context_length, "ollama"},
    {"prompt has {requested} tokens, but the configured context size is {limit} tokens",
     context_length, "ds4"},
    {"prompt exceeds engine max_context {limit}", context_length, "ninfer"},
    {"context limit is {limit} tokens; prompt={requested} leaves", context_length, "local servers"},
    {"{requested} input tokens over the limit of {limit}", context_length, "gateways"},
    {"request exceeds context window of {limit} tokens", context_length, "gateways"},
}};

} // namespace

std::span<const wording_rule> context_wordings() {
  return context_table;
}

} // namespace rind::provider
