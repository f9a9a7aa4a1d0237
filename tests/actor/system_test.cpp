// A whole host in the test's own process: who is let in (S42), whose a session is, and an end that
// something holds up (S43).
#include <latch>
#include <thread>

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include "actors/system.hpp"
#include "runtime/journal/memory_store.hpp"
#include "tests/kit/forwarding_store.hpp"
#include "tests/kit/protocol_peer.hpp"
#include "tests/kit/temp_folder.hpp"

namespace rind {
namespace {

using namespace journal;
using nlohmann::json;

/// A disk that hangs in the second append (the first one starts a turn) until it is let go.
struct hanging_disk {
  std::latch reached{1};
  std::latch let_go{1};
  std::latch gone{1};
};

class hanging_store final : public kit::forwarding_store {
public:
  explicit hanging_store(std::shared_ptr<hanging_disk> disk) : disk_(std::move(disk)) {}
  ~hanging_store() override { disk_->gone.count_down(); }

  std::vector<result<append_receipt>> append(std::span<const append_request> group) override {
    if (++appends_ == 2) {
      disk_->reached.count_down();
      disk_->let_go.wait();
    }
    return forwarding_store::append(group);
  }

private:
  std::shared_ptr<hanging_disk> disk_;
  int appends_ = 0;
};

/// A model that is asked and never answers, and hears no cancel.
class lost_model final : public provider::model_provider {
public:
  explicit lost_model(std::shared_ptr<std::latch> asked) : asked_(std::move(asked)) {}
  void start(sampling_request, provider::sampling_sink) override { asked_->count_down(); }
  void cancel(const std::string&) override {}

private:
  std::shared_ptr<std::latch> asked_;
};

config::settings settings_of_test() {
  config::settings s;
  s.journal = "memory";
  return s;
}

/// A host that listens on a socket of its folder.
std::unique_ptr<actors::system>
listening_host(config::settings settings, actors::system_parts parts, const std::string& socket) {
  auto started = actors::system::start(std::move(settings), std::move(parts));
  if (!started)
    throw std::runtime_error(started.error().message);
  if (auto listening = (*started)->listen_unix(socket); !listening)
    throw std::runtime_error(listening.error().message);
  return std::move(*started);
}

/// A host with one turn on its way, and its client.
struct busy_host {
  explicit busy_host(actors::system_parts parts) {
    host = listening_host(settings_of_test(), std::move(parts), folder.file("socket"));
    client = std::make_unique<kit::protocol_peer>(folder.file("socket"));
    client->call("initialize");
    session_id = kit::result_of(client->call("session/new")).value("session_id", "");
    client->send("session/prompt", {{"session_id", session_id}, {"input", "Go."}});
  }

