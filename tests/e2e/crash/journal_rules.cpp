// What holds of every journal, whatever was told.
#include <array>
#include <cstdio>

#include <openssl/evp.h>

#include "tests/e2e/crash/ledger.hpp"

namespace rind::e2e {

using nlohmann::json;

namespace {

/// SHA-256 in hex.
std::string sha256(const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned length = 0;
  EVP_Digest(text.data(), text.size(), bytes.data(), &length, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned i = 0; i < length; ++i) {
    std::array<char, 3> two{};
    std::snprintf(two.data(), two.size(), "%02x", bytes[i]);
    hex += two.data();
  }
  return hex;
}

std::string where(const json& entry) {
  return "entry " + entry["position"].dump() + " (" + entry["kind"].get<std::string>() + ", " +
         entry["turn_id"].get<std::string>() + ")";
}

bool is_message(const json& entry) {
  return entry["body"].contains("message") && entry["body"]["message"].is_object();
}

void check_record(const json& entry, const json& record, std::int64_t end_before,
                  const std::vector<std::string>& messages, complaints& out) {
  const auto start = record["source"]["message_start_index"].get<std::int64_t>();
  const auto end = record["source"]["message_end_index_exclusive"].get<std::int64_t>();
  if (start != end_before || end < start || end > static_cast<std::int64_t>(messages.size()))
    return out.push_back("S24: " + where(entry) + " covers " + std::to_string(start) + " to " +
                         std::to_string(end) + ", the boundary before ended at " +
                         std::to_string(end_before) + ", there are " +
                         std::to_string(messages.size()) + " messages");
  std::string covered;
  for (auto i = start; i < end; ++i)
    covered += messages[static_cast<std::size_t>(i)] + "\n";
  if (record["source"]["history_digest"] != sha256(covered))
    out.push_back("S24: " + where(entry) + " has a digest of other messages");
}

} // namespace

void check_operations(const std::vector<json>& entries, complaints& out) {
  std::set<std::string> started;
  std::set<std::string> ended;
  std::string open;
  std::int64_t last_position = 0;
  for (const auto& e : entries) {
    const auto position = e["position"].get<std::int64_t>();
    if (position != last_position + 1)
      out.push_back("S35: " + where(e) + " follows position " + std::to_string(last_position));
    last_position = position;
    const auto turn = e["turn_id"].get<std::string>();
    if (turn.empty() || e["kind"] == "session_created")
      continue;
    if (e["kind"] == "turn_started") {
      if (!open.empty() && open != turn)
        out.push_back("S1: " + where(e) + " began while " + open + " was open");
      if (started.insert(turn).second == e["body"]["resumed"].get<bool>())
        out.push_back("S10: " + where(e) + " is marked wrongly as new or resumed");
      open = turn;
    }
    if (open != turn || ended.count(turn))
      out.push_back("S5: " + where(e) + " lies outside of its operation");
    if (e["kind"] == "turn_ended") {
      ended.insert(turn);
      open.clear();
    }
  }
}

void check_boundaries(const std::vector<json>& entries, complaints& out) {
  std::vector<std::string> messages;
  std::int64_t end_before = 0;
  std::int64_t generation = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto& e = entries[i];
    if (is_message(e))
      messages.push_back(e["body"]["message"].dump());
    if (e["kind"] != "boundary")
      continue;
    const auto& record = e["body"]["record"];
    if (record["generation"] != ++generation)
      out.push_back("S24: " + where(e) + " is generation " + record["generation"].dump() +
                    ", not " + std::to_string(generation));
    const auto next = i + 1 < entries.size() ? entries[i + 1] : json();
    // A rescue stands in one append with the answer that it made possible (S31).
    const bool is_recovery = record["strategy"] == "context_rescue" &&
                             record["phase_detail"] == "context_length_recovery";
    if (is_recovery &&
        (next.is_null() || next["kind"] != "assistant_message" || next["ts"] != e["ts"]))
      out.push_back("S24: " + where(e) + " stands without the answer that belongs to it");
    check_record(e, record, end_before, messages, out);
    end_before = record["source"]["message_end_index_exclusive"].get<std::int64_t>();
  }
}

} // namespace rind::e2e
