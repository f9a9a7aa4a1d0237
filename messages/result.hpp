// A value or a failure: the return type of everything that can go wrong for a reason that a user
// may care about.
#pragma once

#include <utility>
#include <variant>

#include "messages/errors.hpp"

namespace rind {

/// `result<T>` holds a T or a failure. `if (r) use(*r); else report(r.error());` Reading the wrong
/// side is a programming error.
template <class T>
class [[nodiscard]] result {
public:
  result(T value) : data_(std::in_place_index<0>, std::move(value)) {}
  result(failure error) : data_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return data_.index() == 0; }
  T& operator*() { return std::get<0>(data_); }
  const T& operator*() const { return std::get<0>(data_); }
  T* operator->() { return &std::get<0>(data_); }
  const T* operator->() const { return &std::get<0>(data_); }
  const failure& error() const { return std::get<1>(data_); }
  failure& error() { return std::get<1>(data_); }

private:
  std::variant<T, failure> data_;
};

/// Success without a value.
struct done {
  friend bool operator==(const done&, const done&) = default;
};

} // namespace rind
