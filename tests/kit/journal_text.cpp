// The texts.
#include "tests/kit/journal_text.hpp"

#include <sstream>

#include "messages/json.hpp"

namespace rind::kit {

std::string text_of(const entry& e) {
  std::ostringstream out;
  out << e.position << ' ' << e.id << " at " << e.time_ms << " in '" << e.turn_id << "' "
      << kind_of(e.body) << ' ' << encode_body(e.body);
  return out.str();
}

std::string text_of(const std::vector<entry_ptr>& entries) {
  std::string text;
  for (const entry_ptr& e : entries)
    text += text_of(*e) + "\n";
  return text;
}

std::string text_of(const journal::append_receipt& receipt) {
  std::ostringstream out;
  out << "epoch " << receipt.epoch << " from " << receipt.first_position << "\n"
      << text_of(receipt.entries);
  return out.str();
}

std::string text_of(const journal::session_summary& s) {
  std::ostringstream out;
  out << s.session_id << " '" << s.title << "' " << s.model << " created " << s.created_at_ms
      << " updated " << s.updated_at_ms << " messages " << s.message_count << " generation "
      << s.generation << " open '" << s.open_turn_id << "' " << to_string(s.open_operation)
      << " last " << s.last_position;
  return out.str();
}

std::string text_of(const journal::session_page& page) {
  std::string text;
  for (const auto& summary : page.sessions)
    text += text_of(summary) + "\n";
  return text + "next " + page.next;
}

std::string text_of(const journal::loaded_session& loaded) {
  return "epoch " + std::to_string(loaded.epoch) + "\n" + text_of(loaded.entries);
}

std::string text_of(const std::optional<journal::session_summary>& summary) {
  return summary ? text_of(*summary) : "none";
}

std::string text_of(const std::optional<journal::input_trace>& trace) {
  if (!trace)
    return "none";
  std::string text = "in '" + trace->turn_id + "' '" + trace->text + "' ";
  text += trace->mode ? to_string(*trace->mode) : "prompt";
  return text + (trace->ended ? std::string(" ended ") + to_string(*trace->ended) : " open");
}

std::string text_of(const done&) {
  return "done";
}

} // namespace rind::kit
