// Reads an answer of Chat Completions, streamed or whole. Pure.
#pragma once

#include <string>

#include "runtime/provider/answer_builder.hpp"
#include "runtime/provider/chat_reasoning.hpp"
#include "runtime/provider/wire_codec.hpp"

namespace rind::provider {

class chat_decoder final : public wire_decoder {
public:
  chat_decoder(answer_origin origin, response_head head, sent_facts sent);

  void take(const sse_event& event, sampling_delta& delta) override;
  void take_whole(const nlohmann::json& body, sampling_delta& delta) override;
  bool has_failed() const override { return answer_.has_failed(); }
  bool has_finish() const override { return !end_.word.empty(); }
  bool is_complete() const override { return done_; }
  sampling_outcome finish() override;
  token_usage usage() const override { return answer_.usage(); }

private:
  void take_chunk(const nlohmann::json& chunk, sampling_delta& delta);
  void take_choice(const nlohmann::json& choice, sampling_delta& delta);
  void take_delta(const nlohmann::json& part, sampling_delta& delta);
  void take_reasoning(const nlohmann::json& part, sampling_delta& delta);
  void take_content(const nlohmann::json& content, sampling_delta& delta);
  void take_calls(const nlohmann::json& part);
  void take_usage(const nlohmann::json& usage);

  answer_builder answer_;
  answer_end end_;
  std::string reasoning_field_; // the one that is read, where a server sends the same text in two
  detail_assembly details_;
  bool done_ = false;
};

} // namespace rind::provider
