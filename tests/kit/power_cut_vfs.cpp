// SQLite's side of the disk: handles, locks and shared memory. The functions that SQLite calls are
// plain ones, as its interface is C.
#include "tests/kit/power_cut_vfs.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <set>

#include <sqlite3.h>

#include "tests/kit/power_cut_disk.hpp"

namespace rind::kit {

namespace {

struct open_file;

/// What connections to one file share while they are open.
struct sharing {
  std::set<open_file*> files;
  std::vector<std::unique_ptr<std::vector<char>>> regions; // of the shared memory; addresses stay
};

} // namespace

struct power_cut_vfs::disk {
  sqlite3_vfs vfs{};
  std::string name;
  power_cut_disk files;
  std::map<std::string, std::shared_ptr<sharing>> shared; // by path, of this side of the last cut
  std::optional<std::int64_t> capacity;
  bool read_only = false;
  bool broken = false;
  std::int64_t syncs = 0;
  std::optional<std::int64_t> operations_to_cut;
  std::uint64_t cut_seed = 0;

  bool register_vfs();
  void cut(std::uint64_t seed);
  /// Called before each operation that changes the disk.
  void count_operation();
};

namespace {

/// An open file as SQLite sees it.
struct open_file {
  sqlite3_file base{};
  power_cut_vfs::disk* disk = nullptr;
  std::shared_ptr<disk_file> file;
  std::shared_ptr<sharing> shared; // null for a file without a name
  std::uint64_t cuts = 0;          // of the disk when it was opened
  int lock = SQLITE_LOCK_NONE;
  unsigned shm_shared = 0; // locks held, a bit each
  unsigned shm_exclusive = 0;

