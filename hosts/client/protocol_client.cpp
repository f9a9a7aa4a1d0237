// Lines out, lines in, and the table of open requests.
#include "hosts/client/protocol_client.hpp"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include <nlohmann/json.hpp>

#include "hosts/client/event_follower.hpp"
#include "runtime/protocol/frames.hpp"

namespace rind::hosts::client {

using nlohmann::json;

namespace {

constexpr std::int64_t replay_page_items = 1'000;

response own_error(const char* type, const char* message) {
  return {type, message, std::make_shared<const json>(json{{"type", type}, {"message", message}})};
}

std::string text_at(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

response read_response(json& frame) {
  const auto error = frame.find("error");
  if (error == frame.end())
    return {"", "",
            std::make_shared<const json>(frame.contains("result") ? std::move(frame["result"])
                                                                  : json())};
  auto type = text_at(*error, "type");
  return {type.empty() ? "Unknown" : std::move(type), text_at(*error, "message"),
          std::make_shared<const json>(std::move(*error))};
}

} // namespace

class protocol_client::state : public std::enable_shared_from_this<state> {
public:
  explicit state(client_events events) : events_(std::move(events)) {}

  net::connection_events connected(net::connection_ptr link);
  void attach(const net::connection_ptr& link);
  std::int64_t request(const std::string& method, const json& params,
                       response_callback on_response);
  void follow(const follow_request& what, follow_events events);
  void unfollow(const std::string& session_id);
  std::int64_t followed_cursor(const std::string& session_id) const;
  bool is_open() const;
  net::connection_ptr link() const;
  void close();
  void wait_until_closed();

private:
  struct followed {
    follow_request what;
    event_follower follower;
    follow_events events;
  };
  using followed_ptr = std::shared_ptr<followed>;

  void take_bytes(const std::string& bytes);
  void take_frame(json frame);
  void take_event(json frame);
  void pump();
  void written();
  void closed();
  followed_ptr find_followed(const std::string& session_id) const;
  void ask_page(const followed_ptr& one);
  void take_page(const followed_ptr& one, const response& answer);
  void fail(const followed_ptr& one, const response& answer);
  bool is_current(const followed_ptr& one) const {
    return find_followed(one->what.session_id) == one;
  }

  client_events events_; // the connection's thread only, like the splitter
  protocol::line_splitter lines_{frame_limit_bytes};

