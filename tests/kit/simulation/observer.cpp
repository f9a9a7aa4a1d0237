// Names of requests.
#include "tests/kit/simulation/observer.hpp"

namespace rind::kit {

const char* to_string(request_kind kind) {
  static constexpr const char* names[request_kind_count]{
      "prompt",    "resume",    "compact", "cancel",    "steer",
      "follow_up", "take_back", "promote", "set_model",
  };
  return names[static_cast<std::size_t>(kind)];
}

} // namespace rind::kit
