// Numbers and pictures as text.
#include "hosts/demo/report.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

#include "messages/json.hpp"

namespace rind::hosts::demo {

using nlohmann::json;

namespace {

constexpr int gauge_columns = 44;
constexpr std::int64_t prompt_chars = 52;

double rounded(double value, double digits) {
  return std::round(value * digits) / digits;
}

double per_second(std::int64_t count, double wall_s) {
  return wall_s > 0 ? static_cast<double>(count) / wall_s : 0;
}

std::string padded(const std::string& text, std::size_t columns) {
  return text.size() < columns ? std::string(columns - text.size(), ' ') + text : text;
}

std::int64_t number_of(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<std::int64_t>() : 0;
}

class painter {
public:
  painter(const session_evidence& session, const std::vector<entry>& journal) {
    for (const auto& e : journal)
      if (const auto* body = std::get_if<entries::user_message>(&e.body))
        prompts_[e.turn_id] = body->msg->content;
    for (const auto& one : session.seen.events)
      if (text_of(one.event, "type") == "context_built") {
        window_ = number_of(one.event.at("stats"), "context_window_tokens");
        threshold_ = number_of(one.event.at("stats"), "auto_compact_token_limit");
      }
    out_ << "Session " << session.session_id << ": context of " << grouped(window_)
         << " tokens (# in use, | where compaction starts: " << grouped(threshold_) << ")\n\n";
    for (const auto& one : session.seen.events)
      draw(one.event);
  }

  std::string text() const { return out_.str(); }

private:
  void draw(const json& event) {
    const auto type = text_of(event, "type");
    if (type == "turn_started")
      draw_start(event);
    else if (type == "context_built")
      gauge("sampling", number_of(event.at("stats"), "active_tokens"));
    else if (type == "tool_requested")
      line("tool", text_of(event, "tool_name") + " " + text_of(event, "args_preview"));
    else if (type == "turn_step_retry")
      line("retry", "attempt " + std::to_string(number_of(event, "attempt")) + ", " +
                        text_of(event, "reason"));
    else if (type == "queued_input_delivered")
      line(text_of(event, "mode") == "steering" ? "steering" : "follow-up",
           text_of(event, "input"));
    else if (type == "context_compacted")
      draw_boundary(event.at("record"));
    else if (is_terminal(type))
      draw_end(type, event);
  }

  void draw_start(const json& event) {
    const bool resumed = event.at("resumed").get<bool>();
    if (resumed)
      out_ << std::string(12, ' ') << "- - - - the host was killed and started again - - - -\n";
    const bool compact = text_of(event, "operation") == "compact";
    const auto words = compact ? "/compact" : prompts_[text_of(event, "turn_id")];
    out_ << clock(event) << (resumed ? "resume    " : "turn      ") << words << "\n";
  }

  void draw_boundary(const json& record) {
    const bool rescue = text_of(record, "strategy") == "context_rescue";
    const auto cut = record.at("source");
    std::string what = rescue ? "rescue (" : "compaction (";
    what += text_of(record, "reason") + "), generation " +
            std::to_string(number_of(record, "generation"));
    if (rescue)
      what += ", parts of the view shortened";
    else
      what += ", messages " + std::to_string(number_of(cut, "message_start_index")) + " to " +
              std::to_string(number_of(cut, "message_end_index_exclusive") - 1) +
              " became a handoff";
    out_ << "          * " << what << "\n";
    gauge("  before", number_of(record, "tokens_before"));
    gauge("  after", number_of(record, "tokens_after"));
  }

  void draw_end(const std::string& type, const json& event) {
    auto words = type.substr(type.find('_') + 1);
    if (const auto reason = text_of(event, "reason"); !reason.empty())
      words += " (" + reason + ")";
    if (const auto error = text_of(event, "error"); !error.empty())
      words += ": " + error;
    if (const auto left = event.at("undelivered").size(); left > 0)
      words += ", " + std::to_string(left) + " waiting inputs handed back";
    out_ << clock(event) << words << "\n\n";
  }

