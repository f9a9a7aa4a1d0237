// What tests in a world say again and again: fill a session, look at what was heard, count.
#pragma once

#include <string>
#include <vector>

#include "tests/kit/simulation/world.hpp"

namespace rind::kit {

/// Prompts with a text of that many tokens, each answered "Yes." (where the script says nothing
/// else), and runs. Throws where one is not answered ok.
void fill(world& w, scripted_client& c, std::int64_t tokens, int times = 1);

/// Every request is answered "Yes.", every summary "The user wants the parser done.".
void serve_politely(world& w);

/// A call of the scripted tool "look".
tool_call look(std::string id, std::string arguments = "{}");

/// The durable events as clients see them, one a line.
std::string durable_of(const std::vector<event_ptr>& events);
/// The durable events of the whole journal, likewise: what a replay of everything tells.
std::string replayed(world& w, const std::string& session_id);

/// How the newest operation ended; null while it runs.
const entries::turn_ended* last_end(const std::vector<event_ptr>& events);
/// Why the newest operation failed; throws std::logic_error where it did not.
const failure& failure_of(const std::vector<event_ptr>& events);
/// Records of the boundaries in a journal, oldest first.
std::vector<std::shared_ptr<const compaction_record>> boundaries_of(world& w,
                                                                    const std::string& session_id);

/// How often a word stands in a line of words.
std::int64_t count_of(const std::string& line, const std::string& word);
/// Messages whose text contains this.
std::int64_t holding(const std::vector<message_ptr>& messages, const std::string& text);

/// Whether each request that reached the model keeps the message boundary; empty, or the first
/// fault.
std::string first_boundary_fault(const scripted_model& m);

/// How often this input (by its text) was delivered, taken back and handed back, in the journal.
struct input_fate {
  int accepted = 0;
  int delivered = 0;
  int taken_back = 0;
  int handed_back = 0;
};
input_fate fate_of(world& w, const std::string& session_id, const std::string& text);

} // namespace rind::kit
