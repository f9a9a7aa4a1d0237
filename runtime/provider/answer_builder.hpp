// What the decoders of all wire formats share: an answer that grows, its bounds, its first failure
// and its outcome. Pure; where text, calls and usage stand in an event is the decoders' matter.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/provider/call_assembly.hpp"
#include "runtime/provider/wire_codec.hpp"

namespace rind::provider {

/// Whose answer it is: the request's id is used in ids of calls that came without one.
struct answer_origin {
  std::string request_id;
  std::string model;
};

/// How an answer ended, in the provider's words.
struct answer_end {
  std::string word;        // empty: nothing was said of the end
  std::string native_word; // of the server behind the provider, may be empty
  std::string opaque;      // reasoning that has to be resent
};

class answer_builder {
public:
  answer_builder(answer_origin origin, response_head head, sent_facts sent);

  void add_text(std::string_view text, sampling_delta& delta);
  void add_reasoning(std::string_view text, sampling_delta& delta);
  void add_call(call_piece piece);
  /// The arguments replace what came in pieces.
  void complete_call(call_piece piece);
  /// What is kept beside text and calls (signatures, ciphers) counts towards the same bound.
  void charge(std::size_t bytes);
  /// The whole text, where the provider repeats it at the end and the pieces differed.
  void replace_text(std::string text) { text_ = std::move(text); }
  /// Anything at all came that belongs to an answer: for the words of a broken stream.
  void note_start() { has_started_ = true; }
  void set_usage(const token_usage& usage) { usage_ = usage; }

  /// The first failure wins; after it nothing is taken any more.
  void fail(std::string_view evidence); // classified
  void fail_with(provider_error_class error_class, std::string code, std::string message);
  void fail_flooded(); // a bound was passed

  bool has_failed() const { return error_.has_value(); }
  bool is_empty() const { return text_.empty() && calls_.empty(); }
  const token_usage& usage() const { return usage_; }

  /// The outcome. Reasoning is kept for resending only where the answer is whole. Call it once.
  sampling_outcome finish(answer_end end);

private:
  std::optional<provider_error> end_error(const answer_end& end) const;
  sampling_answer make_answer(answer_end end, std::vector<tool_call> calls);

  answer_origin origin_;
  response_head head_;
  sent_facts sent_;
  std::string text_;
  std::string reasoning_;
  call_assembly calls_;
  token_usage usage_;
  std::size_t bytes_ = 0;
  bool has_started_ = false;
  std::optional<provider_error> error_;
};

} // namespace rind::provider
