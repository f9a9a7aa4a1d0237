// Anthropic Messages against any bytes.
#include "runtime/provider/anthropic_codec.hpp"

#include "tests/fuzz/play.hpp"
#include "tests/fuzz/targets.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const rind::provider::anthropic_codec codec;
  rind::fuzz::check_codec(codec, data, size);
  return 0;
}
