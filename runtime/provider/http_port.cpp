// The names of the HTTP port's errors.
#include "runtime/provider/http_port.hpp"

namespace rind::provider {

const char* to_string(http_error error) noexcept {
  switch (error) {
  case http_error::none:
    return "none";
  case http_error::invalid_request:
    return "invalid_request";
  case http_error::overloaded:
    return "overloaded";
  case http_error::connect_failed:
    return "connect_failed";
  case http_error::proxy:
    return "proxy";
  case http_error::tls:
    return "tls";
  case http_error::timeout_connect:
    return "timeout_connect";
  case http_error::timeout_first_byte:
    return "timeout_first_byte";
  case http_error::timeout_idle:
    return "timeout_idle";
  case http_error::timeout_first_data:
    return "timeout_first_data";
  case http_error::timeout_data_idle:
    return "timeout_data_idle";
  case http_error::timeout_total:
    return "timeout_total";
  case http_error::partial:
    return "partial";
  case http_error::protocol:
    return "protocol";
  case http_error::too_large:
    return "too_large";
  case http_error::stopped_by_handler:
    return "stopped_by_handler";
  case http_error::cancelled:
    return "cancelled";
  case http_error::internal:
    return "internal";
  }
  return "unknown";
}

bool is_timeout(http_error error) noexcept {
  switch (error) {
  case http_error::timeout_connect:
  case http_error::timeout_first_byte:
  case http_error::timeout_idle:
  case http_error::timeout_first_data:
  case http_error::timeout_data_idle:
  case http_error::timeout_total:
    return true;
  default:
    return false;
  }
}

} // namespace rind::provider
