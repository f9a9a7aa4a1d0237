// Who watches a simulated world: told of everything that happens in it, in the one order in which
// it happens. Invariants are such, and the trace is.
#pragma once

#include <string_view>

#include "messages/events.hpp"
#include "messages/result.hpp"
#include "messages/session_info.hpp"
#include "runtime/journal/port.hpp"
#include "runtime/tools/port.hpp"

namespace rind::kit {

/// What a client asked for.
enum class request_kind : std::uint8_t {
  prompt,
  resume,
  compact,
  cancel,
  steer,
  follow_up,
  take_back,
  promote,
  set_model,
};
inline constexpr std::size_t request_kind_count =
    static_cast<std::size_t>(request_kind::set_model) + 1;
const char* to_string(request_kind kind);

/// A request of a client, and, once it came, its answer.
struct client_request {
  std::size_t number = 0; // of the request in the run, from 1
  request_kind kind = request_kind::prompt;
  std::size_t client = 0;
  std::string session_id;
  std::string input_id; // prompt, steer, follow_up, promote, take_back; may be empty
  std::string text;     // prompt, steer, follow_up
};
struct client_answer {
  bool lost = false;                            // the session's actor ended without one
  std::optional<failure> error;                 // else it is ok
  std::string input_id;                         // steer, follow_up, take_back, promote
  std::int64_t pending = 0;                     // the same: inputs in that queue
  std::string turn_id;                          // prompt, resume
  std::optional<entries::turn_outcome> outcome; // prompt, resume
  bool ok() const { return !lost && !error; }
};

class observer {
public:
  virtual ~observer() = default;

  /// An actor is about to take a message.
  virtual void on_delivery(std::string_view /*actor*/) {}
  /// The journal is asked.
  virtual void on_append(const journal::append_request& /*request*/) {}
  /// It wrote: durable from here on. Not told again where the same append was asked again.
  virtual void on_committed(const std::string& /*session_id*/,
                            const std::vector<entry_ptr>& /*entries*/) {}
  /// A request reached the model; its end, and whether the other side gave it up.
  virtual void on_request(const sampling_request& /*request*/) {}
  virtual void on_sampling_end(const sampling_request& /*request*/,
                               const sampling_outcome& /*outcome*/) {}
  virtual void on_tool_call(const tools::invocation& /*call*/) {}
  /// A client asks, and hears the answer.
  virtual void on_asked(const client_request& /*request*/) {}
  virtual void on_answered(const client_request& /*request*/, const client_answer& /*answer*/) {}
  /// A client has a new connection to its session, and reads the past from where it stands.
  virtual void on_connected(std::size_t /*client*/) {}
  /// A client hears an event as it is sent.
  virtual void on_event(std::size_t /*client*/, const session_event& /*event*/) {}
  /// A durable event has its place in a client's history: heard live, or replayed and then told
  /// apart from what it heard meanwhile.
  virtual void on_history(std::size_t /*client*/, const std::string& /*session_id*/,
                          std::int64_t /*cursor*/, const std::string& /*event_id*/) {}
  /// Everything that a node held is gone; the journal stays. `sessions`: those that it held.
  virtual void on_crash(const std::vector<std::string>& /*sessions*/) {}
};

} // namespace rind::kit
