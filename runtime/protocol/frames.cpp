// Framing: lines, and the envelope of a request.
#include "runtime/protocol/frames.hpp"

#include "messages/json.hpp"

namespace rind::protocol {

using nlohmann::json;

line_splitter::line_splitter(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

void line_splitter::push(std::string_view bytes) {
  buffer_.append(bytes);
}

std::optional<line_splitter::line> line_splitter::next() {
  for (;;) {
    const auto newline = buffer_.find('\n', scanned_);
    const bool complete = newline != std::string::npos;
    const std::size_t end = complete ? newline : buffer_.size();
    if (skipping_) {
      start_ = scanned_ = complete ? end + 1 : end;
      skipping_ = !complete;
      if (complete)
        continue;
    } else if (end - start_ > limit_bytes_) {
      start_ = scanned_ = complete ? end + 1 : end;
      skipping_ = !complete;
      forget_consumed();
      return line{"", true};
    } else if (complete) {
      line out{buffer_.substr(start_, end - start_), false};
      start_ = scanned_ = end + 1;
      return out;
    } else {
      scanned_ = end;
    }
    forget_consumed();
    return std::nullopt;
  }
}

std::optional<line_splitter::line> line_splitter::rest() {
  if (skipping_ || start_ == buffer_.size())
    return std::nullopt;
  line out{buffer_.substr(start_), false};
  start_ = scanned_ = buffer_.size();
  forget_consumed();
  return out;
}

void line_splitter::forget_consumed() {
  buffer_.erase(0, start_);
  scanned_ -= start_;
  start_ = 0;
}

namespace {

/// Finds the request id of an object as it is written: keeps nothing else, and the parser behind it
/// does not recurse, so that the object may nest too deep to be built.
class id_finder : public nlohmann::json_sax<json> {
public:
  json take() { return std::move(id_); }
  /// Whether the id is a number that cannot be said again: a double holds less of it than stood
  /// there.
  bool is_rounded() const { return is_rounded_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return found(value); }
  bool number_unsigned(number_unsigned_t value) override { return found(value); }
  bool number_float(number_float_t value, const string_t& written) override {
    if (in_id_ && depth_ == 1)
      is_rounded_ = json(value).dump() != written;
    return found(value);
  }
  bool string(string_t& value) override { return found(value); }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    in_id_ = depth_ == 1 && name == "request_id";
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

private:
  template <class T>
  bool found(const T& value) {
    if (in_id_ && depth_ == 1)
      id_ = value;
    return true;
  }
  bool open() {
    ++depth_;
    return true;
  }
  bool close() {
    --depth_;
    return true;
  }

  std::size_t depth_ = 0;
  bool in_id_ = false;
  bool is_rounded_ = false; // of the id
  json id_;
};

bool is_request_id(const json& value) {
  if (const auto* text = value.get_ptr<const std::string*>())
    return !text->empty() && count_characters(*text) <= request_id_limit_characters;
  return value.is_number();
}

refused_line refuse(json request_id, error_code code, std::string message) {
  return {std::move(request_id), make_failure(code, std::move(message))};
}

refused_line refuse_deep(std::string_view line) {
  const std::string reason =
      "the request nests deeper than " + std::to_string(json_depth_limit) + " levels";
  id_finder finder;
  if (line.find('{') > line.find('[') || !json::sax_parse(line, &finder))
    return refuse(nullptr, error_code::invalid_request, reason);
  const bool sayable = !finder.is_rounded();
  json id = finder.take();
  return refuse(sayable && is_request_id(id) ? std::move(id) : json(), error_code::invalid_request,
                reason);
}

/// Integers beyond 64 bits and decimals that a double changes. Answered under a rounded id the
/// client would not know its own request again.
bool is_rounded(const json& request_id, std::string_view line) {
  if (!request_id.is_number_float())
    return false;
  id_finder finder;
  return !json::sax_parse(line, &finder) || finder.is_rounded();
}

} // namespace

refused_line too_long_line(std::size_t limit_bytes) {
  return refuse(nullptr, error_code::invalid_request,
                "a request line may have " + std::to_string(limit_bytes) + " bytes");
}

std::variant<request, refused_line> read_request(std::string_view line) {
  if (!is_valid_utf8(line))
    return refuse(nullptr, error_code::parse_error, "the line is no well-formed UTF-8");
  if (nests_deeper_than(line, json_depth_limit))
    return refuse_deep(line);
  json parsed = json::parse(line, nullptr, false);
  if (parsed.is_discarded())
    return refuse(nullptr, error_code::parse_error, "the line is no JSON");
  if (!parsed.is_object())
    return refuse(nullptr, error_code::invalid_request, "the line is no JSON object");

  request out;
  const auto id = parsed.find("request_id");
  if (id == parsed.end() || !is_request_id(*id))
    return refuse(nullptr, error_code::invalid_request,
                  "request_id: a number, or a string of 1 to " +
                      std::to_string(request_id_limit_characters) + " characters");
  if (is_rounded(*id, line))
    return refuse(nullptr, error_code::invalid_request,
                  "request_id: this number cannot be answered as it is written; an integer of 64 "
                  "bits or a string can");
  out.request_id = std::move(*id);

  const auto kind = parsed.find("kind");
  if (kind == parsed.end() || *kind != "request")
    return refuse(std::move(out.request_id), error_code::invalid_request,
                  "kind: must be \"request\"");
  const auto method = parsed.find("method");
  if (method == parsed.end() || !method->is_string() ||
      method->get_ref<const std::string&>().empty())
    return refuse(std::move(out.request_id), error_code::invalid_request,
                  "method: must be a non-empty string");
  out.method = std::move(method->get_ref<std::string&>());

  const auto params = parsed.find("params");
  if (params == parsed.end() || params->is_null())
    out.params = json::object();
  else if (!params->is_object())
    return refuse(std::move(out.request_id), error_code::invalid_request,
                  "params: must be an object");
  else
    out.params = std::move(*params);
  return out;
}

} // namespace rind::protocol
