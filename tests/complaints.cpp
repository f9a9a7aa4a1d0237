// In every test program on the simulated world: what a world complains about fails the test.
#include "tests/kit/googletest.hpp"
