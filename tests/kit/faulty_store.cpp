// The decorator behind make_faulty_store.
#include "tests/kit/faulty_store.hpp"

#include <set>
#include <stdexcept>

namespace rind::kit {

namespace {

using namespace rind::journal;

constexpr const char* fault_text = "the journal fails by script";

class faulty_store final : public store {
public:
  faulty_store(std::unique_ptr<store> inner, std::shared_ptr<journal_faults> faults)
      : inner_(std::move(inner)), faults_(std::move(faults)) {}

  std::vector<result<append_receipt>> append(std::span<const append_request> group) override {
    std::vector<result<append_receipt>> answers;
    answers.reserve(group.size());
    for (const append_request& request : group)
      answers.push_back(append_one(request));
    return answers;
  }

  result<loaded_session> claim(const std::string& session_id) override {
    if (faults_->fail_reads)
      return fail(error_code::persistence_failed);
    return inner_->claim(session_id);
  }
  result<std::vector<entry_ptr>> read(const std::string& session_id, std::int64_t after_position,
                                      std::int64_t limit) override {
    if (faults_->fail_reads)
      return fail(error_code::persistence_failed);
    return inner_->read(session_id, after_position, limit);
  }
  result<std::optional<session_summary>> find(const std::string& session_id) override {
    if (faults_->fail_reads)
      return fail(error_code::persistence_failed);
    return inner_->find(session_id);
  }
  result<session_page> list(std::int64_t limit, const std::string& after) override {
    if (faults_->fail_reads)
      return fail(error_code::persistence_failed);
    return inner_->list(limit, after);
  }
  result<std::optional<input_trace>> find_input(const std::string& session_id,
                                                const std::string& input_id) override {
    if (faults_->fail_reads)
      return fail(error_code::persistence_failed);
    return inner_->find_input(session_id, input_id);
  }
  result<done> remove(const std::string& session_id, std::uint64_t epoch) override {
    if (faults_->fail_removes)
      return fail(error_code::persistence_failed);
    return inner_->remove(session_id, epoch);
  }

private:
  failure fail(error_code code) const {
    if (faults_->throws)
      throw std::runtime_error(fault_text);
    return make_failure(code, fault_text);
  }

  result<append_receipt> append_one(const append_request& request) {
    const std::int64_t number = ++faults_->append_count;
    if (faults_->fail_appends)
      return fail(error_code::persistence_failed);
    const auto scripted = faults_->appends.find(number);
    if (scripted == faults_->appends.end())
      return std::move(inner_->append({&request, 1}).front());
    const append_fault fault = scripted->second;
    faults_->appends.erase(scripted);
    if (fault.code == error_code::persistence_conflict && !can_conflict(request))
      return std::move(inner_->append({&request, 1}).front());
    if (fault.commits) {
      const auto lost = inner_->append({&request, 1});
      if (!lost.front()) // what cannot be written has no answer to lose
        return lost.front();
      written_.insert(request.entries.front().id);
    }
    return fail(fault.code);
  }

  /// Conditional appends only, and none that stands in the journal already: a store looks for that
  /// first.
  bool can_conflict(const append_request& request) const {
    return request.expected_view_position && written_.count(request.entries.front().id) == 0;
  }

  std::unique_ptr<store> inner_;
  std::shared_ptr<journal_faults> faults_;
  std::set<std::string> written_; // first entry ids of appends whose answer was lost
};

} // namespace

std::unique_ptr<journal::store> make_faulty_store(std::unique_ptr<journal::store> inner,
                                                  std::shared_ptr<journal_faults> faults) {
  return std::make_unique<faulty_store>(std::move(inner), std::move(faults));
}

} // namespace rind::kit
