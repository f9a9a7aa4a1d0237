// The tools port: what a model may call. Implementations: the demo tools, command tools of the
// settings, a user's own (examples/custom_tool). No CAF; the tool runner actor calls it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "messages/conversation.hpp"

namespace rind::tools {

inline constexpr std::int64_t default_deadline_ms = 120'000;
inline constexpr std::int64_t output_limit_chars =
    60'000; // a longer result keeps its head and tail
inline constexpr std::int64_t progress_limit =
    1'000; // progress notes of one call; later ones are dropped

struct invocation {
  std::string invocation_id; // unique in the process; names the call for cancel
  std::string session_id;
  std::string turn_id;
  tool_call call;
};

struct outcome {
  tool_status status = tool_status::completed;
  std::string text;
  std::string error_type; // empty when completed
};

/// Who hears about one call. Called on any thread; `on_end` exactly once and last.
struct tool_sink {
  std::function<void(std::string)> on_progress;
  std::function<void(outcome)> on_end;
};

class tool {
public:
  virtual ~tool() = default;
  /// What the model is told; the same as long as the tool lives.
  virtual const tool_definition& definition() const = 0;

  /// Starts a call; must not block for long. start and cancel of a host come from one thread at a
  /// time. The sink may be called before it returns. May throw: the call then ends as `failed` with
  /// the exception's text (S43).
  virtual void start(const invocation& call, tool_sink sink) = 0;

  /// Ends a call early. Its sink hears `cancelled` soon, unless it ended by itself before. Unknown
  /// ids are ignored.
  virtual void cancel(const std::string& invocation_id) = 0;
};

/// The tools of a host by name. Immutable once the host runs.
class registry {
public:
  void add(std::shared_ptr<tool> t);
  tool* find(const std::string& name) const; // null: unknown
  tool_definitions definitions() const;      // sorted by name; null when there are none

private:
  std::map<std::string, std::shared_ptr<tool>> tools_;
};

} // namespace rind::tools