  kit::temp_folder folder;
  std::unique_ptr<actors::system> host;
  std::unique_ptr<kit::protocol_peer> client;
  std::string session_id;
};

TEST(system, S42_a_socket_with_a_token_lets_nobody_in_without_it) {
  const kit::temp_folder folder;
  auto settings = settings_of_test();
  settings.server.tokens = {{"one", config::secret("letmein")}};
  const auto host = listening_host(settings, {}, folder.file("socket"));
  for (const auto* wrong : {"", "letmei", "letmein2"}) {
    kit::protocol_peer peer(folder.file("socket"));
    const auto refused = peer.call("initialize", *wrong ? json{{"token", wrong}} : json::object());
    EXPECT_EQ(kit::error_type_of(refused), "Unauthorized") << wrong;
    EXPECT_EQ(refused.dump().find("letmein\""), std::string::npos);
    EXPECT_EQ(kit::error_type_of(peer.call("session/list")), "NotInitialized") << wrong;
    EXPECT_EQ(kit::error_type_of(peer.call("initialize", {{"token", "letmein"}})), ""); // again
  }
  EXPECT_TRUE(host->stop(0).is_clean());
}

TEST(system, S5_a_host_whose_session_was_taken_by_another_says_so) {
  const kit::temp_folder folder;
  auto settings = settings_of_test();
  settings.journal = "sqlite:" + folder.file("journal.db");
  const auto first = listening_host(settings, {}, folder.file("one"));
  const auto second = listening_host(settings, {}, folder.file("two"));
  kit::protocol_peer ann(folder.file("one"));
  kit::protocol_peer bob(folder.file("two"));
  ann.call("initialize");
  bob.call("initialize");
  const auto id = kit::result_of(ann.call("session/new")).value("session_id", "");
  const json hello{{"session_id", id}, {"input", "Hello."}};
  EXPECT_EQ(kit::result_of(ann.call("session/prompt", hello)).value("outcome", ""), "completed");
  EXPECT_EQ(kit::result_of(bob.call("session/prompt", hello)).value("outcome", ""), "completed");
  EXPECT_EQ(kit::error_type_of(ann.call("session/prompt", hello)), "NotOwner");
  EXPECT_TRUE(first->stop(0).is_clean());
  EXPECT_TRUE(second->stop(0).is_clean());
}

TEST(system, F40_S39_a_damaged_row_in_the_middle_is_an_error_and_is_left_as_it_is) {
  const kit::temp_folder folder;
  const auto path = folder.file("journal.db");
  auto settings = settings_of_test();
  settings.journal = "sqlite:" + path;
  std::string damaged_id;
  std::string whole_id;
  const auto prompt = [](kit::protocol_peer& peer, const std::string& id) {
    return peer.call("session/prompt", {{"session_id", id}, {"input", "Are you there?"}});
  };
  {
    const auto host = listening_host(settings, {}, folder.file("one"));
    kit::protocol_peer peer(folder.file("one"));
    peer.call("initialize");
    for (auto* id : {&damaged_id, &whole_id}) {
      *id = kit::result_of(peer.call("session/new")).value("session_id", "");
      ASSERT_EQ(kit::error_type_of(prompt(peer, *id)), "");
    }
  }
  const auto rows = [&] {
    SQLite::Database db(path, SQLite::OPEN_READWRITE);
    SQLite::Statement all(db, "SELECT group_concat(entry_id || kind || body) FROM entries "
                              "WHERE session_id = ?");
    all.bind(1, damaged_id);
    all.executeStep();
    return all.getColumn(0).getString();
  };
  {
    SQLite::Database db(path, SQLite::OPEN_READWRITE);
    SQLite::Statement damage(
        db, "UPDATE entries SET body = '{\"mess' WHERE session_id = ? AND position = 3");
    damage.bind(1, damaged_id);
    ASSERT_EQ(damage.exec(), 1);
  }
  const auto damaged = rows();
  const auto host = listening_host(settings, {}, folder.file("two"));
  kit::protocol_peer peer(folder.file("two"));
  peer.call("initialize");
  for (int i = 0; i < 2; ++i) {
    const auto refused = prompt(peer, damaged_id);
    EXPECT_EQ(kit::error_type_of(refused), "Unavailable");
    EXPECT_NE(refused.dump().find("persistence_failed"), std::string::npos);
    EXPECT_EQ(kit::error_type_of(prompt(peer, whole_id)), "");
  }
  EXPECT_EQ(rows(), damaged);
}

TEST(system, S43_a_host_at_rest_stops_clean) {
  const auto asked = std::make_shared<std::latch>(1);
  actors::system_parts parts;
  parts.model = std::make_shared<lost_model>(asked);
  busy_host h{std::move(parts)};
  asked->wait();
  const auto report = h.host->stop(0); // the turn is cancelled, whatever its model does
  EXPECT_TRUE(report.is_clean());
  EXPECT_TRUE(h.host->stop(0).is_clean());
}

TEST(system, S43_a_session_that_never_comes_to_rest_is_named_and_given_up) {
  const auto disk = std::make_shared<hanging_disk>();
  actors::system_parts parts;
  parts.store = std::make_unique<hanging_store>(disk);
  parts.stop_margin_ms = 100;
  busy_host h{std::move(parts)};
  disk->reached.wait();
  const auto report = h.host->stop(0);
  EXPECT_FALSE(report.is_clean());
  EXPECT_EQ(report.abandoned_sessions, std::vector<std::string>{h.session_id});
  EXPECT_FALSE(report.journal_finished);
  h.host.reset();
  disk->let_go.count_down(); // its late answers harm nobody
  disk->gone.wait();         // and what was abandoned is freed
}

} // namespace
} // namespace rind
