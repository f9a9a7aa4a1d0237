// The table as data, and which one is planted.
#include "runtime/canary/canary.hpp"

namespace rind::canary {

namespace {

constexpr description descriptions[]{
#define RIND_CANARY_ROW(name, text) {id::name, #name, text},
    RIND_EACH_CANARY(RIND_CANARY_ROW)
#undef RIND_CANARY_ROW
};

id planted_now = id::none;

} // namespace

std::span<const description> all() {
  return descriptions;
}

bool are_built_in() {
#ifdef RIND_CANARIES
  return true;
#else
  return false;
#endif
}

id planted() {
  return planted_now;
}

void plant(id which) {
  planted_now = which;
}

} // namespace rind::canary
