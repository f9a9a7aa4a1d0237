// A server of the session protocol that a test writes itself: each request is given to a function
// that answers as it likes.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "runtime/net/asio_client.hpp"
#include "runtime/net/asio_server.hpp"
#include "runtime/protocol/frames.hpp"

namespace rind::hosts {

class line_server {
public:
  using json = nlohmann::json;
  /// The link of one client: answers and events in any order.
  class peer {
  public:
    explicit peer(net::connection_ptr link) : link_(std::move(link)) {}
    void send(const json& frame) { link_->send(frame.dump() + "\n"); }
    void send_text(const std::string& text) { link_->send(text); }
    void result(const json& request, json value) {
      send({{"kind", "response"},
            {"request_id", request["request_id"]},
            {"result", std::move(value)}});
    }
    void error(const json& request, const std::string& type) {
      send({{"kind", "response"},
            {"request_id", request["request_id"]},
            {"error", {{"type", type}, {"message", "no: " + type}}}});
    }
    void event(json body, const std::string& session_id = "s1") {
      send({{"kind", "event"},
            {"method", "session/update"},
            {"sequence", ++sequence_},
            {"session_id", session_id},
            {"event", std::move(body)}});
    }
    void close() { link_->close_now(); }

  private:
    net::connection_ptr link_;
    std::int64_t sequence_ = 0;
  };
  using handler = std::function<void(peer&, const json& request)>;

  explicit line_server(handler on_request) : on_request_(std::move(on_request)) {
    std::string pattern = (std::filesystem::temp_directory_path() / "rind-line-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      std::abort();
    folder_ = pattern;
    if (!server_.listen_unix(path(),
                             [this](net::connection_ptr link) { return serve(std::move(link)); }))
      std::abort();
  }
  ~line_server() {
    server_.stop();
    std::filesystem::remove_all(folder_);
  }
  line_server(const line_server&) = delete;
  line_server& operator=(const line_server&) = delete;

  std::string path() const { return (folder_ / "s").string(); }
  std::function<result<net::connection_ptr>(net::connect_callback)> connector() {
    return [this](net::connect_callback callback) {
      return client_.connect_unix(path(), std::move(callback));
    };
  }

private:
  net::connection_events serve(net::connection_ptr link) {
    auto lines = std::make_shared<protocol::line_splitter>();
    auto one = std::make_shared<peer>(link);
    net::connection_events events;
    events.on_bytes = [this, link, lines, one](const std::string& bytes) {
      lines->push(bytes);
      link->consumed(bytes.size());
      while (auto line = lines->next())
        on_request_(*one, json::parse(line->text));
    };
    return events;
  }

  std::filesystem::path folder_;
  handler on_request_;
  net::asio_server server_;
  net::asio_client client_;
};

} // namespace rind::hosts
