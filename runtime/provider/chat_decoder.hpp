// Reads an answer of Chat Completions, streamed or whole. Pure.
#pragma once

#include <optional>
#include <string>

#include "runtime/provider/call_assembly.hpp"
#include "runtime/provider/wire_codec.hpp"

namespace rind::provider {

/// Whose answer it is: the request's id is used in ids of calls that came without one.
struct answer_origin {
  std::string request_id;
  std::string model;
};

class chat_decoder final : public wire_decoder {
public:
  chat_decoder(answer_origin origin, response_head head, sent_facts sent);

  void take(const sse_event& event, sampling_delta& delta) override;
  void take_whole(const nlohmann::json& body, sampling_delta& delta) override;
  bool has_failed() const override { return error_.has_value(); }
  bool has_finish() const override { return !finish_text_.empty(); }
  bool is_complete() const override { return done_; }
  sampling_outcome finish() override;
  token_usage usage() const override { return usage_; }

private:
  void take_chunk(const nlohmann::json& chunk, sampling_delta& delta);
  void take_choice(const nlohmann::json& choice, sampling_delta& delta);
  void take_delta(const nlohmann::json& part, sampling_delta& delta);
  void take_content(const nlohmann::json& content, sampling_delta& delta);
  void take_calls(const nlohmann::json& part);
  void take_usage(const nlohmann::json& usage);
  void add_text(const std::string& text, sampling_delta& delta);
  void add_reasoning(const std::string& text, sampling_delta& delta);
  void fail_with(std::string_view evidence);
  void fail_flooded();
  std::optional<provider_error> finish_error() const;

  answer_origin origin_;
  response_head head_;
  sent_facts sent_;
  std::string text_;
  std::string reasoning_;
  std::string reasoning_field_; // the one that is read, where a server sends the same text in two
  call_assembly calls_;
  token_usage usage_;
  std::string finish_text_;
  std::string native_finish_text_;
  bool done_ = false;
  bool saw_chunk_ = false;
  std::optional<provider_error> error_;
};

} // namespace rind::provider
