// A tool of one's own: a class, put into the registry that a host is started with. The embedded
// model calls it because the prompt asks for it; any other model does so by the tool's description.
#include <future>
#include <iostream>
#include <map>

#include <nlohmann/json.hpp>

#include "actors/system.hpp"
#include "runtime/protocol/frames.hpp"

namespace {

using nlohmann::json;

/// Says how many pieces of an item are in stock. Answers at once, so there is nothing to cancel; a
/// tool that takes longer starts its work in `start`, returns, and calls the sink from any thread.
class stock_tool final : public rind::tools::tool {
public:
  const rind::tool_definition& definition() const override { return definition_; }

  void start(const rind::tools::invocation& call, rind::tools::tool_sink sink) override {
    // What a model wrote is input from outside: it may be anything.
    const auto arguments = json::parse(call.call.arguments, nullptr, false);
    const auto item = arguments.is_object() ? arguments.value("item", json()) : json();
    if (!item.is_string())
      return sink.on_end({rind::tool_status::rejected, "item: must be a string", "bad_arguments"});
    const auto found = stock_.find(item.get<std::string>());
    sink.on_end({rind::tool_status::completed,
                 std::to_string(found == stock_.end() ? 0 : found->second) + " in stock", ""});
  }

  void cancel(const std::string&) override {}

private:
  const rind::tool_definition definition_{
      "stock", "How many pieces of an item are in stock.",
      R"({"type":"object","properties":{"item":{"type":"string"}},"required":["item"]})"};
  const std::map<std::string, int> stock_{{"lamp", 12}, {"chair", 3}};
};

/// Sends one prompt over a connection of its own; answers what the tool said.
std::string tool_result_of(rind::actors::system& host, const std::string& prompt) {
  rind::net::asio_client client;
  rind::protocol::line_splitter lines;
  std::string result;
  std::promise<void> closed;
  auto wire = host.connect(client, [&](rind::net::connection_ptr to_host) {
    rind::net::connection_events events;
    events.on_bytes = [&, to_host](std::string bytes) {
      lines.push(bytes);
      to_host->consumed(bytes.size());
      while (auto line = lines.next()) {
        const auto frame = json::parse(line->text);
        const auto type = frame.value("/event/type"_json_pointer, "");
        if (type == "tool_requested")
          std::cout << "the model calls " << frame["event"]["tool_name"] << " with "
                    << frame["event"]["arguments"] << '\n';
        if (type == "tool_result")
          result = frame["event"]["result"].get<std::string>();
        if (type == "assistant_message_completed")
          std::cout << "the model says: " << frame["event"]["content"].get<std::string>() << '\n';
        if (frame["kind"] == "response" && frame["request_id"] == 2)
          to_host->close_after_writes();
      }
    };
    events.on_written = [](std::size_t) {};
    events.on_closed = [&] { closed.set_value(); };
    return events;
  });
  const json initialize{{"kind", "request"}, {"request_id", 1}, {"method", "initialize"}};
  const json ask{{"kind", "request"},
                 {"request_id", 2},
                 {"method", "session/prompt"},
                 {"params", {{"input", prompt}}}};
  (*wire)->send(initialize.dump() + "\n" + ask.dump() + "\n");
  closed.get_future().wait();
  return result;
}

} // namespace

int main() {
  auto tools = std::make_shared<rind::tools::registry>();
  tools->add(std::make_shared<stock_tool>());
  rind::config::settings settings;
  settings.journal = "memory";
  rind::actors::system_parts parts;
  parts.tools = tools;
  auto host = rind::actors::system::start(settings, std::move(parts));
  if (!host) {
    std::cerr << host.error().message << '\n';
    return 1;
  }
  const auto result = tool_result_of(**host, R"(Use the tool stock with {"item": "lamp"}.)");
  (*host)->stop(0);
  std::cout << "the tool said: " << result << '\n';
  return result == "12 in stock" ? 0 : 1;
}
