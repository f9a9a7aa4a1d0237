// S18, S20, S31: a boundary cuts the conversation in two and loses nothing: what is summarised was
// given to the summary, what is not stays word for word, the unread part and the user's newest
// words among it.
#include <algorithm>
#include <unordered_map>

#include "tests/kit/invariants/bookkeeping.hpp"
#include "tests/kit/invariants/invariant.hpp"

namespace rind::kit {

namespace {

constexpr std::int64_t newest_words_max_chars = 8'000;
constexpr std::size_t untouched_units = 2;

std::string_view first_characters(std::string_view text, std::int64_t characters) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U && characters-- == 0)
      return text.substr(0, i);
  return text;
}

class nothing_lost final : public invariant {
public:
  std::string_view name() const override { return "S18_nothing_is_lost_in_compaction"; }

  void on_committed(const std::string& id, const std::vector<entry_ptr>& batch) override {
    auto& s = sessions_[id];
    for (const auto& e : batch) {
      if (const auto* b = as<entries::boundary>(*e))
        take(at(id, e->turn_id), s, *b->record);
      else if (const auto* m = message_of(e->body))
        take(s, *m);
      else if (as<entries::turn_started>(*e))
        s.transcript = nullptr;
    }
  }

  void on_request(const sampling_request& r) override {
    auto& s = sessions_[r.session_id];
    if (r.kind == sampling_kind::compact) {
      s.transcript = r.messages.empty() ? nullptr : r.messages.back();
      return;
    }
    std::int64_t newest = -1;
    for (const auto& m : r.messages) {
      const auto i = s.index_of.find(m.get());
      if (i == s.index_of.end())
        continue;
      if (i->second < s.begin)
        return broken(words(at(r.session_id, r.turn_id), "request ", r.request_id,
                            " holds message ", i->second, ", which the handoff stands for"));
      if (i->second <= newest)
        return broken(words(at(r.session_id, r.turn_id), "request ", r.request_id,
                            " holds message ", i->second, " twice or after message ", newest));
      newest = i->second;
    }
  }

private:
  struct session {
    std::vector<message_ptr> messages; // by message index
    std::unordered_map<const message*, std::int64_t> index_of;
    std::vector<bool> left_out; // by message index: a rescue put a note in its place
    std::int64_t begin = 0;     // first message that the newest handoff does not stand for
    std::int64_t first_unread = 0;
    std::int64_t newest_words = -1; // index of the newest message that the user wrote
    std::string handoff;            // the newest; empty: none
    message_ptr transcript;         // that the newest summary request was given
    std::int64_t count() const { return static_cast<std::int64_t>(messages.size()); }
    const message& message_at(std::int64_t i) const {
      return *messages[static_cast<std::size_t>(i)];
    }
  };

  static void take(session& s, const message_ptr& m) {
    const auto index = s.count();
    s.messages.push_back(m);
    s.left_out.push_back(false);
    s.index_of.emplace(m.get(), index);
    if (m->role == message_role::user)
      s.newest_words = index;
    else if (m->role == message_role::assistant)
      s.first_unread = index + 1;
  }

  void take(const std::string& where, session& s, const compaction_record& r) {
    if (r.handoff_text)
      take_handoff(where, s, r);
    for (const auto& part : r.replaced)
      take_replaced(where, s, r, part);
  }

  void take_handoff(const std::string& where, session& s, const compaction_record& r) {
    const auto end = r.message_end_index_exclusive;
    if (r.message_start_index != s.begin || end < s.begin || end > s.count())
      return broken(words(where, "the boundary stands for messages ", r.message_start_index, " to ",
                          end, "; the conversation goes from ", s.begin, " to ", s.count()));
    if (end < s.count() && s.message_at(end).role == message_role::tool)
      broken(words(where, "the boundary cuts call ", s.message_at(end).tool_call_id,
                   " off its result"));
    if (end > s.first_unread)
      broken(words(where, "the boundary stands for message ", end - 1,
                   ", which no answer has seen: unread from ", s.first_unread, " on"));
    if (s.newest_words >= 0 && s.newest_words < end) {
      const auto newest =
          first_characters(s.message_at(s.newest_words).content, newest_words_max_chars);
      if (r.handoff_text->find(newest) == std::string::npos)
        broken(words(where, "the user's newest words, message ", s.newest_words,
                     ", are neither in the handoff nor behind it"));
    }
    if (r.strategy == compaction_strategy::llm_inline)
      look_into_transcript(where, s, end);
    s.begin = end;
    s.handoff = *r.handoff_text;
  }

  /// Everything that the handoff stands for was given to the model that wrote it.
  void look_into_transcript(const std::string& where, const session& s, std::int64_t end) {
    if (!s.transcript)
      return broken(words(where, "a model's summary was committed and none was asked for"));
    const std::string_view all = s.transcript->content;
    std::size_t from = 0;
    if (!s.handoff.empty()) {
      from = all.find(s.handoff);
      if (from == std::string_view::npos)
        return broken(words(where, "the earlier handoff was not given to the summary"));
      from += s.handoff.size();
    }
    for (auto i = s.begin; i < end; ++i) {
      if (s.left_out[static_cast<std::size_t>(i)])
        continue;
      const auto& m = s.message_at(i);
      const auto text = m.role == message_role::tool
                            ? std::string_view{m.content}.substr(0, kept_bytes)
                            : std::string_view{m.content};
      const auto found = all.find(text, from);
      if (found == std::string_view::npos)
        return broken(words(where, "message ", i, " was not given to the summary of messages ",
                            s.begin, " to ", end));
      from = found + text.size();
    }
    if (end < s.count() && is_in(all.substr(from), s.message_at(end).content))
      broken(words(where, "message ", end, " is retained and was given to the summary too"));
  }

  /// Only a text with a mark is not said twice.
  static bool is_in(std::string_view all, std::string_view text) {
    bool is_marked = false;
    each_mark(text, [&](const text_mark&) { is_marked = true; });
    return is_marked && all.find(text.substr(0, kept_bytes)) != std::string_view::npos;
  }

  void take_replaced(const std::string& where, session& s, const compaction_record& r,
                     const replacement& part) {
    const auto end = std::min(part.end_exclusive, s.count());
    const bool units = part.kind == replacement_kind::units;
    for (auto i = std::max(part.start, s.begin); i < end; ++i) {
      if (units)
        s.left_out[static_cast<std::size_t>(i)] = true;
      else if (s.message_at(i).role != message_role::tool)
        broken(words(where, "the body of message ", i, " was replaced and is no tool result"));
    }
    if (!units || r.handoff_text)
      return;
    if (part.start <= s.newest_words && s.newest_words < end)
      broken(words(where, "the user's newest words, message ", s.newest_words,
                   ", were left out by a rescue"));
    if (end > s.first_unread)
      broken(words(where, "message ", end - 1, ", which no answer has seen, was left out"));
    std::size_t units_after = 0;
    for (auto i = end; i < s.count(); ++i)
      units_after += s.message_at(i).role != message_role::tool;
    if (units_after < untouched_units)
      broken(words(where, "a rescue left out messages up to ", end - 1, " of ", s.count(),
                   ", among them one of the last two units"));
  }

  by_session<session> sessions_;
};

} // namespace

invariant_ptr nothing_is_lost_in_compaction() {
  return std::make_unique<nothing_lost>();
}

} // namespace rind::kit
