// Journal values as text, whole: equal texts mean equal values. For comparisons between stores and
// for messages of failed tests.
#pragma once

#include "runtime/journal/port.hpp"

namespace rind::kit {

std::string text_of(const entry& e);
std::string text_of(const std::vector<entry_ptr>& entries);
std::string text_of(const journal::append_receipt& receipt);
std::string text_of(const journal::session_summary& summary);
std::string text_of(const journal::session_page& page);
std::string text_of(const journal::loaded_session& loaded);
std::string text_of(const std::optional<journal::session_summary>& summary);
std::string text_of(const std::optional<journal::input_trace>& trace);
std::string text_of(const done&);

/// The value, or the code of the failure: its words are each store's own.
template <class T>
std::string text_of(const result<T>& answer) {
  return answer ? text_of(*answer) : std::string("failed: ") + to_string(answer.error().code);
}

} // namespace rind::kit
