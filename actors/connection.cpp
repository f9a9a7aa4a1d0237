// Bytes to lines to requests, and frames to bytes.
#include "actors/connection.hpp"

#include <spdlog/spdlog.h>

namespace rind::actors {

connection::connection(caf::actor_config& cfg, node_ptr n, directory_actor directory,
                       net::connection_ptr wire, connection_options options)
    : connection_actor::base(cfg),
      node_(std::move(n)),
      directory_(std::move(directory)),
      wire_(std::move(wire)),
      options_(std::move(options)),
      queue_({static_cast<std::size_t>(node_->settings.server.unsent_bytes_max),
              static_cast<std::size_t>(node_->settings.server.unsent_frames_max)}) {
  // nop
}

connection::behavior_type connection::make_behavior() {
  set_down_handler([this](const caf::down_msg& m) { on_down(m); });
  if (options_.over_network)
    look_again_in(node_->settings.server.initialize_timeout_ms);
  return {
      [this](const session_event_message& m) { on_event(m); },
      [this](const bytes_received& b) { on_bytes(b); },
      [this](const bytes_written& w) { on_written(w); },
      [this](const input_ended&) { on_input_ended(); },
      [this](const connection_closed&) { on_closed(); },
      [this](const close_connection&) { leave(); },
      [this](const tokens_changed&) { on_tokens_changed(); },
      [this](const quiet_tick&) { on_quiet_tick(); },
  };
}

void connection::on_exit() {
  handles_.clear();
  open_.clear();
  pass_ = {};
  destroy(directory_);
  node_.reset();
}

// -- in --------------------------------------------------------------------------------

void connection::on_bytes(const bytes_received& b) {
  if (closing_ || gone_)
    return wire_->consumed(b.bytes.size());
  ++activity_;
  lines_.push(b.bytes);
  unread_bytes_ += b.bytes.size();
  read_lines();
}

// Stops while the client has too much open: what it sent stays with the system, and it with its
// sender.
void connection::read_lines() {
  reading_ = true;
  while (!closing_ && barrier_ == 0 && open_.size() < open_requests_max &&
         queue_.response_bytes() < unsent_responses_max_bytes) {
    auto line = lines_.next();
    if (!line && input_ended_ && !std::exchange(rest_taken_, true))
      line = lines_.rest();
    if (!line) {
      if (unread_bytes_ > 0)
        wire_->consumed(std::exchange(unread_bytes_, 0));
      break;
    }
    if (line->too_long) {
      auto refused = protocol::too_long_line();
      push(protocol::error_frame(refused.request_id, refused.error));
    } else {
      take_line(line->text);
    }
  }
  reading_ = false;
  flush();
}

void connection::take_line(const std::string& line) {
  if (line.find_first_not_of(" \t\r") == std::string::npos)
    return; // an empty line asks nothing
  auto read = protocol::read_request(line);
  if (auto* refused = std::get_if<protocol::refused_line>(&read))
    return push(protocol::error_frame(refused->request_id, refused->error));
  auto& request = std::get<protocol::request>(read);
  const auto s = next_serial_++;
  open_[s] = {request.request_id, {}, {}, false};
  auto call = protocol::read_call(request.method, request.params);
  if (!call)
    return refuse(s, call.error());
  if (!initialized_ && !protocol::allowed_before_initialize(*call))
    return refuse(s, make_failure(error_code::not_initialized, "initialize comes first"));
  if (initialized_) {
    if (auto begun = pass_.begin_request(); !begun)
      return refuse(s, begun.error());
    open_[s].is_counted = true;
  }
  if (changes_current(*call))
    barrier_ = s;
  dispatch(s, *call);
}

// What follows such a request in the same breath means the session that it makes current: it waits
// for the answer.
bool connection::changes_current(const protocol::method_call& call) {
  return std::holds_alternative<protocol::calls::initialize>(call) ||
         std::holds_alternative<protocol::calls::session_new>(call) ||
         std::holds_alternative<protocol::calls::session_switch>(call);
}

void connection::close_request(serial s) {
  const auto closed = open_.extract(s);
  if (!closed.empty() && closed.mapped().is_counted)
    pass_.end_request();
  if (barrier_ == s)
    barrier_ = 0;
}

void connection::dispatch(serial s, const protocol::method_call& method) {
  std::visit([&](const auto& c) { call(s, c); }, method);
}

// -- out -------------------------------------------------------------------------------

void connection::on_event(const session_event_message& m) {
  const auto& id = m.update->event().session_id;
  if (closing_ || gone_ || (id != current_ && !explicit_.count(id)))
    return;
  if (!queue_.push(m.update)) {
    spdlog::warn("event=slow_consumer connection={} session={}", options_.id, id);
    return give_up();
  }
  flush();
}

void connection::push(protocol::response_text frame) {
  queue_.push(std::move(frame));
}

void connection::answer(serial s, const nlohmann::json& result) {
  if (auto i = open_.find(s); i != open_.end())
    answer(s, protocol::result_frame(i->second.id, result));
}

void connection::refuse(serial s, const failure& why) {
  const auto i = open_.find(s);
  if (i == open_.end())
    return;
  explicit_.erase(i->second.subscribes);
  if (barrier_ == 0 || barrier_ == s)
    count_followed(); // else the session that is about to become current is counted already
  answer(s, protocol::error_frame(i->second.id, why));
}

void connection::answer(serial s, protocol::response_text frame) {
  if (!open_.count(s))
    return;
  push(std::move(frame));
  close_request(s);
  if (reading_)
    return; // the loop that reads goes on, and flushes
  read_lines();
  leave_if_done();
}

// What waits is dropped: a client that does not read is told once more, and waited for no longer
// than the wire does.
void connection::give_up() {
  closing_ = true;
  given_up_ = true;
  if (node_->metrics)
    node_->metrics->client_refused(to_string(error_code::slow_consumer));
  const auto frame = protocol::error_frame(
      nullptr,
      make_failure(error_code::slow_consumer, "the client reads too slowly and is disconnected"));
  wire_->send(frame.head + frame.tail);
  wire_->close_after_writes();
}

void connection::flush() {
  if (given_up_ || gone_ || in_write_bytes_ > 0)
    return;
  std::string bytes;
  while (bytes.size() < write_bytes_max) {
    auto frame = queue_.pop();
    if (!frame)
      break;
    if (bytes.empty())
      bytes = std::move(*frame);
    else
      bytes += *frame;
  }
  if (!bytes.empty()) {
    ++activity_;
    in_write_bytes_ = bytes.size();
    wire_->send(std::move(bytes));
  } else if (closing_) {
    wire_->close_after_writes();
  }
}

void connection::on_written(const bytes_written& w) {
  in_write_bytes_ -= std::min(in_write_bytes_, w.bytes);
  if (in_write_bytes_ > 0)
    return;
  flush();
  read_lines();
}

// -- the end -----------------------------------------------------------------------------

// The client has said all that it has to say; what it asked is still answered, then the connection
// ends.
void connection::on_input_ended() {
  input_ended_ = true;
  read_lines();
  leave_if_done();
}

void connection::leave_if_done() {
  if (rest_taken_ && open_.empty())
    leave();
}

void connection::leave() {
  closing_ = true;
  flush();
}

void connection::leave_with(const failure& why) {
  if (node_->metrics)
    node_->metrics->client_refused(to_string(why.code));
  push(protocol::error_frame(nullptr, why));
  leave();
}

void connection::on_closed() {
  gone_ = true;
  for (const auto& [id, handle] : handles_)
    send(handle, connection_gone{options_.id});
  quit();
}

void connection::on_down(const caf::down_msg& m) {
  auto i = by_address_.find(m.source);
  if (i == by_address_.end())
    return;
  const auto id = std::move(i->second);
  by_address_.erase(i);
  auto h = handles_.find(id);
  if (h != handles_.end() && h->second.address() == m.source)
    handles_.erase(h);
  if (!m.reason || m.reason == caf::exit_reason::user_shutdown)
    return; // let go or deleted: who still asks is told by the answer to the question
  std::vector<serial> lost;
  for (const auto& [s, r] : open_)
    if (r.session_id == id)
      lost.push_back(s);
  for (auto s : lost)
    refuse(s, make_failure(error_code::unavailable,
                           "session " + id + " was lost by a fault; what it journaled is kept"));
  if (id == current_ || explicit_.count(id))
    subscribe(id, [] {});
}

} // namespace rind::actors
