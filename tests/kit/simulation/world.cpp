// The wiring of a simulated node, its crash and its end.
#include "tests/kit/simulation/world.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <utility>

#include <caf/local_actor.hpp>
#include <caf/send.hpp>
#include <nlohmann/json.hpp>

#include "messages/json.hpp"
#include "runtime/journal/memory_store.hpp"
#include "runtime/protocol/session_updates.hpp"
#include "runtime/tools/port.hpp"
#include "tests/kit/simulation/watched_store.hpp"

namespace rind::kit {

using namespace rind::actors;

config::settings world_settings() {
  config::settings s;
  const auto model = [](std::string name, std::int64_t window) {
    config::model_settings m;
    m.name = std::move(name);
    m.limits.window_tokens = window;
    return m;
  };
  config::provider_settings p;
  p.name = "scripted";
  p.models = {model("model-a", world_window_tokens), model("model-big", world_window_tokens * 10),
              model("model-tiny", world_window_tokens / 6)};
  s.providers = {p};
  s.default_model = "model-a";
  return s;
}

/// What a node's writer owns: the world's store, until the node dies.
struct world::gate {
  bool open = true;
};

namespace {

using namespace rind::journal;

template <class Gate>
class gated_store final : public store {
public:
  gated_store(std::shared_ptr<store> inner, std::shared_ptr<Gate> gate)
      : inner_(std::move(inner)), gate_(std::move(gate)) {}

  std::vector<result<append_receipt>> append(std::span<const append_request> group) override {
    if (gate_->open)
      return inner_->append(group);
    return std::vector<result<append_receipt>>(group.size(), closed());
  }
  result<loaded_session> claim(const std::string& id) override {
    return ask<loaded_session>([&] { return inner_->claim(id); });
  }
  result<std::vector<entry_ptr>> read(const std::string& id, std::int64_t after,
                                      std::int64_t limit) override {
    return ask<std::vector<entry_ptr>>([&] { return inner_->read(id, after, limit); });
  }
  result<std::optional<session_summary>> find(const std::string& id) override {
    return ask<std::optional<session_summary>>([&] { return inner_->find(id); });
  }
  result<session_page> list(std::int64_t limit, const std::string& after) override {
    return ask<session_page>([&] { return inner_->list(limit, after); });
  }
  result<std::optional<input_trace>> find_input(const std::string& id,
                                                const std::string& input_id) override {
    return ask<std::optional<input_trace>>([&] { return inner_->find_input(id, input_id); });
  }
  result<done> remove(const std::string& id, std::uint64_t epoch) override {
    return ask<done>([&] { return inner_->remove(id, epoch); });
  }

private:
  static failure closed() {
    return make_failure(error_code::persistence_failed, "the node is dead");
  }
  template <class T, class Call>
  result<T> ask(Call call) {
    if (!gate_->open)
      return closed();
    return call();
  }

