// Reads an answer of Anthropic Messages, streamed or whole. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/provider/answer_builder.hpp"
#include "runtime/provider/wire_codec.hpp"

namespace rind::provider {

class anthropic_decoder final : public wire_decoder {
public:
  anthropic_decoder(answer_origin origin, response_head head, sent_facts sent);

  void take(const sse_event& event, sampling_delta& delta) override;
  void take_whole(const nlohmann::json& body, sampling_delta& delta) override;
  bool has_failed() const override { return answer_.has_failed(); }
  bool has_finish() const override { return !end_.word.empty(); }
  bool is_complete() const override { return done_; }
  sampling_outcome finish() override;
  token_usage usage() const override { return answer_.usage(); }

private:
  /// A block of the answer, as far as it has come.
  struct block {
    std::int64_t index = 0;
    std::string type;
    std::string text;        // text, and thinking
    std::string signature;   // thinking
    nlohmann::json item;     // redacted_thinking: as it came
    nlohmann::json input;    // tool_use: arguments that came at the start
    bool has_pieces = false; // tool_use: arguments came in pieces
    bool is_closed = false;
  };

  /// Usage as it was reported; each number is the newest of its kind.
  struct counts {
    std::int64_t input = 0; // beside the cache
    std::int64_t cache_writes = 0;
    std::int64_t cache_reads = 0;
    std::int64_t output = 0;
    bool has_cache_reads = false;
  };

  struct event_row;
  static const event_row* row_of(const std::string& type);

  void take_message_start(const nlohmann::json& event, sampling_delta& delta);
  void take_block_start(const nlohmann::json& event, sampling_delta& delta);
  void take_block_delta(const nlohmann::json& event, sampling_delta& delta);
  void take_block_stop(const nlohmann::json& event, sampling_delta& delta);
  void take_message_delta(const nlohmann::json& event, sampling_delta& delta);
  void take_message_stop(const nlohmann::json& event, sampling_delta& delta);

  void open(std::int64_t index, const nlohmann::json& content, sampling_delta& delta);
  void close(block& b);
  block* find(std::int64_t index);
  void add_text(block& b, const std::string& text, sampling_delta& delta);
  void add_thinking(block& b, const std::string& text, sampling_delta& delta);
  void take_usage(const nlohmann::json& usage);
  std::string opaque() const;

  answer_builder answer_;
  answer_end end_;
  std::vector<block> blocks_; // in the order of their opening
  counts counts_;
  bool done_ = false;
};

} // namespace rind::provider
