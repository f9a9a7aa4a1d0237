// The tools of a host by name.
#include <cassert>

#include "runtime/tools/port.hpp"

namespace rind::tools {

void registry::add(std::shared_ptr<tool> t) {
  assert(t != nullptr);
  auto name = t->definition().name;
  [[maybe_unused]] const auto added = tools_.emplace(std::move(name), std::move(t)).second;
  assert(added && "two tools of one name");
}

tool* registry::find(const std::string& name) const {
  const auto found = tools_.find(name);
  return found == tools_.end() ? nullptr : found->second.get();
}

tool_definitions registry::definitions() const {
  if (tools_.empty())
    return nullptr;
  auto all = std::make_shared<std::vector<tool_definition>>();
  all->reserve(tools_.size());
  for (const auto& [name, t] : tools_)
    all->push_back(t->definition());
  return all;
}

} // namespace rind::tools
