// Reads an answer of OpenAI Responses, streamed or whole. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/provider/answer_builder.hpp"
#include "runtime/provider/wire_codec.hpp"

namespace rind::provider {

class responses_decoder final : public wire_decoder {
public:
  responses_decoder(answer_origin origin, response_head head, sent_facts sent);

  void take(const sse_event& event, sampling_delta& delta) override;
  void take_whole(const nlohmann::json& body, sampling_delta& delta) override;
  bool has_failed() const override { return answer_.has_failed(); }
  bool has_finish() const override { return !end_.word.empty(); }
  bool is_complete() const override { return !end_.word.empty(); }
  sampling_outcome finish() override;
  token_usage usage() const override { return answer_.usage(); }

private:
  /// An item of the output, as far as it has come. A complete one replaces what came in pieces.
  struct item {
    std::int64_t index = 0;
    std::string id; // names the item in events that give no index
    std::string type;
    std::string text;        // a message's
    bool is_shown = false;   // a reasoning item: some of it was
    nlohmann::json reasoned; // a reasoning item as it is resent; null: it is not
    bool is_done = false;
  };

  struct event_row;
  static const event_row* row_of(const std::string& type);

  void take_start(const nlohmann::json& event, sampling_delta& delta);
  void take_item_added(const nlohmann::json& event, sampling_delta& delta);
  void take_item_done(const nlohmann::json& event, sampling_delta& delta);
  void take_text(const nlohmann::json& event, sampling_delta& delta);
  void take_refusal(const nlohmann::json& event, sampling_delta& delta);
  void take_reasoning(const nlohmann::json& event, sampling_delta& delta);
  void take_summary_part(const nlohmann::json& event, sampling_delta& delta);
  void take_arguments(const nlohmann::json& event, sampling_delta& delta);
  void take_all_arguments(const nlohmann::json& event, sampling_delta& delta);
  void take_completed(const nlohmann::json& event, sampling_delta& delta);
  void take_incomplete(const nlohmann::json& event, sampling_delta& delta);
  void take_failed(const nlohmann::json& event, sampling_delta& delta);

  item* find(const nlohmann::json& event, std::string_view type);
  item* open(const nlohmann::json& event, std::string_view type);
  /// The item that an event names, opened where it is new; null once a bound is passed.
  item* item_of(const nlohmann::json& event, std::string_view type);
  std::int64_t call_index(const item& i) const; // in call_assembly
  void complete(item& i, const nlohmann::json& source, sampling_delta& delta);
  void complete_message(item& i, const nlohmann::json& source, sampling_delta& delta);
  void complete_call(item& i, const nlohmann::json& source);
  void complete_reasoning(item& i, const nlohmann::json& source, sampling_delta& delta);
  void take_response(const nlohmann::json& response, std::string_view status,
                     sampling_delta& delta);
  void take_output(const nlohmann::json& output, sampling_delta& delta);
  void take_usage(const nlohmann::json& usage);
  std::string opaque() const;

  answer_builder answer_;
  answer_end end_;
  std::vector<item> items_; // in the order of their opening
  bool has_refusal_ = false;
};

} // namespace rind::provider
