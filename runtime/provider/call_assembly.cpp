// Assembly of tool calls.
#include "runtime/provider/call_assembly.hpp"

#include <algorithm>

#include "runtime/provider/lenient_json.hpp"
#include "runtime/provider/wire_codec.hpp"

namespace rind::provider {

namespace {

bool is_whole_object(const std::string& arguments) {
  return !arguments.empty() && arguments.back() == '}' && parse_outside_json(arguments).has_value();
}

bool opens_new(const tool_call& open, const call_piece& piece) {
  if (!piece.id.empty() && !open.id.empty())
    return piece.id != open.id;
  if (piece.name.empty() || open.name.empty())
    return false;
  if (piece.id.empty() && open.id.empty() && piece.name != open.name)
    return true;
  return !piece.arguments.empty() && is_whole_object(open.arguments);
}

} // namespace

call_assembly::slot* call_assembly::find(const call_piece& piece) {
  for (auto s = slots_.rbegin(); s != slots_.rend(); ++s)
    if (!piece.index || s->index == piece.index)
      return &*s;
  return nullptr;
}

bool call_assembly::open(call_piece piece) {
  if (slots_.size() >= answer_calls_max)
    return false;
  slots_.push_back(
      {piece.index, {std::move(piece.id), std::move(piece.name), std::move(piece.arguments)}});
  return true;
}

bool call_assembly::admits(const call_piece& piece) {
  arguments_bytes_ += piece.arguments.size();
  return arguments_bytes_ <= answer_arguments_bytes_max &&
         piece.id.size() <= answer_name_bytes_max && piece.name.size() <= answer_name_bytes_max;
}

bool call_assembly::take(call_piece piece) {
  if (!admits(piece))
    return false;
  auto* found = find(piece);
  if (found == nullptr || opens_new(found->call, piece))
    return open(std::move(piece));
  if (found->call.id.empty())
    found->call.id = std::move(piece.id);
  if (found->call.name.empty())
    found->call.name = std::move(piece.name);
  found->call.arguments += piece.arguments;
  return true;
}

bool call_assembly::complete(call_piece piece) {
  auto* found = find(piece);
  if (found != nullptr)
    arguments_bytes_ -= found->call.arguments.size();
  if (!admits(piece))
    return false;
  if (found == nullptr)
    return open(std::move(piece));
  if (!piece.id.empty())
    found->call.id = std::move(piece.id);
  if (!piece.name.empty())
    found->call.name = std::move(piece.name);
  found->call.arguments = std::move(piece.arguments);
  return true;
}

std::optional<std::vector<tool_call>> call_assembly::finish(const std::string& id_prefix) {
  std::vector<tool_call> calls;
  for (auto& s : slots_) {
    auto& call = s.call;
    if (call.name.empty())
      return std::nullopt;
    if (call.arguments.empty())
      call.arguments = "{}";
    const auto taken = std::any_of(calls.begin(), calls.end(),
                                   [&](const tool_call& c) { return c.id == call.id; });
    if (call.id.empty() || taken)
      call.id = id_prefix + std::to_string(calls.size() + 1);
    calls.push_back(std::move(call));
  }
  return calls;
}

} // namespace rind::provider
