// What the fuzz targets share: a response played through the product's own reader, and its outcome
// as text to compare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/provider/wire_codec.hpp"

namespace rind::fuzz {

/// The first bytes of an input choose how it is played; the rest is the body.
struct played_input {
  int status = 200;
  std::size_t cut = 0; // the body comes in two pieces, split here
  std::string_view body;
};
played_input read_input(const std::uint8_t* data, std::size_t size);

/// The outcome and everything that streamed before it.
std::string play(const provider::wire_codec& codec, const played_input& input, std::size_t cut);

/// A response of `codec` in one piece and in two has the same outcome; else the process aborts.
/// So it does where an answer breaks a bound of wire_codec.hpp.
void check_codec(const provider::wire_codec& codec, const std::uint8_t* data, std::size_t size);

/// Aborts with these words on standard error.
[[noreturn]] void broken(const std::string& promise);

} // namespace rind::fuzz
