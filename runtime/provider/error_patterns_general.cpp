// What unseen servers would say: wordings, the words of a complaint, and where its numbers stand.
#include <array>

#include "runtime/provider/error_patterns.hpp"

namespace rind::provider {

namespace {

using enum provider_error_class;

constexpr std::array<wording_rule, 28> general_table{{
    {"maximum context length", context_length, "openai and its kin"},
    {"max context length", context_length, "gateways"},
    {"context length exceeded", context_length, "gateways"},
    {"context_length_exceeded", context_length, "openai's code inside of words"},
    {"exceed~context length", context_length, "gateways"},
    {"exceed~context window", context_length, "gateways"},
    {"exceed~context size", context_length, "gateways"},
    {"exceed~context limit", context_length, "gateways"},
    {"context window~exceed", context_length, "gateways"},
    {"prompt too long", context_length, "ollama, gateways"},
    {"input is too long", context_length, "bedrock"},
    {"input too long", context_length, "gateways"},
    {"input_too_large", context_length, "xai"},
    {"too many tokens", context_length, "cohere; throttling is told apart before"},
    {"reduce the length of the messages", context_length, "groq"},
    {"reduce the length of the input", context_length, "gateways"},
    {"token limit exceeded", context_length, "gateways"},
    {"context overflow", context_length, "gateways"},
    {"超长", context_length, "z.ai"},
    {"超出模型上下文", context_length, "gateways"},
    {"上下文长度超", context_length, "gateways"},
    {"contextwindowexceeded", context_length, "litellm"},
    {"超过~上下文", context_length, "gateways"},
    {"超出~上下文", context_length, "gateways"},
    {"上下文~超", context_length, "gateways"},
    {"上下文过长", context_length, "gateways"},
    {"token~超过~上限", context_length, "gateways"},
    {"token数量超", context_length, "xunfei"},
}};

constexpr std::array<std::string_view, 40> number_table{
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
    "context limit is {limit}",
    "limit for this model is {limit} tokens",
    "max limit of {limit} tokens",
    "exceeds the limit of {limit} tokens",
    "over the limit of {limit}",
    "max_prompt_tokens ({limit})",
    "max_seq_len ({limit})",
    "max_seq_len {limit}",
    "max_model_len {limit}",
    "max_context {limit}",
    "tokens allowed ({limit})",
    "maximum input length {limit}",
    "max session length {limit}",
    "context limit ({limit})",
    "context window of this model is {limit}",
    "context window size {limit}",
    "model limit ({limit})",
};

/// Read only from the sentence on that complains of the length.
constexpr std::array<std::string_view, 58> sentence_number_table{
    "{requested} > {limit}",
    "{requested} tokens, limit {limit}",
    "maximum sequence length of {limit}",
    "maximum supported length of {limit}",
    "maximum supported sequence length is {limit}",
    "maximum allowed length of {limit}",
    "maximum input length of {limit}",
    "maximum length of {limit}",
    "maximum length {limit}",
    "allowed maximum of {limit}",
    "maximum of {limit}",
    "maximum is {limit}",
    "maximum: {limit}",
    "(maximum {limit}",
    "(max {limit}",
    "(limit {limit}",
    "limit of {limit}",
    "limit is {limit}",
    "limit: {limit}",
    "limit {limit} tokens",
    "at most {limit}",
    "up to {limit} tokens",
    "must not exceed {limit}",
    "cannot exceed {limit}",
    "({requested} tokens)",
    "prompt length {requested}",
    "input length {requested}",
    "sequence length {requested}",
    "size of {requested} tokens",
    "prompt length of {requested} tokens",
    "input length of {requested} tokens",
    "prompt of {requested} tokens",
    "uses {requested} tokens",
    "has {requested} tokens",
    "have {requested} tokens",
    "contains {requested} tokens",
    "in the request: {requested}",
    "many tokens: {requested}",
    "{requested} tokens exceeds",
    "{requested} tokens exceed",
    "maximum allowed for~({limit})",
    "maximum allowed is {limit}",
    "max context is {limit}",
    "maximum context is {limit}",
    "maximum context of {limit}",
    "max is {limit}",
    "the {limit} tokens allowed",
    "model's {limit}-token context window",
    "accepts only {limit} tokens",
    "supports only {limit} tokens",
    "max {limit}",
    "model's {limit} token context window",
    "token count ({requested})",
    "tokens ({requested}) exceed",
    "tokens ({requested}) >",
    "too large: {requested} input tokens",
    "must be less than {limit}",
    "but is {requested}",
};

constexpr std::array<std::string_view, 11> measured_words{
    "prompt",      "prompts",      "context",        "conversation", "tokens",      "token count",
    "token limit", "token length", "token sequence", "token number", "max_context",
};

constexpr std::array<std::string_view, 9> measured_by_size_words{
    "input",    "inputs",   "messages", "message history", "chat history", "history",
    "sequence", "dialogue", "chat",
};

constexpr std::array<std::string_view, 9> size_words{
    "token",  "tokens", "length",      "long",          "context",
    "window", "n_ctx",  "max_seq_len", "max_model_len",
};

constexpr std::array<std::string_view, 46> comparison_words{
    "exceed",
    "exceeds",
    "exceeded",
    "exceeding",
    "longer than",
    "larger than",
    "greater than",
    "bigger than",
    "more than",
    "higher than",
    "too long",
    "too large",
    "too big",
    "over the",
    "over its",
    "over your",
    "over max",
    "over maximum",
    "above",
    "beyond",
    "outgrown",
    "overflow",
    "overflows",
    "overflowed",
    "overflowing",
    "surpass",
    "surpasses",
    "surpassed",
    "not fit",
    "t fit",
    "cannot fit",
    "can not fit",
    "at most",
    "no more than",
    "limit reached",
    "reached the",
    "out of",
    "ran out of",
    "accepts only",
    "supports only",
    "full",
    ">",
    "supports a maximum of",
    "accepts a maximum of",
    "must be less than",
    "must be smaller than",
};

constexpr std::array<std::string_view, 20> bound_words{
    "limit",       "limits",   "maximum", "max",     "window",    "context",       "length",
    "size",        "capacity", "budget",  "allowed", "supported", "max_model_len", "max_seq_len",
    "max_context", "n_ctx",    "num_ctx", "kv",      "less than", "smaller than",
};

constexpr std::array<std::string_view, 13> output_words{
    "output",
    "outputs",
    "completion",
    "completions",
    "generation",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "max_new_tokens",
    "maxoutputtokens",
    "maxtokens",
    "max_tokens_to_sample",
    "budget_tokens",
};

constexpr std::array<std::string_view, 8> prompt_side_words{
    "prompt", "prompts", "input", "inputs", "messages", "conversation", "history", "total",
};

constexpr std::array<std::string_view, 11> window_words{
    "context window", "context length", "context size", "context limit",
    "context of",     "max_context",    "n_ctx",        "max_model_len",
    "max_seq_len",    "kv cache",       "kv size",
};

constexpr std::array<std::string_view, 49> never_words{
    "byte",
    "bytes",
    "kb",
    "mb",
    "gb",
    "kib",
    "mib",
    "character",
    "characters",
    "char",
    "chars",
    "pixel",
    "pixels",
    "minute",
    "minutes",
    "min",
    "hour",
    "hours",
    "second",
    "seconds",
    "day",
    "daily",
    "month",
    "monthly",
    "rate",
    "quota",
    "credit",
    "credits",
    "balance",
    "concurrent",
    "concurrency",
    "lifetime",
    "expired",
    "expires",
    "expiry",
    "expiration",
    "jwt",
    "auth",
    "authentication",
    "authorization",
    "bearer",
    "timeout",
    "deadline",
    "canceled",
    "cancelled",
    "encoder",
    "requests",
    "spend",
    "cost",
};

constexpr std::array<std::string_view, 49> unlikely_words{
    "tool",        "tools",      "tool_calls", "function",   "functions",  "schema",
    "description", "name",       "names",      "id",         "ids",        "key",
    "stop",        "metadata",   "enum",       "property",   "properties", "temperature",
    "image",       "images",     "pdf",        "page",       "pages",      "file",
    "files",       "audio",      "video",      "document",   "documents",  "attachment",
    "attachments", "url",        "header",     "headers",    "cache",      "cached",
    "minimum",     "dimensions", "batch",      "array",      "items",      "parts",
    "role",        "param",      "parameter",  "logit_bias", "logprobs",   "embedding",
    "embeddings",
};

} // namespace

std::span<const wording_rule> general_context_wordings() {
  return general_table;
}

std::span<const std::string_view> number_phrases() {
  return number_table;
}

std::span<const std::string_view> sentence_number_phrases() {
  return sentence_number_table;
}

std::span<const std::string_view> shape_words(shape_part part) {
  switch (part) {
  case shape_part::measured:
    return measured_words;
  case shape_part::measured_by_size:
    return measured_by_size_words;
  case shape_part::size:
    return size_words;
  case shape_part::comparison:
    return comparison_words;
  case shape_part::bound:
    return bound_words;
  case shape_part::output:
    return output_words;
  case shape_part::prompt_side:
    return prompt_side_words;
  case shape_part::window:
    return window_words;
  case shape_part::never:
    return never_words;
  case shape_part::unlikely:
    return unlikely_words;
  }
  return {};
}

} // namespace rind::provider