  mutable std::mutex mutex_; // guards what follows; never held while a callback runs
  std::condition_variable changed_;
  net::connection_ptr link_;
  bool open_ = true;
  std::string unsent_;
  bool sending_ = false;
  bool closing_ = false; // once unsent_ is empty
  std::int64_t last_id_ = 0;
  std::map<std::int64_t, response_callback> open_requests_;
  // The cursor of a follower is read under the lock by others, so the connection's thread changes
  // followers under it.
  std::map<std::string, followed_ptr> followed_;
};

net::connection_events protocol_client::state::connected(net::connection_ptr link) {
  attach(link);
  net::connection_events events;
  events.on_bytes = [self = shared_from_this(), link](const std::string& bytes) {
    self->take_bytes(bytes);
    link->consumed(bytes.size());
  };
  events.on_written = [self = shared_from_this()](std::size_t) { self->written(); };
  events.on_closed = [self = shared_from_this()] { self->closed(); };
  return events;
}

void protocol_client::state::attach(const net::connection_ptr& link) {
  {
    const std::lock_guard lock(mutex_);
    if (open_)
      link_ = link;
  }
  pump();
}

std::int64_t protocol_client::state::request(const std::string& method, const json& params,
                                             response_callback on_response) {
  std::int64_t id = 0;
  const char* refused = nullptr;
  {
    const std::lock_guard lock(mutex_);
    id = ++last_id_;
    auto line =
        json{{"kind", "request"}, {"request_id", id}, {"method", method}, {"params", params}}.dump(
            -1, ' ', false, json::error_handler_t::replace);
    if (!open_ || closing_)
      refused = connection_closed;
    else if (unsent_.size() + line.size() > unsent_limit_bytes)
      refused = requests_pile_up;
    else {
      open_requests_.emplace(id, std::move(on_response));
      unsent_ += line;
      unsent_ += '\n';
    }
  }
  if (refused == nullptr)
    pump();
  else
    on_response(own_error(refused, refused == connection_closed
                                       ? "the connection is closed"
                                       : "the server does not take what was sent before"));
  return id;
}

void protocol_client::state::pump() {
  std::string piece;
  net::connection_ptr link;
  {
    const std::lock_guard lock(mutex_);
    if (sending_ || !link_ || (unsent_.empty() && !closing_))
      return;
    sending_ = !unsent_.empty();
    piece.swap(unsent_);
    link = link_;
  }
  if (piece.empty())
    link->close_after_writes();
  else
    link->send(std::move(piece));
}

void protocol_client::state::written() {
  {
    const std::lock_guard lock(mutex_);
    sending_ = false;
  }
  pump();
}

void protocol_client::state::take_bytes(const std::string& bytes) {
  lines_.push(bytes);
  while (auto line = lines_.next()) {
    auto frame = json::parse(line->text, nullptr, false);
    if (line->too_long || !frame.is_object()) {
      if (const auto broken = link())
        broken
            ->close_now(); // not a server of this protocol; open requests are answered by the close
      return;
    }
    take_frame(std::move(frame));
  }
}

void protocol_client::state::take_frame(json frame) {
  const auto kind = text_at(frame, "kind");
  if (kind == "event")
    return take_event(std::move(frame));
  const auto id = frame.find("request_id");
  if (kind != "response" || id == frame.end() || !id->is_number_integer())
    return; // a kind of frame that this version does not know, or an answer to nothing that was
            // asked
  response_callback callback;
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_requests_.find(id->get<std::int64_t>());
    if (found == open_requests_.end())
      return;
    callback = std::move(found->second);
    open_requests_.erase(found);
  }
  callback(read_response(frame));
}

void protocol_client::state::take_event(json frame) {
  const auto one = find_followed(text_at(frame, "session_id"));
  if (!one) {
    if (events_.on_event)
      events_.on_event(frame);
    return;
  }
  std::optional<json> now;
  {
    const std::lock_guard lock(mutex_);
    now = one->follower.take_frame(std::move(frame));
  }
  if (now && one->events.on_event)
    one->events.on_event(*now);
  if (one->follower.is_overrun())
    fail(one, own_error(requests_pile_up,
                        "more live events than can be held back came during the replay"));
}

void protocol_client::state::closed() {
  std::map<std::int64_t, response_callback> unanswered;
  {
    const std::lock_guard lock(mutex_);
    open_ = false;
    unanswered.swap(open_requests_);
    unsent_.clear();
  }
  for (const auto& [id, callback] : unanswered)
    callback(own_error(connection_closed, "the connection was closed before the answer"));
  const auto events = std::exchange(events_, {});
  if (events.on_closed)
    events.on_closed();
  const std::lock_guard lock(mutex_);
  link_ = nullptr; // what wait_until_closed waits for: nothing is called after this
  followed_.clear();
  changed_.notify_all();
}

void protocol_client::state::follow(const follow_request& what, follow_events events) {
  auto one = std::make_shared<followed>(
      followed{what, event_follower(what.after_cursor), std::move(events)});
  {
    const std::lock_guard lock(mutex_);
    followed_[what.session_id] = one;
  }
  request("session/subscribe", {{"session_id", what.session_id}},
          [self = shared_from_this(), one](const response& answer) {
            if (answer)
              self->ask_page(one);
            else
              self->fail(one, answer);
          });
}

void protocol_client::state::ask_page(const followed_ptr& one) {
  const json params = {{"session_id", one->what.session_id},
                       {"after_cursor", one->follower.cursor()},
                       {"limit", replay_page_items},
                       {"mode", one->what.messages ? "messages" : "events"}};
  request("session/replay", params, [self = shared_from_this(), one](const response& answer) {
    self->take_page(one, answer);
  });
}

void protocol_client::state::take_page(const followed_ptr& one, const response& answer) {
  if (!is_current(one))
    return;
  if (!answer)
    return fail(one, answer);
  const auto items = answer->find(one->what.messages ? "messages" : "events");
  std::vector<json> released;
  bool understood = items != answer->end() && items->is_array();
  {
    const std::lock_guard lock(mutex_);
    understood = understood && one->follower.take_page(*answer);
    if (one->follower.is_live())
      released = one->follower.take_released();
  }
  if (!understood)
    return fail(one, own_error("InvalidReplay", "the server's replay has not the shape of one"));
  if (one->events.on_item)
    for (const auto& item : *items)
      one->events.on_item(item);
  if (!one->follower.is_live())
    return ask_page(one);
  const auto live_turn = answer->find("live_turn");
  if (live_turn != answer->end() && live_turn->is_object() && one->events.on_live_turn)
    one->events.on_live_turn(*live_turn);
  if (one->events.on_ready)
    one->events.on_ready();
  if (one->events.on_event)
    for (const auto& frame : released)
      one->events.on_event(frame);
}

void protocol_client::state::fail(const followed_ptr& one, const response& answer) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = followed_.find(one->what.session_id);
    if (found == followed_.end() || found->second != one)
      return;
    followed_.erase(found);
  }
  if (one->events.on_failed)
    one->events.on_failed(answer);
}

