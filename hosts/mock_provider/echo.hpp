// What the mock provider answers where no rule of its script does. Pure and without chance: the
// same request always gets the same answer.
#pragma once

#include "hosts/mock_provider/script.hpp"

namespace rind::hosts::mock_provider {

/// A request for a handoff summary gets a short one with headings; any other gets back the start
/// of the text that it ends with.
scripted_answer default_answer(const mock_request& request);

/// No tools, and the last message of the user speaks of a handoff and of a summary, in any case of
/// letters.
bool asks_for_summary(const mock_request& request);

} // namespace rind::hosts::mock_provider
