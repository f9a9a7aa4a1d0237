// A program outside of rind's tree that hosts a session: it starts a node, runs one prompt and ends
// with 0 if the turn completed. It knows nothing but the installed package.
#include <future>
#include <iostream>

#include <nlohmann/json.hpp>

#include "actors/system.hpp"
#include "messages/version.hpp"
#include "runtime/protocol/frames.hpp"

int main() {
  rind::config::settings settings;
  settings.journal = "memory";
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
        if (frame["kind"] != "response" || frame["request_id"] != "prompt")
          continue;
        outcome = frame.value("/result/outcome"_json_pointer, "refused");
        to_host->close_after_writes();
      }
    };
    events.on_written = [](std::size_t) {};
    events.on_closed = [&] { closed.set_value(); };
    return events;
  });
  (*wire)->send(R"({"kind":"request","request_id":"hello","method":"initialize"})"
                "\n"
                R"({"kind":"request","request_id":"prompt","method":"session/prompt",)"
                R"("params":{"input":"Write 50 words about houses."}})"
                "\n");
  closed.get_future().wait();
  (*host)->stop(0);
  std::cout << "embeds rind " << RIND_VERSION << ", the turn " << outcome << '\n';
  return outcome == "completed" ? 0 : 1;
}
