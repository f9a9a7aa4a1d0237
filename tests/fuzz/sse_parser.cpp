// The parser of server-sent events against any bytes: however a stream is split, its events are the
// same, and no event passes a bound.
#include "runtime/provider/sse_parser.hpp"

#include "tests/fuzz/play.hpp"
#include "tests/fuzz/targets.hpp"

namespace {

using namespace rind::provider;

constexpr sse_limits small{64, 128}; // so that inputs of a few hundred bytes meet them

struct parsed {
  std::vector<sse_event> events;
  std::optional<sse_error> error;
  bool unterminated = false;

  friend bool operator==(const parsed&, const parsed&) = default;
};

parsed parse(std::string_view bytes, std::size_t piece_bytes) {
  sse_parser parser{small};
  parsed all;
  while (!bytes.empty()) {
    const auto piece = bytes.substr(0, piece_bytes);
    bytes.remove_prefix(piece.size());
    auto batch = parser.feed(piece);
    for (auto& event : batch.events)
      all.events.push_back(std::move(event));
    all.error = batch.error;
  }
  if (!all.error)
    all.unterminated = parser.finish().unterminated;
  return all;
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  const auto whole = parse(bytes, size + 1);
  for (const auto& event : whole.events)
    if (event.data.size() > small.event_bytes || event.type.size() > small.line_bytes)
      rind::fuzz::broken("sse_limits");
  for (const std::size_t piece_bytes : {1u, 2u, 3u, 7u})
    if (!(parse(bytes, piece_bytes) == whole))
      rind::fuzz::broken("the split of a stream into pieces changes nothing");
  return 0;
}
