// Entries to JSON and back, and a provider's stream: against the JSON library and the cutting of
// lines alone.
#include <nlohmann/json.hpp>

#include "bench/comparison.hpp"
#include "bench/conversation.hpp"
#include "messages/json.hpp"
#include "runtime/provider/chat_decoder.hpp"

namespace rind::bench {

namespace {

using nlohmann::json;

constexpr std::int64_t turns = 100;
constexpr std::size_t deltas = 2'000;
constexpr std::size_t piece_bytes = 1'400; // about what one packet brings

void code_entries(benchmark::State& state) {
  const auto entries = working_session(turns);
  for (auto _ : state)
    for (const auto& e : entries) {
      const auto text = encode_body(e.body);
      auto back = decode_body(kind_of(e.body), text);
      benchmark::DoNotOptimize(back);
    }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(entries.size()));
}

void code_json(benchmark::State& state) {
  std::vector<std::string> texts;
  for (const auto& e : working_session(turns))
    texts.push_back(encode_body(e.body));
  for (auto _ : state)
    for (const auto& text : texts) {
      const auto value = json::parse(text);
      benchmark::DoNotOptimize(value.dump());
    }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(texts.size()));
}

std::string chunk(const std::string& text) {
  return json{
      {"id", "answer-1"},
      {"object", "chat.completion.chunk"},
      {"model", "measured"},
      {"choices", {{{"index", 0}, {"delta", {{"content", text}}}, {"finish_reason", nullptr}}}}}
      .dump();
}

std::string stream_text() {
  std::string out;
  for (std::size_t i = 0; i < deltas; ++i)
    out += "data: " + chunk("word " + std::to_string(i) + " ") + "\n\n";
  return out;
}

template <class Take>
void in_pieces(const std::string& text, Take take) {
  for (std::size_t at = 0; at < text.size(); at += piece_bytes)
    take(std::string_view(text).substr(at, piece_bytes));
}

void parse_stream(benchmark::State& state) {
  const auto text = stream_text();
  for (auto _ : state) {
    provider::sse_parser parser;
    std::size_t events = 0;
    in_pieces(text, [&](std::string_view piece) { events += parser.feed(piece).events.size(); });
    benchmark::DoNotOptimize(events);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(deltas));
}

void cut_lines(benchmark::State& state) {
  const auto text = stream_text();
  for (auto _ : state) {
    std::vector<std::string> lines;
    std::string rest;
    in_pieces(text, [&](std::string_view piece) {
      for (auto end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
        rest += piece.substr(0, end);
        lines.push_back(std::exchange(rest, {}));
        piece.remove_prefix(end + 1);
      }
      rest += piece;
    });
    benchmark::DoNotOptimize(lines);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(deltas));
}

std::vector<provider::sse_event> stream_events() {
  provider::sse_parser parser;
  return parser.feed(stream_text()).events;
}

void decode_chunks(benchmark::State& state) {
  const auto events = stream_events();
  for (auto _ : state) {
    provider::chat_decoder decoder({"request-1", "measured"}, {200, {}}, {});
    for (const auto& e : events) {
      sampling_delta delta;
      decoder.take(e, delta);
      benchmark::DoNotOptimize(delta);
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(events.size()));
}

void parse_chunks(benchmark::State& state) {
  const auto events = stream_events();
  for (auto _ : state)
    for (const auto& e : events) {
      auto value = json::parse(e.data, nullptr, false);
      benchmark::DoNotOptimize(value);
    }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(events.size()));
}

} // namespace

std::vector<comparison> codec_comparisons() {
  return {
      {"entry to JSON and back, against parse and dump", "ns/entry", 2, code_entries, code_json},
      {"event stream, against cutting it into lines", "ns/event", 2.5, parse_stream, cut_lines},
      {"chat chunk, against parsing its JSON", "ns/chunk", 2, decode_chunks, parse_chunks},
  };
}

} // namespace rind::bench
