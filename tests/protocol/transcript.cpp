// Step by step through a transcript.
#include "tests/protocol/transcript.hpp"

#include <csignal>
#include <functional>
#include <sstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/kit/running_host.hpp"
#include "tests/kit/temp_folder.hpp"

namespace rind::protocol_test {

using nlohmann::json;

namespace {

constexpr std::int64_t step_deadline_ms = 30'000;

bool starts_with(const std::string& text, const std::string& start) {
  return text.rfind(start, 0) == 0;
}

class player {
public:
  explicit player(std::vector<std::string>& problems)
      : problems_(problems), mask_(folder_.file(""), "") {
    if (::mkfifo(folder_.file("gate").c_str(), 0600) != 0)
      problems_.push_back("no fifo");
  }

  void take(const std::string& line) {
    if (starts_with(line, "< "))
      return; // what came stands there instead
    out_ += line + "\n";
    if (starts_with(line, "> "))
      child_->pipes().send_line(filled(line.substr(2)));
    else if (starts_with(line, "@ "))
      step(line.substr(2));
  }

  std::string take_text() { return std::move(out_); }

private:
  void step(const std::string& text);
  void start(const json& what);
  void read_until(const std::function<bool(const json&)>& is_last);
  std::string filled(std::string text) const;
  void open_fifo(const std::string& name);

  std::vector<std::string>& problems_;
  kit::temp_folder folder_;
  frame_mask mask_;
  std::unique_ptr<kit::mock_host> mock_;
  std::unique_ptr<kit::program> child_;
  std::int64_t sequence_ = 0;
  std::string out_;
};

void player::step(const std::string& text) {
  const auto word = text.substr(0, text.find(' '));
  const auto rest = word.size() < text.size() ? text.substr(word.size() + 1) : std::string();
  if (word == "start")
    return start(json::parse(rest));
  if (word == "close-input")
    return child_->pipes().close_input();
  if (word == "open")
    return open_fifo(rest);
  if (word == "signal")
    return child_->signal(rest == "INT" ? SIGINT : rest == "KILL" ? SIGKILL : SIGTERM);
  if (word == "exit") {
    const auto end = child_->wait(step_deadline_ms);
    const auto code = end.signal != 0 ? 128 + end.signal : end.exit_code;
    if (std::to_string(code) != rest)
      problems_.push_back("'" + text + "' but it ended with " + std::to_string(code));
    return;
  }
  if (rest == "end")
    return read_until([](const json&) { return false; });
  if (starts_with(rest, "response ")) {
    const auto id = json::parse(rest.substr(9));
    return read_until(
        [id](const json& f) { return f.value("kind", "") == "response" && f["request_id"] == id; });
  }
  if (starts_with(rest, "event ")) {
    const auto type = rest.substr(6);
    return read_until([type](const json& f) {
      return f.value("kind", "") == "event" && f["event"]["type"] == type;
    });
  }
  problems_.push_back("unknown step: " + text);
}

void player::start(const json& what) {
  if (what.contains("mock")) {
    mock_.reset();
    const auto rules = json::parse(filled(what["mock"].dump()));
    mock_ = std::make_unique<kit::mock_host>(RIND_PROGRAM, folder_.file(""),
                                             rules.get<std::vector<json>>());
    mask_.set_url(mock_->url());
  }
  if (what.contains("settings"))
    kit::write_file(folder_.file("rind.toml"), filled(what["settings"].get<std::string>()));
  kit::program_options options;
  options.arguments = what["arguments"].get<std::vector<std::string>>();
  for (auto& argument : options.arguments)
    argument = filled(argument);
  // No settings, keys or providers of whoever runs the test.
  for (const auto* name : {"RIND_CONFIG", "RIND_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY",
                           "RIND_FORMAT", "RIND_TOKEN", "RIND_BASE_URL", "RIND_MODEL"})
    options.variables[name] = "";
  options.variables["XDG_CONFIG_HOME"] = folder_.file("config");
  options.folder = folder_.file("");
  options.errors_file = folder_.file("errors.txt");
  child_ = std::make_unique<kit::program>(RIND_PROGRAM, options);
  sequence_ = 0;
}

void player::read_until(const std::function<bool(const json&)>& is_last) {
  std::vector<json> frames;
  for (;;) {
    const auto line = child_->pipes().next_line(step_deadline_ms);
    if (!line) {
      if (!child_->pipes().is_ended())
        problems_.push_back("nothing came any more; standard error: " +
                            kit::read_file(folder_.file("errors.txt")));
      break;
    }
    auto frame = json::parse(*line, nullptr, false);
    if (!frame.is_object()) {
      problems_.push_back("no frame: " + *line);
      continue;
    }
    if (frame.value("kind", "") == "event" && frame["sequence"] != ++sequence_)
      problems_.push_back("sequence " + frame["sequence"].dump() + " after " +
                          std::to_string(sequence_ - 1));
    frames.push_back(std::move(frame));
    if (is_last(frames.back()))
      break;
  }
  for (const auto& line : mask_.apply(frames))
    out_ += "< " + line + "\n";
}

std::string player::filled(std::string text) const {
  const auto put = [&text](const std::string& name, const std::string& value) {
    for (auto at = text.find(name); at != std::string::npos;
         at = text.find(name, at + value.size()))
      text.replace(at, name.size(), value);
  };
  put("{folder}/", folder_.file(""));
  put("{url}", mock_ ? mock_->url() : std::string());
  for (auto at = text.find("{repeat "); at != std::string::npos; at = text.find("{repeat ")) {
    const auto end = text.find('}', at);
    std::istringstream words(text.substr(at + 8, end - at - 8));
    std::size_t times = 0;
    std::string what;
    words >> times >> what;
    std::string repeated;
    while (times-- > 0)
      repeated += what;
    text.replace(at, end - at + 1, repeated);
  }
  return text;
}

// Opening waits for the tool that reads; closing is what it waits for.
void player::open_fifo(const std::string& name) {
  const int fd = ::open(folder_.file(name).c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0 || ::write(fd, "it is open now", 14) != 14)
    problems_.push_back("the fifo " + name + " cannot be opened");
  if (fd >= 0)
    ::close(fd);
}

} // namespace

std::string play(const std::string& text, std::vector<std::string>& problems) {
  player p(problems);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    p.take(line);
  return p.take_text();
}

} // namespace rind::protocol_test