  bool is_dead() const { return disk->files.cuts() != cuts; }
};

open_file& self(sqlite3_file* file) {
  return *reinterpret_cast<open_file*>(file);
}

int close(sqlite3_file* file) {
  open_file& f = self(file);
  if (f.shared)
    f.shared->files.erase(&f);
  f.~open_file();
  return SQLITE_OK;
}

int read(sqlite3_file* file, void* out, int count, sqlite3_int64 offset) {
  const open_file& f = self(file);
  if (f.is_dead() || f.disk->broken)
    return SQLITE_IOERR_READ;
  const std::string& content = f.file->content();
  const auto there =
      std::clamp<std::int64_t>(f.file->size() - offset, 0, static_cast<std::int64_t>(count));
  std::memset(out, 0, static_cast<std::size_t>(count));
  if (there > 0)
    std::memcpy(out, content.data() + offset, static_cast<std::size_t>(there));
  return there == count ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

int write(sqlite3_file* file, const void* bytes, int count, sqlite3_int64 offset) {
  const open_file& f = self(file);
  f.disk->count_operation();
  if (f.is_dead())
    return SQLITE_IOERR_WRITE;
  if (f.disk->read_only)
    return SQLITE_READONLY;
  const std::int64_t growth = std::max<std::int64_t>(offset + count - f.file->size(), 0);
  const auto& capacity = f.disk->capacity;
  if (capacity && growth > 0 && f.disk->files.used_bytes() + growth > *capacity)
    return SQLITE_FULL;
  f.file->write(offset,
                std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(count)));
  return SQLITE_OK;
}

int truncate(sqlite3_file* file, sqlite3_int64 size) {
  const open_file& f = self(file);
  f.disk->count_operation();
  if (f.is_dead() || f.disk->read_only)
    return SQLITE_IOERR_TRUNCATE;
  f.file->truncate(size);
  return SQLITE_OK;
}

int sync(sqlite3_file* file, int) {
  const open_file& f = self(file);
  f.disk->count_operation();
  if (f.is_dead() || f.disk->broken)
    return SQLITE_IOERR_FSYNC;
  f.disk->files.sync(*f.file);
  ++f.disk->syncs;
  return SQLITE_OK;
}

int file_size(sqlite3_file* file, sqlite3_int64* size) {
  const open_file& f = self(file);
  if (f.is_dead())
    return SQLITE_IOERR_FSTAT;
  *size = f.file->size();
  return SQLITE_OK;
}

/// The highest lock that another connection has on the file.
int highest_other_lock(const open_file& f) {
  int highest = SQLITE_LOCK_NONE;
  if (f.shared)
    for (const open_file* other : f.shared->files)
      if (other != &f)
        highest = std::max(highest, other->lock);
  return highest;
}

int lock(sqlite3_file* file, int level) {
  open_file& f = self(file);
  if (f.is_dead())
    return SQLITE_IOERR_LOCK;
  if (f.lock >= level)
    return SQLITE_OK;
  const int others = highest_other_lock(f);
  const bool may_share = others < SQLITE_LOCK_PENDING;
  const bool may_reserve = others < SQLITE_LOCK_RESERVED;
  if (level == SQLITE_LOCK_SHARED ? !may_share : !may_reserve)
    return SQLITE_BUSY;
  if (level == SQLITE_LOCK_EXCLUSIVE && others != SQLITE_LOCK_NONE) {
    f.lock = SQLITE_LOCK_PENDING;
    return SQLITE_BUSY;
  }
  f.lock = level;
  return SQLITE_OK;
}

int unlock(sqlite3_file* file, int level) {
  self(file).lock = std::min(self(file).lock, level);
  return SQLITE_OK;
}

int check_reserved_lock(sqlite3_file* file, int* is_reserved) {
  const open_file& f = self(file);
  *is_reserved = std::max(f.lock, highest_other_lock(f)) >= SQLITE_LOCK_RESERVED ? 1 : 0;
  return SQLITE_OK;
}

int file_control(sqlite3_file*, int, void*) {
  return SQLITE_NOTFOUND;
}

int sector_size(sqlite3_file*) {
  return static_cast<int>(disk_sector_bytes);
}

int device_characteristics(sqlite3_file*) {
  return 0; // nothing is promised
}

int shm_map(sqlite3_file* file, int region, int size, int extend, volatile void** out) {
  open_file& f = self(file);
  *out = nullptr;
  if (f.is_dead())
    return SQLITE_IOERR_SHMMAP;
  auto& regions = f.shared->regions;
  const auto index = static_cast<std::size_t>(region);
  if (index >= regions.size()) {
    if (extend == 0)
      return SQLITE_OK;
    regions.resize(index + 1);
  }
  if (!regions[index])
    regions[index] = std::make_unique<std::vector<char>>(static_cast<std::size_t>(size), '\0');
  *out = regions[index]->data();
  return SQLITE_OK;
}

int shm_lock(sqlite3_file* file, int first, int count, int flags) {
  open_file& f = self(file);
  if (f.is_dead())
    return SQLITE_IOERR_SHMLOCK;
  const unsigned mask = ((1U << static_cast<unsigned>(count)) - 1U) << static_cast<unsigned>(first);
  const bool exclusive = (flags & SQLITE_SHM_EXCLUSIVE) != 0;
  if ((flags & SQLITE_SHM_UNLOCK) != 0) {
    f.shm_shared &= ~mask;
    f.shm_exclusive &= ~mask;
    return SQLITE_OK;
  }
  for (const open_file* other : f.shared->files) {
    const unsigned held = other->shm_exclusive | (exclusive ? other->shm_shared : 0U);
    if (other != &f && (held & mask) != 0)
      return SQLITE_BUSY;
  }
  (exclusive ? f.shm_exclusive : f.shm_shared) |= mask;
  return SQLITE_OK;
}

void shm_barrier(sqlite3_file*) {}

int shm_unmap(sqlite3_file* file, int removes) {
  open_file& f = self(file);
  f.shm_shared = 0;
  f.shm_exclusive = 0;
  if (removes != 0 && f.shared->files.size() == 1)
    f.shared->regions.clear();
  return SQLITE_OK;
}

constexpr sqlite3_io_methods io_methods{2, // with shared memory, without memory mapped files
                                        close,
                                        read,
                                        write,
                                        truncate,
                                        sync,
                                        file_size,
                                        lock,
                                        unlock,
                                        check_reserved_lock,
                                        file_control,
                                        sector_size,
                                        device_characteristics,
                                        shm_map,
                                        shm_lock,
                                        shm_barrier,
                                        shm_unmap,
                                        nullptr,
                                        nullptr};

int open_on(power_cut_vfs::disk& d, const char* path, sqlite3_file* out, int flags,
            int* out_flags) {
  out->pMethods = nullptr;
  std::shared_ptr<disk_file> found = path == nullptr ? nullptr : d.files.find(path);
  if (!found) {
    if ((flags & SQLITE_OPEN_CREATE) == 0 || (d.read_only && path != nullptr))
      return SQLITE_CANTOPEN;
    found = path == nullptr ? std::make_shared<disk_file>() : d.files.create(path);
  }
  auto* f = new (out) open_file;
  f->base.pMethods = &io_methods;
  f->disk = &d;
  f->file = std::move(found);
  f->cuts = d.files.cuts();
  if (path != nullptr) {
    auto& shared = d.shared[path];
    if (!shared)
      shared = std::make_shared<sharing>();
    f->shared = shared;
    shared->files.insert(f);
  }
  if (out_flags != nullptr)
    *out_flags = !d.read_only ? flags
                              : (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) |
                                    SQLITE_OPEN_READONLY;
  return SQLITE_OK;
}

int full_path(sqlite3_vfs*, const char* path, int size, char* out) {
  sqlite3_snprintf(size, out, "%s", path);
  return SQLITE_OK;
}

int randomness(sqlite3_vfs*, int size, char* out) {
  std::memset(out, 1, static_cast<std::size_t>(size));
  return size;
}

int sleep(sqlite3_vfs*, int microseconds) {
  return microseconds; // nobody else runs meanwhile: there is nothing to wait for
}

int current_time(sqlite3_vfs*, double* julian_day) {
  *julian_day = 2'461'041.5; // the first of January 2026
  return SQLITE_OK;
}

int last_error(sqlite3_vfs*, int, char*) {
  return 0;
}

} // namespace

bool power_cut_vfs::disk::register_vfs() {
  vfs.iVersion = 1;
  vfs.szOsFile = sizeof(open_file);
  vfs.mxPathname = 512;
  vfs.zName = name.c_str();
  vfs.pAppData = this;
  vfs.xOpen = [](sqlite3_vfs* v, const char* path, sqlite3_file* out, int flags, int* out_flags) {
    return open_on(*static_cast<disk*>(v->pAppData), path, out, flags, out_flags);
  };
  vfs.xDelete = [](sqlite3_vfs* v, const char* path, int synced) -> int {
    auto& d = *static_cast<disk*>(v->pAppData);
    if (d.read_only)
      return SQLITE_READONLY;
    if (!d.files.find(path))
      return SQLITE_IOERR_DELETE_NOENT;
    d.files.remove(path, synced != 0);
    return SQLITE_OK;
  };
  vfs.xAccess = [](sqlite3_vfs* v, const char* path, int question, int* yes) -> int {
    const auto& d = *static_cast<disk*>(v->pAppData);
    const bool writes = question == SQLITE_ACCESS_READWRITE;
    *yes = d.files.find(path) != nullptr && !(writes && d.read_only) ? 1 : 0;
    return SQLITE_OK;
  };
  vfs.xFullPathname = full_path;
  vfs.xRandomness = randomness;
  vfs.xSleep = sleep;
  vfs.xCurrentTime = current_time;
  vfs.xGetLastError = last_error;
  return sqlite3_vfs_register(&vfs, 0) == SQLITE_OK;
}

void power_cut_vfs::disk::cut(std::uint64_t seed) {
  files.cut(seed);
  shared.clear();
  operations_to_cut.reset();
}

void power_cut_vfs::disk::count_operation() {
  if (operations_to_cut && (*operations_to_cut)-- == 0)
    cut(cut_seed);
}

power_cut_vfs::power_cut_vfs(std::string name) : disk_(std::make_unique<disk>()) {
  disk_->name = std::move(name);
  if (!disk_->register_vfs())
    throw std::bad_alloc();
}

power_cut_vfs::~power_cut_vfs() {
  sqlite3_vfs_unregister(&disk_->vfs);
}

const std::string& power_cut_vfs::name() const {
  return disk_->name;
}

void power_cut_vfs::power_cut(std::uint64_t seed) {
  disk_->cut(seed);
}

void power_cut_vfs::power_cut_after(std::int64_t operations, std::uint64_t seed) {
  disk_->operations_to_cut = operations;
  disk_->cut_seed = seed;
}

std::int64_t power_cut_vfs::cuts() const {
  return static_cast<std::int64_t>(disk_->files.cuts());
}

void power_cut_vfs::set_capacity(std::optional<std::int64_t> bytes) {
  disk_->capacity = bytes;
}

void power_cut_vfs::set_read_only(bool on) {
  disk_->read_only = on;
}

void power_cut_vfs::set_broken(bool on) {
  disk_->broken = on;
}

std::int64_t power_cut_vfs::used_bytes() const {
  return disk_->files.used_bytes();
}

std::int64_t power_cut_vfs::syncs() const {
  return disk_->syncs;
}

void power_cut_vfs::put_file(const std::string& path, const std::string& content) {
  disk_->files.put(path, content);
}

std::optional<std::string> power_cut_vfs::file(const std::string& path) const {
  const auto found = disk_->files.find(path);
  return found ? std::optional(found->content()) : std::nullopt;
}

} // namespace rind::kit
