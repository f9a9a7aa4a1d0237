// Hosts a session inside this program and talks with it: start a node, connect a client in the same
// process, send a prompt, print what comes back. The lines are those of docs/protocol.md.
#include <future>
#include <iostream>

#include <nlohmann/json.hpp>

#include "actors/system.hpp"
#include "runtime/protocol/frames.hpp"

int main() {
  rind::config::settings settings; // no provider: the embedded model, without network and key
  settings.journal = "memory";     // or "sqlite:PATH"
  auto host = rind::actors::system::start(settings);
  if (!host) {
    std::cerr << host.error().message << '\n';
    return 1;
  }
  rind::net::asio_client client;
  rind::protocol::line_splitter lines;
  std::string outcome;
  std::promise<void> closed;
  auto wire = (*host)->connect(client, [&](rind::net::connection_ptr to_host) {
    rind::net::connection_events events;
    events.on_bytes = [&, to_host](std::string bytes) {
      lines.push(bytes);
      to_host->consumed(bytes.size());
      while (auto line = lines.next()) {
        const auto frame = nlohmann::json::parse(line->text);
        if (frame["kind"] == "event") {
          const auto& event = frame["event"];
          std::cout << event["type"].get<std::string>() << "  " << event.value("text", "") << '\n';
        } else if (frame["request_id"] == 2) { // the prompt is answered when its turn has ended
          outcome = frame.value("/result/outcome"_json_pointer, "refused");
          to_host->close_after_writes();
        }
      }
    };
    events.on_written = [](std::size_t) {};
    events.on_closed = [&] { closed.set_value(); };
    return events;
  });
  (*wire)->send(R"({"kind":"request","request_id":1,"method":"initialize"})"
                "\n"
                R"({"kind":"request","request_id":2,"method":"session/prompt",)"
                R"("params":{"input":"Hello!"}})"
                "\n");
  closed.get_future().wait();
  (*host)->stop(0);
  std::cout << "outcome: " << outcome << '\n';
  return outcome == "completed" ? 0 : 1;
}
