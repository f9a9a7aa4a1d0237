// The disk under power_cut_vfs: files, what of them is synced, and what a power cut leaves. No
// SQLite here; paths are names, there are no folders. Errors of capacity, rights and breakage are
// decided by the file system above, with the numbers kept here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace rind::kit {

inline constexpr std::int64_t disk_sector_bytes = 512;

class disk_file {
public:
  disk_file() = default;
  /// A file with synced content.
  explicit disk_file(std::string content);

  const std::string& content() const { return content_; }
  std::int64_t size() const { return static_cast<std::int64_t>(content_.size()); }
  void write(std::int64_t offset, std::string bytes);
  void truncate(std::int64_t size);
  void sync();

  bool survives() const { return survives_; } // its name is synced
  void sync_name() { survives_ = true; }
  const std::string& synced() const { return synced_; }

  /// What is found after the cut.
  std::string after_cut(std::mt19937_64& chance) const;

private:
  /// A write, or with `truncates` a new size.
  struct change {
    std::int64_t offset = 0;
    std::string bytes;
    bool truncates = false;
  };
  static void apply(const change& c, std::string& content);
  static void tear(const change& c, std::string& content, std::mt19937_64& chance);

  std::string content_;
  std::string synced_;
  std::vector<change> unsynced_; // since the last sync, in order
  bool survives_ = false;
};

class power_cut_disk {
public:
  std::shared_ptr<disk_file> find(const std::string& path) const;
  std::shared_ptr<disk_file> create(const std::string& path);
  void put(const std::string& path, std::string content);
  /// `synced`: the removal, and with it every other name, is on the disk when this returns.
  void remove(const std::string& path, bool synced);
  /// The file, and if it is a new one the folder with it, as SQLite's own file systems do for a new
  /// log.
  void sync(disk_file& file);
  void cut(std::uint64_t seed);

  std::int64_t used_bytes() const;
  std::uint64_t cuts() const { return cuts_; }

private:
  void sync_names();

  std::map<std::string, std::shared_ptr<disk_file>> files_;
  std::map<std::string, std::string>
      removed_; // synced content of files whose removal is not synced
  std::uint64_t cuts_ = 0;
};

} // namespace rind::kit
