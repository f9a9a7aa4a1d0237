// The slot's table.
#include "runtime/session/execution_slot.hpp"

namespace rind::session {

namespace {

using enum slot_state;
using enum slot_action;

// clang-format off
constexpr std::array<std::array<slot_transition, slot_input_count>, slot_state_count> table{{
    /* idle */ {{
        /* prompt */ {opening, start}, /* resume */ {idle, refuse_not_active}, /* compact */ {opening, start}, /* model_set */ {idle, accept},
        /* cancel */ {idle, refuse_not_active}, /* queue_input */ {idle, refuse_not_active},
        /* opened */ {}, /* open_refused */ {}, /* close */ {}, /* closed */ {}, /* close_refused */ {}, /* settled */ {}, /* settle_refused */ {}}},
    /* opening */ {{
        /* prompt */ {opening, wait}, /* resume */ {opening, stash}, /* compact */ {opening, refuse_active}, /* model_set */ {opening, accept},
        /* cancel */ {opening, stash}, /* queue_input */ {opening, stash},
        /* opened */ {running, run}, /* open_refused */ {idle, give_up_start}, /* close */ {}, /* closed */ {}, /* close_refused */ {},
        /* settled */ {}, /* settle_refused */ {}}},
    /* running */ {{
        /* prompt */ {running, wait}, /* resume */ {running, refuse_not_active}, /* compact */ {running, refuse_active},
        /* model_set */ {running, accept}, /* cancel */ {running, accept}, /* queue_input */ {running, accept},
        /* opened */ {}, /* open_refused */ {}, /* close */ {closing, write_end}, /* closed */ {}, /* close_refused */ {},
        /* settled */ {}, /* settle_refused */ {}}},
    /* closing */ {{
        /* prompt */ {closing, wait}, /* resume */ {closing, stash}, /* compact */ {closing, refuse_active}, /* model_set */ {closing, accept},
        /* cancel */ {closing, stash}, /* queue_input */ {closing, refuse_not_active},
        /* opened */ {}, /* open_refused */ {}, /* close */ {}, /* closed */ {idle, finish}, /* close_refused */ {interrupted, leave_interrupted},
        /* settled */ {}, /* settle_refused */ {}}},
    /* interrupted */ {{
        /* prompt */ {settling, settle}, /* resume */ {opening, resume}, /* compact */ {settling, settle}, /* model_set */ {settling, settle},
        /* cancel */ {settling, settle}, /* queue_input */ {interrupted, refuse_not_active},
        /* opened */ {}, /* open_refused */ {}, /* close */ {}, /* closed */ {}, /* close_refused */ {}, /* settled */ {}, /* settle_refused */ {}}},
    /* settling */ {{
        /* prompt */ {settling, wait}, /* resume */ {settling, stash}, /* compact */ {settling, refuse_active}, /* model_set */ {settling, stash},
        /* cancel */ {settling, stash}, /* queue_input */ {settling, refuse_not_active},
        /* opened */ {}, /* open_refused */ {}, /* close */ {}, /* closed */ {}, /* close_refused */ {},
        /* settled */ {idle, finish}, /* settle_refused */ {interrupted, leave_interrupted}}},
}};
// clang-format on

} // namespace

const std::array<std::array<slot_transition, slot_input_count>, slot_state_count>& slot_table() {
  return table;
}

slot_action execution_slot::on(slot_input in) {
  const auto& t = table[static_cast<std::size_t>(state_)][static_cast<std::size_t>(in)];
  if (t.action != illegal)
    state_ = t.next;
  return t.action;
}

} // namespace rind::session
