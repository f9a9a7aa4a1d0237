// S24, S31: a boundary is committed only where the view stands as it stood when the compaction
// began, by the session's owner, and only if it makes the view smaller; a rescue comes with the
// answer that it made possible, or alone under the same condition (S18a).
#include "tests/kit/invariants/bookkeeping.hpp"
#include "tests/kit/invariants/invariant.hpp"

namespace rind::kit {

namespace {

class conditional final : public invariant {
public:
  std::string_view name() const override { return "S24_boundaries_are_conditional"; }

  void on_append(const journal::append_request& r) override {
    auto& s = sessions_[r.session_id];
    s.asked = {r.entries.front().id, r.expected_view_position, r.epoch};
    const auto* b = as<entries::boundary>(r.entries.front());
    const bool with_answer = r.entries.size() > 1 && as<entries::assistant_message>(r.entries[1]);
    if (b && !with_answer && !r.expected_view_position)
      broken(words(at(r.session_id, r.entries.front().turn_id),
                   "a boundary is to be committed without a condition"));
  }

  void on_committed(const std::string& id, const std::vector<entry_ptr>& batch) override {
    auto& s = sessions_[id];
    const bool is_asked = s.asked.entry_id == batch.front()->id;
    if (is_asked && s.asked.epoch != 0 && s.asked.epoch < s.epoch)
      broken(words(at(id, batch.front()->turn_id), "entry ", batch.front()->position,
                   " was committed for a writer that had lost the session"));
    if (is_asked)
      s.epoch = std::max(s.epoch, s.asked.epoch);
    if (is_asked && s.asked.expected && *s.asked.expected != s.view_position)
      broken(words(at(id, batch.front()->turn_id), "entry ", batch.front()->position,
                   " was committed on a view at ", *s.asked.expected, "; it stands at ",
                   s.view_position));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (const auto* b = as<entries::boundary>(*batch[i]))
        take(id, s, batch, i, *b->record);
      if (moves_view(batch[i]->body))
        s.view_position = batch[i]->position;
    }
  }

private:
  struct append {
    std::string entry_id; // of its first entry
    std::optional<std::int64_t> expected;
    std::uint64_t epoch = 0;
  };
  struct session {
    append asked; // the newest
    std::uint64_t epoch = 0;
    std::int64_t view_position = 0;
    std::int64_t generation = 0;
  };

  void take(const std::string& id, session& s, const std::vector<entry_ptr>& batch, std::size_t i,
            const compaction_record& r) {
    const auto where = at(id, batch[i]->turn_id);
    if (r.generation != ++s.generation)
      broken(words(where, "boundary ", s.generation, " says that it is number ", r.generation));
    if (r.tokens_after >= r.tokens_before)
      broken(words(where, "boundary ", r.generation, " makes a view of ", r.tokens_after,
                   " tokens out of one of ", r.tokens_before));
    const bool is_rescue = r.strategy == compaction_strategy::context_rescue;
    if (is_rescue == r.handoff_text.has_value())
      broken(words(where, "boundary ", r.generation,
                   is_rescue ? " is a rescue with a handoff" : " has no handoff"));
    if (!is_rescue && batch.size() != 1)
      broken(words(where, "boundary ", r.generation, " is not committed alone"));
    if (is_rescue && batch.size() > 1 && (i != 0 || !as<entries::assistant_message>(*batch[1])))
      broken(words(where, "rescue ", r.generation, " is committed with something but its answer"));
  }

  by_session<session> sessions_;
};

} // namespace

invariant_ptr boundaries_are_conditional() {
  return std::make_unique<conditional>();
}

} // namespace rind::kit
