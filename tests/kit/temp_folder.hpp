// A folder of a test's own, removed with all that is in it.
#pragma once

#include <filesystem>
#include <string>

namespace rind::kit {

class temp_folder {
public:
  /// Throws std::filesystem::filesystem_error.
  temp_folder();
  ~temp_folder();
  temp_folder(const temp_folder&) = delete;
  temp_folder& operator=(const temp_folder&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }

private:
  std::filesystem::path path_;
};

} // namespace rind::kit
