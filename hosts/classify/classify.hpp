// `rind classify`: tells what a session would make of recorded answers of providers. Reads JSON
// lines, writes one JSON line each; docs/classifier.md has both. Reads and writes only the streams
// that it is given.
#pragma once

#include <cstddef>
#include <iosfwd>

namespace rind::hosts::classify {

/// A longer line is refused, and is not held in memory.
inline constexpr std::size_t line_bytes_max = 8u << 20;

/// The value is the exit code: 0, or 1 where a line was refused; why stands in `trouble`, with the
/// number of the line, and the others are answered all the same.
int classify_lines(std::istream& in, std::ostream& out, std::ostream& trouble);

} // namespace rind::hosts::classify
