// What a provider's failure is: one pure function from what came back and what was sent to a
// provider_error. Evidence is weighed in a fixed order: codes that say "too long"; negative
// evidence (billing, rates, keys, filters), whatever else the words say; wordings of known servers;
// look-alikes (bytes, output limits, parameters); general shapes; the status. Words are looked
// for in the error's messages only, never in an echo of the request and never in what the model
// wrote. Codes and wordings are data: error_patterns.hpp.
#pragma once

#include <string>
#include <string_view>

#include "messages/sampling.hpp"
#include "runtime/provider/wire_codec.hpp"

namespace rind::provider {

/// The provider's words are kept up to this length, in bytes.
inline constexpr std::size_t provider_words_bytes_max = 1'000;

/// An empty 400 of a server known for it is an overflow only where the request fills this share of
/// the window.
inline constexpr double nearly_full_share = 0.8;

struct classification {
  provider_error error;
  /// What decided, for people who ask why: "code:…", "veto:…", "wording:…" (rows of
  /// error_patterns.hpp), "shape:…" (a general complaint), "param:…", "status:…".
  std::string matched_by;
};

/// Classifies the body of a failed response, or the data of an error event (then `head` is that of
/// the stream, with status 200).
classification classify(const response_head& head, std::string_view body, const sent_facts& sent);

/// The error alone.
provider_error classify_error(const response_head& head, std::string_view body,
                              const sent_facts& sent);

/// Whether an identical request may succeed: the provider's word, else by class.
bool may_retry_same(const provider_error& error);

/// No text (white space is none) and no call.
bool is_blank(const sampling_answer& answer);

/// An overflow that arrived as an answer (a window_exceeded finish, input above the window, input
/// far below what was sent and about half of the window, a cut or empty answer at the end of the
/// window), or nothing. `sent` needs the window.
std::optional<provider_error> silent_overflow(const sampling_answer& answer,
                                              const sent_facts& sent);

} // namespace rind::provider
