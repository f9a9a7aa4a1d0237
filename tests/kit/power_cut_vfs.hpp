// A SQLite file system in memory whose power can be cut. It keeps what was synced apart from what
// was only written; a cut keeps the first and leaves to a seed what becomes of the second: whole,
// torn at a sector, or gone, each write for itself and in no order. Files that were created and
// never synced may vanish, files that were removed without a sync may come back.
//
// It serves several connections of one process (file locks and the shared memory of WAL are kept
// here) and one thread at a time. It can also be full, read-only, or answer reads with an error.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace rind::kit {

class power_cut_vfs {
public:
  /// Registers a file system of that name with SQLite, for as long as this lives; not as the
  /// default. The name is unique in the process.
  explicit power_cut_vfs(std::string name);
  /// Every connection is closed by then.
  ~power_cut_vfs();
  power_cut_vfs(const power_cut_vfs&) = delete;
  power_cut_vfs& operator=(const power_cut_vfs&) = delete;

  const std::string& name() const;

  /// The disk after the cut is what the next connection finds. Connections of before the cut answer
  /// errors and reach nothing.
  void power_cut(std::uint64_t seed);
  /// Cuts the power in the middle of a call: before the write, sync or truncation that follows the
  /// next `operations` of them.
  void power_cut_after(std::int64_t operations, std::uint64_t seed);
  std::int64_t cuts() const; // since the beginning

  /// All files together may not grow beyond that many bytes (SQLITE_FULL); nullopt: no limit.
  void set_capacity(std::optional<std::int64_t> bytes);
  /// Files can be opened for reading only, and open ones refuse writes (SQLITE_READONLY).
  void set_read_only(bool on);
  /// Reads and syncs answer SQLITE_IOERR.
  void set_broken(bool on);

  std::int64_t used_bytes() const;
  std::int64_t syncs() const; // since the beginning

  /// Puts a file on the disk, synced, in place of what is there.
  void put_file(const std::string& path, const std::string& content);
  /// What a file holds now, synced or not; nullopt: there is none.
  std::optional<std::string> file(const std::string& path) const;

  struct disk; // SQLite's side

private:
  std::unique_ptr<disk> disk_;
};

} // namespace rind::kit
