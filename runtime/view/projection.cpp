// The one way from a session's journal to its state, live and after a restart.
#include "runtime/view/projection.hpp"

#include <algorithm>

#include "runtime/canary/canary.hpp"
#include "runtime/context/rescue.hpp"
#include "runtime/context/text_cut.hpp"
#include "runtime/context/token_estimator.hpp"

namespace rind::view {

namespace {

constexpr std::int64_t first_prompt_chars = 80;
constexpr std::int64_t last_text_chars = 200;

failure contradiction(const entry& e, const std::string& what) {
  return make_failure(error_code::persistence_failed,
                      "journal entry " + std::to_string(e.position) + ": " + what);
}

message_ptr placeholder_for(const tool_call& call) {
  auto m = std::make_shared<message>();
  m->role = message_role::tool;
  m->tool_call_id = call.id;
  m->name = call.name;
  m->is_error = !RIND_PLANTED(placeholder_as_success);
  m->content = "[No result was recorded for this call: it was interrupted. Whether it ran, in part "
               "or at all, is unknown; "
               "check before you repeat it.]";
  return m;
}

item item_of(message_ptr msg, item_kind kind, std::int64_t start, std::int64_t end_exclusive) {
  item i;
  i.kind = kind;
  i.start = start;
  i.end_exclusive = end_exclusive;
  i.tokens = context::estimate_message(*msg);
  i.msg = std::move(msg);
  return i;
}

message_ptr text_message(message_role role, const std::string& content) {
  auto m = std::make_shared<message>();
  m->role = role;
  m->content = content;
  if (role == message_role::user)
    m->origin = user_origin::continuation;
  return m;
}

bool is_summary(const compaction_record& record) {
  return record.handoff_text.has_value();
}

message_role expected_role(const entry_body& body) {
  if (std::holds_alternative<entries::assistant_message>(body))
    return message_role::assistant;
  return std::holds_alternative<entries::tool_result>(body) ? message_role::tool
                                                            : message_role::user;
}

} // namespace

projection::projection(projection_settings settings) : settings_(std::move(settings)) {
  rebuild();
}

// -- checking
// -------------------------------------------------------------------------------------------------------------------------

result<done> projection::check(const entry& e) const {
  if (e.position <= last_position_)
    return contradiction(e, "its position does not rise");
  if (std::holds_alternative<entries::session_created>(e.body) != !exists())
    return contradiction(e, exists() ? "the session was created before"
                                     : "the session was not created before");
  if (const auto* msg = message_of(e.body)) {
    if (!*msg || (*msg)->role != expected_role(e.body))
      return contradiction(e, "its message has another role than its kind");
  }
  if (const auto fault = std::visit([&](const auto& body) { return fault_of(e, body); }, e.body);
      !fault.empty())
    return contradiction(e, fault);
  return done{};
}

std::string projection::fault_of(const entry& e, const entries::turn_started& body) const {
  if (body.resumed)
    return operation_ && operation_->turn_id == e.turn_id
               ? ""
               : "it resumes an operation that is not open";
  return operation_ ? "an operation starts while another is open" : "";
}

std::string projection::fault_of(const entry& e, const entries::turn_ended&) const {
  return operation_ && operation_->turn_id == e.turn_id ? ""
                                                        : "it ends an operation that is not open";
}

std::string projection::fault_of(const entry&, const entries::tool_result& body) const {
  return has_open_call(body.msg->tool_call_id) ? "" : "a result without its call";
}

std::string projection::fault_of(const entry&, const entries::input_accepted& body) const {
  return is_pending(body.input_id) ? "an input that waits already" : "";
}

std::string projection::fault_of(const entry&, const entries::input_delivered& body) const {
  return is_pending(body.msg->input_id) ? "" : "an input was delivered that does not wait";
}

std::string projection::fault_of(const entry&, const entries::input_promoted& body) const {
  return is_pending(body.input_id) ? "" : "an input was promoted that does not wait";
}

std::string projection::fault_of(const entry&, const entries::input_taken_back& body) const {
  return is_pending(body.input_id) ? "" : "an input was taken back that does not wait";
}

std::string projection::fault_of(const entry&, const entries::boundary& body) const {
  if (!body.record)
    return "a boundary without a record";
  const auto& record = *body.record;
  if (record.generation != view_.generation + 1)
    return "the boundary's generation does not follow";
  if (!is_summary(record))
    return "";
  const auto end = record.message_end_index_exclusive;
  if (!record.continuation_text || end < view_.corpus_start || end > view_.message_count)
    return "the boundary does not match the conversation";
  const auto first_retained = static_cast<std::size_t>(end - view_.corpus_start);
  if (first_retained < raw_.size() && raw_[first_retained]->role == message_role::tool)
    return "the boundary splits a call from its result";
  return "";
}

bool projection::has_open_call(const std::string& id) const {
  return std::any_of(open_calls_.begin(), open_calls_.end(),
                     [&](const tool_call& c) { return c.id == id; });
}

bool projection::is_pending(const std::string& input_id) const {
  return std::any_of(pending_.begin(), pending_.end(),
                     [&](const pending_input& i) { return i.input_id == input_id; });
}

// -- applying
// -------------------------------------------------------------------------------------------------------------------------

result<done> projection::apply(const entry& e) {
  if (auto checked = check(e); !checked)
    return checked;
  shared_view_.reset();
  last_position_ = e.position;
  updated_at_ms_ = e.time_ms;
  if (moves_view(e.body))
    view_.view_position = e.position;
  std::visit([&](const auto& body) { take(e, body); }, e.body);
  if (operation_)
    operation_->unread_tool_calls = !open_calls_.empty();
  return done{};
}

void projection::take(const entry& e, const entries::session_created& body) {
  created_at_ms_ = e.time_ms;
  model_ = body.model;
  system_prompt_ = body.system_prompt;
  auto_compact_ = body.auto_compact;
  overflow_recovery_ = body.overflow_recovery;
  rebuild();
}

void projection::take(const entry& e, const entries::turn_started& body) {
  if (!body.resumed) {
    operation_.emplace();
    operation_->turn_id = e.turn_id;
    operation_->operation = body.operation;
    operation_->input_id = body.input_id;
    operation_->started_at_ms = e.time_ms;
    return;
  }
  if (!body.handed_over)
    ++operation_->resumes;
  close_open_calls();
}

void projection::take(const entry&, const entries::user_message& body) {
  if (first_prompt_.empty())
    first_prompt_ = context::excerpt_line(body.msg->content, first_prompt_chars);
  append_message(body.msg);
}

void projection::take(const entry&, const entries::assistant_message& body) {
  append_message(body.msg);
  open_calls_ = body.msg->tool_calls;
  view_.first_unread = view_.message_count;
  last_usage_ = body.usage;
  if (operation_) {
    ++operation_->samplings;
    operation_->refused_estimate_tokens = 0;
    operation_->output_limit_tokens.reset();
  }
  const bool current = body.request_generation == view_.generation && body.msg->model == model_;
  auto input_tokens = body.usage.input_tokens.value_or(0);
  if (RIND_PLANTED(cached_tokens_twice))
    input_tokens += body.usage.cached_tokens.value_or(0);
  if (current)
    anchor_.offer({model_, view_.generation, input_tokens, body.request_local_tokens},
                  body.usage.input_tokens.has_value());
}

void projection::take(const entry&, const entries::tool_requested&) {}

void projection::take(const entry&, const entries::tool_result& body) {
  const auto call = std::find_if(open_calls_.begin(), open_calls_.end(), [&](const tool_call& c) {
    return c.id == body.msg->tool_call_id;
  });
  open_calls_.erase(call);
  append_message(body.msg);
}

void projection::take(const entry&, const entries::input_accepted& body) {
  pending_.push_back({body.input_id, body.mode, body.text});
}

void projection::take(const entry&, const entries::input_delivered& body) {
  remove_pending(body.msg->input_id);
  append_message(body.msg);
}

void projection::take(const entry&, const entries::input_promoted& body) {
  // To the end of the other queue, as in the live one.
  const auto at = std::find_if(pending_.begin(), pending_.end(),
                               [&](const pending_input& i) { return i.input_id == body.input_id; });
  auto input = std::move(*at);
  pending_.erase(at);
  input.mode = input_mode::steering;
  pending_.push_back(std::move(input));
}

void projection::take(const entry&, const entries::input_taken_back& body) {
  remove_pending(body.input_id);
}

void projection::take(const entry&, const entries::attempt_started& body) {
  if (!operation_)
    return;
  if (body.output_limit_tokens) { // less output instead of a smaller prompt: no count moves
    operation_->output_limit_tokens = body.output_limit_tokens;
    return;
  }
  // A compaction and the rescue after it answer the same refusal.
  if (body.context_errors > operation_->context_errors)
    operation_->attempts.push_back({body.refused_estimate_tokens, body.limit_tokens});
  operation_->context_errors = body.context_errors;
  operation_->rescues = body.rescues;
  operation_->refused_estimate_tokens = body.refused_estimate_tokens;
  if (body.tightened_limit_tokens)
    operation_->tightened_limit_tokens = body.tightened_limit_tokens;
}

void projection::take(const entry&, const entries::usage_recorded&) {}

void projection::take(const entry&, const entries::boundary& body) {
  apply_boundary(body.record);
}

void projection::take(const entry&, const entries::model_set& body) {
  model_ = body.model;
  learned_windows_.clear();
  if (operation_)
    operation_->tightened_limit_tokens.reset();
  rebuild(); // which reasoning is sent depends on the model
}

void projection::take(const entry&, const entries::window_learned& body) {
  learned_windows_[body.model] = body.window_tokens;
}

void projection::take(const entry&, const entries::turn_ended&) {
  if (RIND_PLANTED(keep_tightened_limit) && operation_->tightened_limit_tokens)
    learned_windows_[model_] = *operation_->tightened_limit_tokens;
  close_open_calls();
  operation_.reset();
  pending_.clear(); // handed back with the terminal event
}

void projection::remove_pending(const std::string& input_id) {
  std::erase_if(pending_, [&](const pending_input& i) { return i.input_id == input_id; });
}

void projection::apply_boundary(const std::shared_ptr<const compaction_record>& record) {
  ++view_.generation;
  boundaries_.push_back(record);
  if (is_summary(*record)) {
    const auto end = record->message_end_index_exclusive;
    summary_ = record;
    raw_.erase(raw_.begin(), raw_.begin() + static_cast<std::ptrdiff_t>(end - view_.corpus_start));
    view_.corpus_start = end;
    placeholders_.erase(placeholders_.begin(), placeholders_.upper_bound(end));
    std::erase_if(replaced_, [&](const replacement& r) { return r.end_exclusive <= end; });
    for (auto& r : replaced_)
      r.start = std::max(r.start, end);
    if (operation_)
      ++operation_->compactions;
  }
  replaced_.insert(replaced_.end(), record->replaced.begin(), record->replaced.end());
  replaced_ = context::merge_replacements(std::move(replaced_));
  rebuild();
}

// -- the view
// -------------------------------------------------------------------------------------------------------------------------

void projection::append_message(const message_ptr& msg) {
  close_open_calls_before(*msg);
  const auto index = view_.message_count++;
  raw_.push_back(msg);
  add_item(item_of(sent_form(msg), item_kind::message, index, index + 1));
  if (msg->role == message_role::user) {
    view_.newest_user_message = msg;
    view_.newest_user_index = index;
  }
  if (msg->role != message_role::tool && !msg->content.empty())
    last_text_ = context::excerpt_line(msg->content, last_text_chars);
}

void projection::close_open_calls_before(const message& next) {
  if (next.role != message_role::tool)
    close_open_calls();
}

void projection::close_open_calls() {
  if (RIND_PLANTED(no_placeholder))
    open_calls_.clear();
  if (open_calls_.empty())
    return;
  auto& closed = placeholders_[view_.message_count];
  for (const auto& call : open_calls_) {
    closed.push_back(placeholder_for(call));
    add_item(
        item_of(closed.back(), item_kind::placeholder, view_.message_count, view_.message_count));
  }
  open_calls_.clear();
}

void projection::add_item(item i) {
  checker_.add(*i.msg);
  if (i.kind == item_kind::system)
    ++view_.system_items;
  else
    view_.tokens += i.tokens;
  view_.items.push_back(std::move(i));
}

message_ptr projection::sent_form(const message_ptr& msg) const {
  if (!msg->reasoning || msg->model == model_)
    return msg;
  auto copy = std::make_shared<message>(*msg);
  copy->reasoning.reset();
  return copy;
}

void projection::rebuild() {
  view_.items.clear();
  view_.system_items = 0;
  view_.tokens = 0;
  checker_ = {};
  add_fixed_part();
  if (summary_) {
    const auto at = view_.corpus_start;
    add_item(item_of(text_message(message_role::user, *summary_->continuation_text),
                     item_kind::continuation, at, at));
    add_item(item_of(text_message(message_role::assistant, *summary_->handoff_text),
                     item_kind::handoff, at, at));
  }
  auto index = view_.corpus_start;
  auto placeholder = placeholders_.begin();
  const auto add_placeholders = [&] {
    for (; placeholder != placeholders_.end() && placeholder->first <= index; ++placeholder)
      for (const auto& msg : placeholder->second)
        add_item(item_of(msg, item_kind::placeholder, placeholder->first, placeholder->first));
  };
  for (const auto& msg : raw_) {
    add_placeholders();
    add_item(item_of(sent_form(msg), item_kind::message, index, index + 1));
    ++index;
  }
  add_placeholders();
  if (replaced_.empty())
    return;
  view_ = context::with_replaced(view_, replaced_);
  checker_ = {};
  for (const auto& i : view_.items)
    checker_.add(*i.msg);
}

void projection::add_fixed_part() {
  fixed_tokens_ = settings_.tools ? context::estimate_tools(*settings_.tools) : 0;
  const auto add_system = [&](message_ptr msg) {
    auto i = item_of(std::move(msg), item_kind::system, 0, 0);
    fixed_tokens_ += i.tokens;
    add_item(std::move(i));
  };
  for (const auto& msg : settings_.system_messages)
    add_system(msg);
  if (!system_prompt_.empty())
    add_system(text_message(message_role::system, system_prompt_));
}

// -- reading
// --------------------------------------------------------------------------------------------------------------------------

std::shared_ptr<const message_view> projection::shared_view() const {
  if (!shared_view_)
    shared_view_ = std::make_shared<const message_view>(view_);
  return shared_view_;
}

std::optional<std::int64_t> projection::learned_window(const std::string& model) const {
  const auto found = learned_windows_.find(model);
  return found == learned_windows_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<message_ptr> projection::messages(std::int64_t start,
                                              std::int64_t end_exclusive) const {
  const auto size = static_cast<std::int64_t>(raw_.size());
  const auto from = std::clamp<std::int64_t>(start - view_.corpus_start, 0, size);
  const auto to = std::clamp<std::int64_t>(end_exclusive - view_.corpus_start, from, size);
  return {raw_.begin() + from, raw_.begin() + to};
}

message_view projection::with_replacements(const std::vector<replacement>& replaced) const {
  return context::with_replaced(view_, replaced);
}

} // namespace rind::view
