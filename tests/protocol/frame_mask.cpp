// The masking rule of transcript.hpp.
#include <algorithm>
#include <regex>

#include "tests/protocol/transcript.hpp"

namespace rind::protocol_test {

using nlohmann::json;

namespace {

constexpr std::size_t whole_text_bytes_max = 2'000;
constexpr std::size_t kept_bytes = 60; // of a longer text; the transcripts' long texts are ASCII

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool is_measured(const std::string& key) {
  return ends_with(key, "_tokens") || ends_with(key, "_percent") || key == "tokens_before" ||
         key == "tokens_after" || key == "auto_compact_token_limit";
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (auto at = from.empty() ? std::string::npos : text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

bool is_delta_of(const json& frame, const std::string& type) {
  return frame.value("kind", "") == "event" && frame["event"].value("type", "") == type;
}

/// Neighbouring deltas of one type and turn as one.
std::vector<json> joined(const std::vector<json>& frames) {
  std::vector<json> out;
  for (const auto& frame : frames) {
    const auto type = frame.is_object() && frame.value("kind", "") == "event"
                          ? frame["event"].value("type", "")
                          : std::string();
    const bool is_delta = type == "assistant_delta" || type == "reasoning_delta";
    if (is_delta && !out.empty() && out.back().is_object() && is_delta_of(out.back(), type) &&
        out.back()["turn_id"] == frame["turn_id"])
      out.back()["event"]["text"] = out.back()["event"]["text"].get<std::string>() +
                                    frame["event"]["text"].get<std::string>();
    else
      out.push_back(frame);
  }
  return out;
}

} // namespace

std::vector<std::string> frame_mask::apply(const std::vector<json>& frames) {
  std::vector<std::string> lines;
  for (auto frame : joined(frames)) {
    if (frame.is_object())
      frame.erase("sequence");
    lines.push_back(mask_value("", frame).dump());
  }
  return lines;
}

json frame_mask::mask_value(const std::string& key, const json& value) {
  if (value.is_object()) {
    json out = json::object();
    // What a broken connection is called is libcurl's, and differs from version to version.
    const bool in_words_of_curl =
        value.contains("reason") && value["reason"] == "stream_interrupted";
    // Where a frame has ids of its own, the turn's and the session's are numbered before those of
    // its events.
    for (const auto& [name, inner] : value.items())
      out[name] = in_words_of_curl && name == "detail" ? json("<words>") : mask_value(name, inner);
    return out;
  }
  if (value.is_array()) {
    json out = json::array();
    for (const auto& inner : value)
      out.push_back(mask_value(key, inner));
    return out;
  }
  if (value.is_number() && (key == "duration_ms" || (key == "delay_ms" && value != 0)))
    return "<ms>";
  if (value.is_number() && is_measured(key))
    return "<n>";
  if (!value.is_string())
    return value;
  if (key == "version")
    return "<version>";
  if (key == "history_digest")
    return "<digest>";
  return mask_text(value.get<std::string>());
}

std::string frame_mask::mask_text(std::string text) {
  if (text.size() > whole_text_bytes_max)
    text = text.substr(0, kept_bytes) + "<" + std::to_string(text.size() - kept_bytes) +
           " bytes more>";
  static const std::regex time("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z");
  static const std::regex count("\\b[0-9]{3,}\\b");
  static const std::regex id("([a-z]+)_([0-9a-v]{20})");
  replace_all(text, url_, "{url}");
  replace_all(text, folder_, "{folder}");
  text = std::regex_replace(text, time, "<time>");
  if (text.find("token") != std::string::npos)
    text = std::regex_replace(text, count, "<n>");
  std::string out;
  for (std::smatch found; std::regex_search(text, found, id);) {
    const auto whole = found.str();
    if (std::find(ids_.begin(), ids_.end(), whole) == ids_.end())
      ids_.push_back(whole);
    const auto prefix = found.str(1) + "_";
    int number = 0;
    for (const auto& known : ids_) {
      number += known.rfind(prefix, 0) == 0;
      if (known == whole)
        break;
    }
    out += found.prefix().str() + "<" + found.str(1) + "-" + std::to_string(number) + ">";
    text = found.suffix().str();
  }
  return out + text;
}

} // namespace rind::protocol_test
