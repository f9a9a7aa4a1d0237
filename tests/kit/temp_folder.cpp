// The folder's life.
#include "tests/kit/temp_folder.hpp"

#include <cerrno>
#include <cstdlib>

namespace rind::kit {

temp_folder::temp_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "rind-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)
    throw std::filesystem::filesystem_error("mkdtemp", name,
                                            std::error_code(errno, std::generic_category()));
  path_ = name;
}

temp_folder::~temp_folder() {
  std::error_code ignored; // what stays behind lies in the folder for temporary files
  std::filesystem::remove_all(path_, ignored);
}

} // namespace rind::kit
