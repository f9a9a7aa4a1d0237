// Included once in a GoogleTest program: what a simulated world complains about fails the test.
#pragma once

#include <gtest/gtest.h>

#include "tests/kit/simulation/world.hpp"

namespace rind::kit {

inline const bool complaints_fail_tests =
    (set_complaint_handler([](const std::string& what) { ADD_FAILURE() << what; }), true);

} // namespace rind::kit
