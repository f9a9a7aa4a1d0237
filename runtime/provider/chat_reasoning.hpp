// Pieces of reasoning that some servers of Chat Completions stream beside the text and want back
// with the message (`reasoning_details`): texts, summaries and ciphers, in fragments. Pure.
#pragma once

#include <nlohmann/json.hpp>

namespace rind::provider {

/// A fragment belongs to the piece of its index and type (without an index: to the newest piece, if
/// it has that type), unless it names another id: then it opens a piece. Texts of the fragments are
/// joined, the newest of all other members stands.
class detail_assembly {
public:
  /// Takes the list of one chunk. False once a bound is passed: too many pieces.
  bool take(const nlohmann::json& list);

  /// The pieces in the order of their opening, with what was joined. An empty list: none came.
  const nlohmann::json& pieces() const { return pieces_; }

private:
  nlohmann::json* find(const nlohmann::json& fragment);

  nlohmann::json pieces_ = nlohmann::json::array();
};

} // namespace rind::provider
