// A node with everything around it, on one thread in virtual time: journal, model, tools, clock and
// clients by script. A test reads like a sequence diagram:
//
//   kit::world w;
//   auto& ann = w.client("s1");
//   w.model().expect(kit::says("Hello."));
//   auto answer = ann.prompt("Hi");
//   w.run();
//   EXPECT_EQ(answer.said(), "ok");
//
// At its end the world stops the node and complains about actors, requests or answers of the script
// that are left over. A world may hold several nodes on one journal, each a group of actors that
// crashes alone; a session lives on the node where it was placed, the first one otherwise.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/wiring.hpp"
#include "runtime/view/projection.hpp"
#include "tests/kit/actors/scripted_client.hpp"
#include "tests/kit/faulty_store.hpp"
#include "tests/kit/simulation/scripted_model.hpp"
#include "tests/kit/simulation/scripted_tool.hpp"
#include "tests/kit/simulation/seeded_environment.hpp"
#include "tests/kit/simulation/virtual_time.hpp"

namespace rind::kit {

/// Window of the model "model-a" of world_settings; small, so that little text fills it.
inline constexpr std::int64_t world_window_tokens = 12'000;

/// One provider with "model-a" (the default), "model-big" (ten times the window) and "model-tiny"
/// (a sixth of it).
config::settings world_settings();

/// Where a world complains from its destructor; the default writes to standard error and ends the
/// program. Test programs set it once, to what fails a test.
void set_complaint_handler(std::function<void(const std::string&)> handler);

struct world_options {
  std::uint64_t seed = 1;
  std::size_t nodes = 1;
  observer* watch = nullptr; // told of everything; outlives the world
  bool keeps_history = true; // off: clients and the model keep nothing of what they heard
  bool shuffled = false;     // the next actor that runs is drawn from the seed
  config::settings settings = world_settings();
  std::vector<std::string> tools{"look"}; // scripted tools by name; none: no tools
  /// Tools of the test's own beside those; `at` calls back in virtual time. Empty: none.
  std::function<std::vector<std::shared_ptr<rind::tools::tool>>(scripted_tool::timer at)> own_tools;
  /// Opens the journal, at the start and at each restart; empty: one in memory, kept over restarts.
  std::function<std::unique_ptr<journal::store>()> open_store;
  /// Called at each crash, before the journal is closed; empty: nothing happens to it.
  std::function<void()> power_cut;
};

class world {
public:
  explicit world(world_options options = {});
  ~world();
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  // -- the script --
  scripted_model& model() { return *model_; }
  const std::map<std::string, std::shared_ptr<scripted_tool>>& tools() const { return tools_; }
  scripted_tool& tool(const std::string& name = "look") { return *tools_.at(name); }
  journal_faults& faults() { return *faults_; }
  /// The append that comes `nth` from now (1: the next) is refused for good. A node asks once more
  /// after persistence_failed, so that fault is scripted twice.
  void refuse_append(std::int64_t nth = 1, error_code code = error_code::persistence_failed);
  /// It is made, and its answer is lost.
  void lose_answer(std::int64_t nth = 1);
  /// From now on a commit takes that long, and what comes meanwhile is committed together; 0: no
  /// time passes.
  void slow_commits(std::int64_t ms) { commit_ms_ = ms; }
  config::settings& settings() { return options_.settings; } // for the next restart

  // -- time --
  void run() { time_.run(); }
  void advance(std::int64_t ms) { time_.advance(ms); }
  virtual_time& time() { return time_; }
  std::int64_t now_ms() const { return time_.now_ms(); }

  // -- clients --
  /// A new client of this session, subscribed; the session is made where it is not there.
  scripted_client& client(const std::string& session_id, const std::string& model = {},
                          const std::string& system_prompt = {});
  /// The same, made as the command says where it is not there.
  scripted_client& client(actors::open_session_command created);
  /// The same client again after a restart, or after its session let go: a new connection.
  /// `fallback` create: a session that nobody had prompted is made again.
  void reconnect(scripted_client& c, const std::string& session_id,
                 actors::open_mode fallback = actors::open_mode::existing);
  /// What the directory says to open a session, without a client.
  error_code open_error(const std::string& session_id, actors::open_mode mode);

  // -- nodes, counted from 0 --
  /// The session is opened on this node from now on. No other one holds it.
  void place(const std::string& session_id, std::size_t node) { home_[session_id] = node; }
  std::size_t home_of(const std::string& session_id) const;
  /// The node dies: nothing of it runs on, what is in the journal stays.
  void crash(std::size_t node = 0);
  /// A node on the same journal. Clients have to reconnect.
  void restart(std::size_t node = 0);
  /// The host is asked to stop, in two steps; run or advance for it to happen.
  awaited<rind::done> stop(std::int64_t grace_ms, std::size_t node = 0);
  bool is_up(std::size_t node = 0) const { return nodes_[node].wired != nullptr; }

  // -- the end --
  /// Ends the nodes and the clients; answers what is left over, or nothing. The destructor does it
  /// where nobody did, and complains.
  std::string close();

  // -- the journal, read beside the node --
  /// Empty for a session that nobody prompted.
  std::vector<entry_ptr> journal_of(const std::string& session_id);
  /// What a restart would make of it.
  view::projection projection_of(const std::string& session_id);
  journal::store& store() { return *store_; }

private:
  struct gate;
  struct client_slot {
    actors::subscriber handle;
    scripted_client* self = nullptr;
  };
  struct node_slot {
    std::shared_ptr<struct gate> gate;
    std::unique_ptr<actors::wired_node> wired; // null: it is down
    std::shared_ptr<journal::writer> writer;   // works when told: at once, or later
    bool works = false;                        // or will soon
  };
  std::string leftovers();
  std::shared_ptr<rind::tools::registry> all_tools() const;
  void stop_node(std::size_t node);
  void work_waits(std::size_t node);
  std::vector<std::string> sessions_of(std::size_t node) const;
  client_slot spawn_client();
  rind::result<actors::session_actor> open(actors::open_session_command command);

  world_options options_;
  virtual_time time_;
  std::shared_ptr<scripted_model> model_;
  std::map<std::string, std::shared_ptr<scripted_tool>> tools_;
  std::vector<std::shared_ptr<rind::tools::tool>> own_tools_;
  std::shared_ptr<journal_faults> faults_ = std::make_shared<journal_faults>();
  std::shared_ptr<seeded_environment> environment_;
  std::shared_ptr<journal::store> store_;
  std::vector<node_slot> nodes_;
  std::map<std::string, std::size_t> home_; // by session
  std::int64_t commit_ms_ = 0;
  bool closed_ = false;
  client_slot operator_; // asks the directory
  std::vector<client_slot> clients_;
  actors::connection_id last_connection_ = 0;
};

/// The types of events in order, live deltas and token_stats_updated left out.
std::vector<std::string> types_of(const std::vector<event_ptr>& events);
/// The same as one line; compaction_ended with its outcome, terminal events with their code.
std::string line_of(const std::vector<event_ptr>& events);
/// As a client of the protocol sees it.
std::string text_of(const session_event& event);
/// The kinds of journal entries in order, as one line.
std::string line_of(const std::vector<entry_ptr>& entries);

} // namespace rind::kit
