// What the demo's sessions say and what their model answers. Pure: texts, sizes and the script of
// the mock provider. A word in brackets at the start of a prompt names the answer that it gets.
#pragma once

#include <cstdint>
#include <string>

#include "hosts/mock_provider/script.hpp"

namespace rind::hosts::demo {

/// A small window, so that a few tool results fill it.
inline constexpr std::int64_t window_tokens = 8'000;
inline constexpr const char* model_name = "demo-model";

inline constexpr const char* ask_work = "[work] Compute the total and list the first records.";
inline constexpr const char* ask_steadily = "[steady] Think about it, then compute the product.";
inline constexpr const char* ask_slowly = "[slow] Tell the whole story of the store.";
inline constexpr const char* ask_at_length = "[long] Tell what the store holds, in detail.";
inline constexpr const char* ask_to_fill = "[fill] Read the records of four aisles.";
inline constexpr const char* ask_to_overflow = "[overflow] Compare two shelves.";
inline constexpr const char* ask_to_be_rescued = "[rescue] Read the long list of the cellar.";
inline constexpr const char* ask_when_busy = "[busy] Sum up in one sentence.";
inline constexpr const char* steering_text = "[steer] Only the north gate counts.";
inline constexpr const char* follow_up_text = "[later] And what about the depot?";
inline constexpr const char* second_thought = "[later] Forget it, this is taken back.";
/// Focus of a compaction whose summary takes its time.
inline constexpr const char* slow_focus = "take your time";

/// How a session is met by the SIGKILL.
enum class crash_scene : std::uint8_t {
  stream,             // in a model stream; goes on with `resume: true`
  stream_with_inputs, // the same with steering and a follow-up waiting; the prompt is sent again
  manual_compaction,  // in the summary of a manual compaction, which is settled
  auto_compaction,    // in the summary of an automatic one; goes on with `resume: true`
};

/// Scenes with a summary hold one of the host's places for summaries each, so few sessions play
/// them.
crash_scene scene_of(int session);
/// Valid session ids that sort like their numbers.
std::string session_name(int session);

mock_provider::script make_script(int sessions);

} // namespace rind::hosts::demo
