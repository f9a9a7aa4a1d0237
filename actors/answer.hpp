// The answer that a handler owes: a response promise with one shape in every version of CAF. Copies
// are the same answer; the first deliver counts. One that is dropped by all who hold it is
// answered as one whose receiver is gone: nobody waits for ever for an actor that ended. A default
// one is owed to nobody.
#pragma once

#include <memory>
#include <utility>

#include <caf/sec.hpp>
#include <caf/typed_response_promise.hpp>

namespace rind::actors {

template <class Reply>
class answer {
public:
  answer() = default;
  answer(caf::typed_response_promise<Reply> promise)
      : owed_(std::make_shared<owed>(std::move(promise))) {}

  void deliver(Reply reply) const {
    if (owed_)
      owed_->deliver(std::move(reply));
  }
  const caf::typed_response_promise<Reply>& promise() const { return owed_->promise; }

private:
  struct owed {
    explicit owed(caf::typed_response_promise<Reply> p) : promise(std::move(p)) {}
    owed(const owed&) = delete;
    owed& operator=(const owed&) = delete;
    ~owed() {
      if (!is_delivered)
        promise.deliver(caf::make_error(caf::sec::request_receiver_down));
    }

    void deliver(Reply reply) {
      if (!std::exchange(is_delivered, true))
        promise.deliver(std::move(reply));
    }

    caf::typed_response_promise<Reply> promise;
    bool is_delivered = false;
  };
  std::shared_ptr<owed> owed_;
};

} // namespace rind::actors
