// Your own tool and your own model script in the simulated world: 200 lives of a host in which
// clients prompt, queue, compact and cancel at every moment. The box office below forgets to give a
// seat back when a booking is cancelled; the simulation finds that and shows the shortest story
// that leads there. With the mistake mended, nothing is found. docs/simulation.md walks through it.
#include <iostream>
#include <map>

#include "tests/kit/scenario/draw.hpp"
#include "tests/kit/scenario/minimize.hpp"
#include "tests/kit/scenario/player.hpp"

namespace {

using namespace rind;

constexpr std::uint64_t seeds = 200;
constexpr std::int64_t booking_ms = 300;

/// Books a seat, which takes a while. What a session holds is told by `seats`.
class book_tool final : public tools::tool {
public:
  book_tool(kit::scripted_tool::timer at, bool gives_back)
      : at_(std::move(at)), gives_back_(gives_back) {}

  const tool_definition& definition() const override { return definition_; }

  void start(const tools::invocation& call, tools::tool_sink sink) override {
    ++seats[call.session_id];
    open_[call.invocation_id] = {call.session_id, std::move(sink)};
    at_(booking_ms, [this, id = call.invocation_id] {
      end(id, {tool_status::completed, "booked", ""});
    });
  }

  void cancel(const std::string& id) override {
    if (const auto i = open_.find(id); i != open_.end() && gives_back_)
      --seats[i->second.session_id];
    end(id, {tool_status::cancelled, "not booked", "cancelled"});
  }

  std::map<std::string, int> seats; // by session

private:
  struct open_call {
    std::string session_id;
    tools::tool_sink sink;
  };
  void end(const std::string& id, tools::outcome outcome) {
    if (const auto call = open_.extract(id))
      call.mapped().sink.on_end(std::move(outcome));
  }

  const tool_definition definition_{"book", "Books a seat.",
                                    R"({"type":"object","properties":{}})"};
  kit::scripted_tool::timer at_;
  bool gives_back_;
  std::map<std::string, open_call> open_;
};

/// What has to hold in every life: who holds a seat was told so.
class every_seat_was_told final : public kit::invariant {
public:
  explicit every_seat_was_told(std::shared_ptr<book_tool> office) : office_(std::move(office)) {}
  std::string_view name() const override { return "every_seat_was_told"; }

  void on_committed(const std::string& session, const std::vector<entry_ptr>& entries) override {
    for (const auto& e : entries)
      if (const auto* r = std::get_if<entries::tool_result>(&e->body))
        told_[session] += r->status == tool_status::completed;
  }
  void at_rest(kit::world&) override {
    for (const auto& [session, held] : office_->seats)
      if (held != told_[session])
        broken(session + " holds " + std::to_string(held) + " seats and was told of " +
               std::to_string(told_[session]));
  }

private:
  std::shared_ptr<book_tool> office_;
  std::map<std::string, int> told_;
};

/// The model: books for whoever asks, and says so.
kit::scripted_reply answer(const sampling_request& r) {
  if (r.kind == sampling_kind::compact)
    return kit::says("The user books seats.");
  if (r.messages.back()->role == message_role::user)
    return kit::asks_for({{r.request_id, "book", "{}"}});
  return kit::says("That is done.");
}

kit::run_report live(const kit::scenario& s, bool gives_back, bool timeline) {
  return kit::play(s, {timeline, [=](kit::scripted_tool::timer at) {
                         auto office = std::make_shared<book_tool>(std::move(at), gives_back);
                         kit::agent a{answer, {office}, {}};
                         a.invariants.push_back(std::make_unique<every_seat_was_told>(office));
                         return a;
                       }});
}

/// The first life in which something broke, as small as it gets.
std::optional<kit::scenario> find_fault(bool gives_back) {
  kit::draw_options o;
  o.faults = kit::fault_level::none;
  for (o.seed = 1; o.seed <= seeds; ++o.seed) {
    auto s = kit::draw(o);
    s.model.clear(); // our model answers
    if (const auto r = live(s, gives_back, false); r.failure) {
      std::cout << "seed " << o.seed << ": " << r.failure->invariant << ": " << r.failure->what
                << "\n";
      return kit::minimize(s, [&](const kit::scenario& smaller) {
        const auto again = live(smaller, gives_back, false);
        return again.failure && again.failure->invariant == r.failure->invariant;
      });
    }
  }
  return std::nullopt;
}

} // namespace

int main() {
  const auto story = find_fault(false);
  if (!story)
    return 1;
  std::cout << "the shortest story:\n";
  for (const auto& line : live(*story, false, true).timeline)
    std::cout << "  " << line << "\n";
  std::cout << "as a scenario:\n" << kit::to_json_lines(*story);
  if (find_fault(true))
    return 1;
  std::cout << "with the mistake mended: " << seeds << " lives, nothing found\n";
}
