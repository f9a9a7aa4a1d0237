// The Messages format as its provider sees it. Requests are read in messages_request.cpp, replies
// are made in messages_reply.cpp.
#pragma once

#include "hosts/mock_provider/wire_format.hpp"

namespace rind::hosts::mock_provider {

class messages_format final : public wire_format {
public:
  std::string_view path() const override { return "/v1/messages"; }
  request_reading read(arrived_request arrived) const override;
  stream_frames frames(const spoken_answer& said) const override;
  nlohmann::ordered_json whole(const spoken_answer& said) const override;
  std::string keep_alive_frame() const override;
  nlohmann::ordered_json error_value(const provider_fault& fault) const override;
  nlohmann::ordered_json error_body(nlohmann::ordered_json error) const override;
  provider_fault overflow(const oversize& size) const override;
};

} // namespace rind::hosts::mock_provider
