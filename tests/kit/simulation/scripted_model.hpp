// A model that says what a script tells it, in virtual time: text in pieces, tool calls, usage,
// errors, silence. It keeps every request that reached it. Conversation and summary requests have a
// script each, answered in the order of arrival. Used from one thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/provider/port.hpp"
#include "tests/kit/simulation/observer.hpp"

namespace rind::kit {

/// One answer. Built by the functions below and changed by its verbs: `says("Hi").after(200)`.
struct scripted_reply {
  std::vector<sampling_delta> deltas; // sent before the end
  sampling_outcome outcome = sampling_cancelled{};
  std::int64_t delay_ms = 0; // between the arrival of the request and its end
  std::int64_t piece_ms = 0; // between one piece and the next; 0: all at once
  bool endless = false;      // ends only when it is cancelled
  bool deaf = false;         // not even then
  std::function<void()> arrived;

  scripted_reply after(std::int64_t ms) const;
  /// The usage that comes with the answer.
  scripted_reply counted(std::int64_t input_tokens, std::int64_t output_tokens) const;
  scripted_reply finished(finish_reason finish) const;
  /// Text that is sent as a piece before the end.
  scripted_reply streaming(std::string text) const;
  /// That many pieces more, one each `ms`; the end comes with after() or never.
  scripted_reply dripping(std::string text, std::size_t pieces, std::int64_t ms) const;
  /// Called as the request arrives.
  scripted_reply on_arrival(std::function<void()> then) const;
};

/// An answer with a normal stop; its text is sent as one piece first.
scripted_reply says(std::string text);
/// An answer that asks for tools.
scripted_reply asks_for(std::vector<tool_call> calls, std::string text = {});
scripted_reply refuses(provider_error error);
scripted_reply refuses(provider_error_class error_class, std::string message = "refused by script");
/// The request is longer than the model takes.
scripted_reply refuses_length();
/// Nothing comes until the request is cancelled.
scripted_reply hangs();
/// The same, and a cancel is not heard: a provider that is lost.
scripted_reply hangs_deaf();

struct received_request {
  sampling_request request;
  std::int64_t time_ms = 0;
  bool cancelled = false;
  bool ended = false;
};

class scripted_model final : public provider::model_provider {
public:
  using timer = std::function<void(std::int64_t delay_ms, std::function<void()>)>;
  using clock = std::function<std::int64_t()>;
  scripted_model(timer at, clock now) : at_(std::move(at)), now_(std::move(now)) {}

  /// The next answers to conversation requests.
  scripted_model& expect(scripted_reply reply, std::size_t times = 1);
  /// The next answers to summary requests.
  scripted_model& expect_summary(scripted_reply reply, std::size_t times = 1);
  /// Answers what neither script does. Without it such a request is refused and `unexpected` counts
  /// it.
  void serve(std::function<scripted_reply(const sampling_request&)> otherwise);

  /// Told of each request and of its end; one at most.
  void watch(observer* who) { watch_ = who; }
  /// Off: `requests` stays empty, for runs that would keep too many.
  void keep_requests(bool keep) { keeps_ = keep; }

  const std::vector<received_request>& requests() const { return requests_; }
  std::vector<const sampling_request*> requests_of(sampling_kind kind) const;
  std::int64_t calls(sampling_kind kind) const;
  /// Answers of the scripts that nobody asked for.
  std::size_t unused() const { return conversation_.size() + summaries_.size(); }
  std::int64_t unexpected() const { return unexpected_; }
  std::size_t in_flight() const { return open_.size(); }
  /// Both scripts and every open request are gone; nobody is told.
  void forget();
  /// The open requests of these sessions are gone; nobody is told.
  void drop_requests_of(const std::vector<std::string>& sessions);

  void start(sampling_request request, provider::sampling_sink sink) override;
  void cancel(const std::string& request_id) override;

private:
  struct open_request {
    std::size_t index = 0; // in requests_
    sampling_request request;
    provider::sampling_sink sink;
    bool deaf = false;
  };
  scripted_reply reply_to(const sampling_request& request);
  void end(const std::string& request_id, sampling_outcome outcome);
  void send_piece(const std::string& request_id, sampling_delta piece);

  timer at_;
  clock now_;
  std::deque<scripted_reply> conversation_;
  std::deque<scripted_reply> summaries_;
  std::function<scripted_reply(const sampling_request&)> otherwise_;
  std::vector<received_request> requests_;
  std::map<std::string, open_request> open_;
  std::int64_t unexpected_ = 0;
  observer* watch_ = nullptr;
  bool keeps_ = true;
};

} // namespace rind::kit
