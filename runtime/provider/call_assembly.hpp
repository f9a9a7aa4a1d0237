// Puts tool calls together from the pieces of a stream, as robustly as servers differ: missing or
// equal indices, missing ids, repeated names, whole objects as arguments. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/conversation.hpp"

namespace rind::provider {

struct call_piece {
  std::optional<std::int64_t> index;
  std::string id;
  std::string name;
  std::string arguments; // a fragment, or the whole
};

/// A piece belongs to the newest call of its index (without an index: to the newest call of all),
/// unless it names another id, or, without ids, another name, or begins anew after complete
/// arguments: then it opens a call.
class call_assembly {
public:
  /// False once a bound is passed: too many calls, too long names or arguments.
  bool take(call_piece piece);

  /// A whole call: it replaces what came in pieces for its index, or opens a call. False as above.
  bool complete(call_piece piece);

  bool empty() const { return slots_.empty(); }

  /// The calls in the order of their opening. Arguments that never came are `{}`; a call without an
  /// id, or with one that an earlier call has, gets one made from `id_prefix`. Nothing where a call
  /// never got a name.
  std::optional<std::vector<tool_call>> finish(const std::string& id_prefix);

private:
  struct slot {
    std::optional<std::int64_t> index;
    tool_call call;
  };

  slot* find(const call_piece& piece);
  bool open(call_piece piece);
  bool admits(const call_piece& piece); // counts its arguments

  std::vector<slot> slots_;
  std::size_t arguments_bytes_ = 0;
};

} // namespace rind::provider