void protocol_client::state::unfollow(const std::string& session_id) {
  const std::lock_guard lock(mutex_);
  followed_.erase(session_id);
}

protocol_client::state::followed_ptr
protocol_client::state::find_followed(const std::string& session_id) const {
  const std::lock_guard lock(mutex_);
  const auto found = followed_.find(session_id);
  return found == followed_.end() ? nullptr : found->second;
}

std::int64_t protocol_client::state::followed_cursor(const std::string& session_id) const {
  const std::lock_guard lock(mutex_);
  const auto found = followed_.find(session_id);
  return found == followed_.end() ? 0 : found->second->follower.cursor();
}

bool protocol_client::state::is_open() const {
  const std::lock_guard lock(mutex_);
  return open_;
}

net::connection_ptr protocol_client::state::link() const {
  const std::lock_guard lock(mutex_);
  return link_;
}

void protocol_client::state::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  pump();
}

void protocol_client::state::wait_until_closed() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !open_ && !link_; });
}

protocol_client::protocol_client(std::shared_ptr<state> shared) : state_(std::move(shared)) {}

protocol_client::~protocol_client() {
  drop();
  state_->wait_until_closed();
}

result<std::unique_ptr<protocol_client>> protocol_client::open(const connector& connect,
                                                               client_events events) {
  auto made = std::make_shared<state>(std::move(events));
  const auto link =
      connect([made](net::connection_ptr ready) { return made->connected(std::move(ready)); });
  if (!link)
    return link.error();
  made->attach(*link);
  return std::unique_ptr<protocol_client>(new protocol_client(std::move(made)));
}

std::int64_t protocol_client::request(const std::string& method, const json& params,
                                      response_callback on_response) {
  return state_->request(method, params, std::move(on_response));
}

std::future<response> protocol_client::request(const std::string& method, const json& params) {
  const auto promise = std::make_shared<std::promise<response>>();
  request(method, params, [promise](const response& answer) { promise->set_value(answer); });
  return promise->get_future();
}

response protocol_client::call(const std::string& method, const json& params,
                               std::int64_t timeout_ms) {
  auto answer = request(method, params);
  if (answer.wait_for(std::chrono::milliseconds(timeout_ms)) == std::future_status::ready)
    return answer.get();
  return own_error(no_answer_in_time, "the server did not answer in time");
}

void protocol_client::follow(const follow_request& what, follow_events events) {
  state_->follow(what, std::move(events));
}

void protocol_client::unfollow(const std::string& session_id) {
  state_->unfollow(session_id);
}

std::int64_t protocol_client::followed_cursor(const std::string& session_id) const {
  return state_->followed_cursor(session_id);
}

bool protocol_client::is_open() const {
  return state_->is_open();
}

void protocol_client::close() {
  state_->close();
}

void protocol_client::drop() {
  if (const auto link = state_->link())
    link->close_now();
}

} // namespace rind::hosts::client