  std::shared_ptr<store> inner_;
  std::shared_ptr<Gate> gate_;
};

/// Virtual time within which a directory opens a session.
constexpr std::int64_t open_limit_ms = 60'000;

// Answers of the journal leave its actor from outside of its own execution; between two runs the
// unit that executed it last is no more.
void leave_execution(const actors::journal_actor& journal) {
  if (auto* a = dynamic_cast<caf::local_actor*>(caf::actor_cast<caf::abstract_actor*>(journal)))
    a->context(nullptr);
}

std::function<void(const std::string&)>& complaint_handler() {
  static std::function<void(const std::string&)> handler = [](const std::string& what) {
    std::cerr << what << std::endl;
    std::abort();
  };
  return handler;
}

} // namespace

void set_complaint_handler(std::function<void(const std::string&)> handler) {
  complaint_handler() = std::move(handler);
}

world::world(world_options options)
    : options_(std::move(options)), time_({options_.seed, options_.shuffled}) {
  const auto at = [this](std::int64_t ms, std::function<void()> then) {
    time_.at(ms, std::move(then));
  };
  const auto clock = [this] { return time_.now_ms(); };
  model_ = std::make_shared<scripted_model>(at, clock);
  model_->watch(options_.watch);
  model_->keep_requests(options_.keeps_history);
  if (options_.watch)
    time_.watch([this](std::string_view actor) { options_.watch->on_delivery(actor); });
  for (const auto& name : options_.tools)
    tools_[name] = std::make_shared<scripted_tool>(name, at);
  if (options_.own_tools)
    own_tools_ = options_.own_tools(at);
  environment_ = std::make_shared<seeded_environment>(options_.seed, clock);
  operator_ = spawn_client();
  nodes_.resize(options_.nodes);
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    restart(i);
}

world::~world() {
  if (closed_)
    return;
  // Half of a test's failures show here as well; the first message is the one to read.
  if (const auto what = close(); !what.empty())
    complaint_handler()("left over at the end of the world: " + what);
}

std::string world::close() {
  if (std::exchange(closed_, true))
    return {};
  std::string what;
  try {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (is_up(i))
        stop_node(i);
    clients_.push_back(std::move(operator_));
    for (auto& c : clients_) {
      c.self->attach({});
      caf::anon_send_exit(c.handle, caf::exit_reason::user_shutdown);
    }
    clients_.clear();
    run();
    what = leftovers();
  } catch (const std::exception& e) {
    what = std::string{"the world does not come to its end: "} + e.what();
  }
  model_->forget();
  for (auto& [name, t] : tools_)
    t->forget();
  time_.drop_timers();
  return what;
}

void world::stop_node(std::size_t node) {
  (void)stop(0, node);
  time_.advance_until([this] { return model_->in_flight() == 0; }, 10'000);
  run();
  stop_actors(*nodes_[node].wired);
  nodes_[node].wired.reset();
  run();
  nodes_[node].writer.reset();
}

std::string world::leftovers() {
  std::string what;
  if (const auto n = time_.actors_alive(); n > 0)
    what += std::to_string(n) + " actors; ";
  if (const auto n = model_->in_flight(); n > 0)
    what += std::to_string(n) + " requests at the model; ";
  if (const auto n = model_->unused(); n > 0)
    what += std::to_string(n) + " answers that nobody asked for; ";
  if (const auto n = model_->unexpected(); n > 0)
    what += std::to_string(n) + " requests that the script did not expect; ";
  return what;
}

// -- nodes ---------------------------------------------------------------------

std::size_t world::home_of(const std::string& session_id) const {
  const auto i = home_.find(session_id);
  return i == home_.end() ? 0 : i->second;
}

std::vector<std::string> world::sessions_of(std::size_t node) const {
  std::vector<std::string> sessions;
  for (const auto& [id, home] : home_)
    if (home == node)
      sessions.push_back(id);
  return sessions;
}

std::shared_ptr<rind::tools::registry> world::all_tools() const {
  auto all = std::make_shared<rind::tools::registry>();
  for (const auto& [name, t] : tools_)
    all->add(t);
  for (const auto& t : own_tools_)
    all->add(t);
  return all;
}

void world::restart(std::size_t node) {
  if (is_up(node))
    crash(node);
  if (options_.open_store || !store_) {
    auto opened = options_.open_store
                      ? options_.open_store()
                      : std::unique_ptr<rind::journal::store>{std::make_unique<memory_store>()};
    if (options_.watch)
      opened = std::make_unique<watched_store>(std::move(opened), *options_.watch);
    store_ = make_faulty_store(std::move(opened), faults_);
  }
  auto& slot = nodes_[node];
  slot.gate = std::make_shared<gate>();
  wiring_parts parts;
  parts.env = environment_;
  slot.writer =
      std::make_shared<writer>(std::make_unique<gated_store<gate>>(store_, slot.gate),
                               writer_mode::when_told, [this, node] { work_waits(node); });
  parts.writer = slot.writer;
  parts.tools = all_tools();
  parts.make_provider = [this](const config::provider_settings*) { return model_; };
  time_.enter_group(node + 1);
  auto wired = wire_node(time_.system(), options_.settings, parts);
  time_.enter_group(outside_group);
  if (!wired)
    throw std::runtime_error(wired.error().message);
  slot.wired = std::make_unique<wired_node>(std::move(*wired));
  run();
}

// One job is done before the next one waits, so that a job which asks for another does not nest; a
// slow commit is done by a timer, and all that came before it with it.
void world::work_waits(std::size_t node) {
  auto& slot = nodes_[node];
  if (slot.works)
    return;
  slot.works = true;
  const auto work = [this, node, writer = std::weak_ptr<journal::writer>{slot.writer}] {
    const auto alive = writer.lock();
    if (!alive || alive != nodes_[node].writer)
      return; // the node died meanwhile
    while (alive->run_next()) {
    }
    nodes_[node].works = false;
  };
  if (commit_ms_ == 0)
    return work();
  time_.at(commit_ms_, [this, node, work] {
    if (is_up(node))
      leave_execution(nodes_[node].wired->node->journal);
    work();
  });
}

void world::crash(std::size_t node) {
  nodes_[node].gate->open = false;
  auto journal = nodes_[node].wired->node->journal;
  nodes_[node].wired.reset();
  time_.kill_group(node + 1);
  leave_execution(journal);
  (void)std::exchange(nodes_[node].writer, nullptr)->finish(0);
  journal = nullptr;
  nodes_[node].works = false;
  if (nodes_.size() == 1) {
    model_->forget();
    for (auto& [name, t] : tools_)
      t->forget();
    time_.drop_timers();
  } else {
    const auto lost = sessions_of(node);
    model_->drop_requests_of(lost);
    for (auto& [name, t] : tools_)
      t->drop_calls_of(lost);
  }
  if (options_.watch)
    options_.watch->on_crash(sessions_of(node));
  if (options_.power_cut)
    options_.power_cut();
  if (options_.open_store)
    store_.reset();
}

void world::refuse_append(std::int64_t nth, error_code code) {
  const auto number = faults_->append_count + nth;
  faults_->appends[number] = {code, false};
  if (code == error_code::persistence_failed)
    faults_->appends[number + 1] = {code, false};
}

void world::lose_answer(std::int64_t nth) {
  faults_->appends[faults_->append_count + nth] = {error_code::persistence_failed, true};
}

awaited<done> world::stop(std::int64_t grace_ms, std::size_t node) {
  return operator_.self->stop(nodes_[node].wired->directory, {grace_ms, cancel_reason::shutdown});
}

// -- clients -------------------------------------------------------------------

world::client_slot world::spawn_client() {
  auto handle = subscriber{time_.system().spawn<scripted_client>(++last_connection_)};
  run();
  auto* self = static_cast<scripted_client*>(caf::actor_cast<caf::abstract_actor*>(handle));
  return {std::move(handle), self};
}

rind::result<session_actor> world::open(open_session_command command) {
  home_.try_emplace(command.session_id, 0);
  const auto& directory = nodes_[home_of(command.session_id)].wired->directory;
  auto answer = operator_.self->open(directory, std::move(command));
  const auto is_there = [&] { return answer.arrived() || answer.lost(); };
  run();
  if (!is_there()) // a slow journal is asked first
    time_.advance_until(is_there, open_limit_ms);
  run();
  if (!answer.arrived())
    return make_failure(error_code::internal_error, "the directory did not answer");
  return answer.ok() ? rind::result<session_actor>{answer.value()} : answer.error();
}

error_code world::open_error(const std::string& session_id, open_mode mode) {
  auto session = open({session_id, mode, {}, {}});
  if (session)
    throw std::logic_error("session " + session_id + " could be opened");
  return session.error().code;
}

scripted_client& world::client(const std::string& session_id, const std::string& model,
                               const std::string& system_prompt) {
  return client(open_session_command{session_id, open_mode::create, model, system_prompt});
}

scripted_client& world::client(open_session_command created) {
  const auto session_id = created.session_id;
  auto session = open({session_id, open_mode::existing, {}, {}});
  if (!session && session.error().code == error_code::session_not_found)
    session = open(std::move(created));
  if (!session)
    throw std::runtime_error("session " + session_id + ": " + session.error().message);
  clients_.push_back(spawn_client());
  auto& c = *clients_.back().self;
  if (options_.watch)
    c.watch([this, number = clients_.size() -
                            1](const session_event& e) { options_.watch->on_event(number, e); },
            options_.keeps_history);
  c.attach(*session);
  c.subscribe();
  run();
  return c;
}

void world::reconnect(scripted_client& c, const std::string& session_id, open_mode fallback) {
  auto session = open({session_id, open_mode::existing, {}, {}});
  if (!session && session.error().code == error_code::session_not_found &&
      fallback == open_mode::create)
    session = open({session_id, open_mode::create, {}, {}});
  if (!session)
    throw std::runtime_error("session " + session_id + ": " + session.error().message);
  c.attach(*session);
  c.subscribe();
  run();
}

// -- the journal ---------------------------------------------------------------

std::vector<entry_ptr> world::journal_of(const std::string& session_id) {
  std::vector<entry_ptr> all;
  for (;;) {
    auto page = store_->read(session_id, all.empty() ? 0 : all.back()->position, read_limit_max);
    if (!page && page.error().code == error_code::session_not_found)
      return all; // nobody prompted it yet
    if (!page)
      throw std::runtime_error(page.error().message);
    if (page->empty())
      return all;
    all.insert(all.end(), page->begin(), page->end());
  }
}

view::projection world::projection_of(const std::string& session_id) {
  view::projection_settings settings;
  settings.tools = all_tools()->definitions();
  if (!options_.settings.session.system_prompt.empty()) {
    auto m = std::make_shared<message>();
    m->role = message_role::system;
    m->content = options_.settings.session.system_prompt;
    settings.system_messages = {std::move(m)};
  }
  view::projection p{std::move(settings)};
  for (const auto& e : journal_of(session_id))
    if (auto applied = p.apply(*e); !applied)
      throw std::runtime_error(applied.error().message);
  return p;
}

// -- events as text --------------------------------------------------------------

namespace {

nlohmann::json body_of(const session_event& event) {
  return protocol::event_body(event);
}

bool is_noise(const std::string& type) {
  return type == "assistant_delta" || type == "reasoning_delta" || type == "token_stats_updated";
}

} // namespace

std::vector<std::string> types_of(const std::vector<event_ptr>& events) {
  std::vector<std::string> types;
  for (const auto& e : events)
    if (auto type = body_of(*e).at("type").get<std::string>(); !is_noise(type))
      types.push_back(std::move(type));
  return types;
}

std::string line_of(const std::vector<event_ptr>& events) {
  std::string line;
  for (const auto& e : events) {
    const auto body = body_of(*e);
    auto type = body.at("type").get<std::string>();
    if (is_noise(type))
      continue;
    if (type == "compaction_ended")
      type += ":" + body.at("outcome").get<std::string>();
    else if (type == "turn_failed")
      type += ":" + body.at("code").get<std::string>();
    else if (type == "turn_cancelled")
      type += ":" + body.at("reason").get<std::string>();
    else if (type == "context_compacted")
      type += ":" + body.at("record").at("strategy").get<std::string>();
    line += (line.empty() ? "" : " ") + type;
  }
  return line;
}

std::string text_of(const session_event& event) {
  return dump_json(body_of(event));
}

std::string line_of(const std::vector<entry_ptr>& entries) {
  std::string line;
  for (const auto& e : entries)
    line += (line.empty() ? "" : " ") + std::string{kind_of(e->body)};
  return line;
}

} // namespace rind::kit
