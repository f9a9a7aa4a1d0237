// The answer that a handler owes: a response promise with one shape in every version of CAF. Copies
// are the same answer; the first deliver counts. A default one is owed to nobody.
#pragma once

#include <caf/typed_response_promise.hpp>

namespace rind::actors {

template <class Reply>
class answer {
public:
  answer() = default;
  answer(caf::typed_response_promise<Reply> promise) : promise_(std::move(promise)) {}

  void deliver(Reply reply) const { promise_.deliver(std::move(reply)); }
  const caf::typed_response_promise<Reply>& promise() const { return promise_; }

private:
  mutable caf::typed_response_promise<Reply> promise_;
};

} // namespace rind::actors