  std::string clock(const json& event) {
    const auto now = parse_time(text_of(event, "ts")).value_or(0);
    if (began_ == 0)
      began_ = now;
    std::ostringstream text;
    text << std::setw(8) << std::fixed << std::setprecision(2)
         << static_cast<double>(now - began_) / 1000.0 << " s  ";
    return text.str();
  }

  void line(const char* label, const std::string& words) {
    out_ << "            " << std::left << std::setw(10) << label << std::right
         << first_characters(words, prompt_chars)
         << (count_characters(words) > prompt_chars ? "..." : "") << "\n";
  }

  void gauge(const char* label, std::int64_t tokens) {
    const auto column = [&](std::int64_t at) {
      const auto share =
          static_cast<double>(at) / static_cast<double>(std::max<std::int64_t>(window_, 1));
      return std::clamp(static_cast<int>(std::lround(share * gauge_columns)), 0, gauge_columns);
    };
    std::string bar(gauge_columns, ' ');
    std::fill_n(bar.begin(), column(tokens), '#');
    bar[static_cast<std::size_t>(std::min(column(threshold_), gauge_columns - 1))] = '|';
    const auto percent = 100 * tokens / std::max<std::int64_t>(window_, 1);
    out_ << "            " << std::left << std::setw(10) << label << std::right << "[" << bar
         << "] " << padded(grouped(tokens), 6) << padded(std::to_string(percent), 5) << " %\n";
  }

  std::ostringstream out_;
  std::map<std::string, std::string> prompts_; // by turn
  std::int64_t window_ = 0;
  std::int64_t threshold_ = 0;
  std::int64_t began_ = 0;
};

} // namespace

std::string grouped(std::int64_t number) {
  auto text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string json_report(const tally& sums, const run_facts& run) {
  const nlohmann::ordered_json report{
      {"sessions", sums.sessions},
      {"turns", sums.turns},
      {"samplings", sums.samplings},
      {"compactions",
       {{"manual", sums.manual},
        {"auto", sums.automatic},
        {"context_length_error", sums.context_length_error}}},
      {"rescues", sums.rescues},
      {"retries", sums.retries},
      {"inputs_accepted", sums.inputs_accepted},
      {"inputs_delivered", sums.inputs_delivered},
      {"inputs_returned", sums.inputs_returned},
      {"inputs_dropped_by_cancel", sums.inputs_dropped_by_cancel},
      {"boundary_violations", sums.boundary_violations},
      {"terminal_events_missing_or_double", sums.terminal_events_missing_or_double},
      {"restarts", run.restarts},
      {"wall_s", rounded(run.wall_s, 1'000)},
      {"turns_per_s", rounded(per_second(sums.turns, run.wall_s), 100)}};
  return report.dump(2) + "\n";
}

std::string table(const tally& sums, const run_facts& run) {
  std::ostringstream out;
  const auto row = [&](const char* label, const std::string& value) {
    out << "  " << std::left << std::setw(46) << label << std::right << std::setw(10) << value
        << "\n";
  };
  const auto count = [&](const char* label, std::int64_t value) { row(label, grouped(value)); };
  const auto decimal = [&](const char* label, double value) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(1) << value;
    row(label, text.str());
  };
  count("sessions", sums.sessions);
  count("turns", sums.turns);
  count("samplings", sums.samplings);
  count("compactions: manual", sums.manual);
  count("compactions: automatic", sums.automatic);
  count("compactions: after a context-length error", sums.context_length_error);
  count("rescues", sums.rescues);
  count("retries", sums.retries);
  count("inputs accepted", sums.inputs_accepted);
  count("  delivered", sums.inputs_delivered);
  count("  returned", sums.inputs_returned);
  count("  dropped by cancel", sums.inputs_dropped_by_cancel);
  count("boundary violations", sums.boundary_violations);
  count("terminal events missing or double", sums.terminal_events_missing_or_double);
  count("restarts of the host (SIGKILL)", run.restarts);
  count("turns that went on after the restart", sums.resumed);
  decimal("seconds", run.wall_s);
  decimal("turns a second", per_second(sums.turns, run.wall_s));
  return out.str();
}

std::string timeline(const session_evidence& session, const std::vector<entry>& journal) {
  return painter(session, journal).text();
}

} // namespace rind::hosts::demo
