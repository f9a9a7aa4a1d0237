// What is synced, what is not, and what a cut makes of it.
#include "tests/kit/power_cut_disk.hpp"

#include <algorithm>

namespace rind::kit {

namespace {

/// One of `count` equally likely cases, the same on every platform.
std::uint64_t pick(std::mt19937_64& chance, std::uint64_t count) {
  return chance() % count;
}

void overwrite(std::string& content, std::int64_t offset, std::string_view bytes) {
  const auto start = static_cast<std::size_t>(offset);
  if (content.size() < start + bytes.size())
    content.resize(start + bytes.size(), '\0');
  std::copy(bytes.begin(), bytes.end(), content.begin() + offset);
}

} // namespace

disk_file::disk_file(std::string content)
    : content_(content), synced_(std::move(content)), survives_(true) {}

void disk_file::write(std::int64_t offset, std::string bytes) {
  overwrite(content_, offset, bytes);
  unsynced_.push_back({offset, std::move(bytes), false});
}

void disk_file::truncate(std::int64_t size) {
  content_.resize(static_cast<std::size_t>(size), '\0');
  unsynced_.push_back({size, {}, true});
}

void disk_file::sync() {
  for (const change& c : unsynced_)
    apply(c, synced_);
  unsynced_.clear();
}

void disk_file::apply(const change& c, std::string& content) {
  if (c.truncates)
    content.resize(static_cast<std::size_t>(c.offset), '\0');
  else
    overwrite(content, c.offset, c.bytes);
}

void disk_file::tear(const change& c, std::string& content, std::mt19937_64& chance) {
  const std::string_view bytes = c.bytes;
  for (std::int64_t at = c.offset; at < c.offset + static_cast<std::int64_t>(bytes.size());) {
    const std::int64_t sector_end = (at / disk_sector_bytes + 1) * disk_sector_bytes;
    const auto begin = static_cast<std::size_t>(at - c.offset);
    const auto part = bytes.substr(begin, static_cast<std::size_t>(sector_end - at));
    const auto fate = pick(chance, 8);
    if (fate < 4)
      overwrite(content, at, part);
    else if (fate == 4)
      overwrite(content, at, std::string(part.size(), static_cast<char>(pick(chance, 256))));
    at += static_cast<std::int64_t>(part.size());
  }
}

std::string disk_file::after_cut(std::mt19937_64& chance) const {
  std::string found = synced_;
  for (const change& c : unsynced_) {
    const auto fate = pick(chance, 3);
    if (fate == 0)
      continue;
    if (fate == 1 || c.truncates)
      apply(c, found);
    else
      tear(c, found, chance);
  }
  return found;
}

std::shared_ptr<disk_file> power_cut_disk::find(const std::string& path) const {
  const auto found = files_.find(path);
  return found == files_.end() ? nullptr : found->second;
}

std::shared_ptr<disk_file> power_cut_disk::create(const std::string& path) {
  auto file = std::make_shared<disk_file>();
  files_[path] = file;
  return file;
}

void power_cut_disk::put(const std::string& path, std::string content) {
  files_[path] = std::make_shared<disk_file>(std::move(content));
  removed_.erase(path);
}

void power_cut_disk::remove(const std::string& path, bool synced) {
  const auto found = files_.find(path);
  if (found == files_.end())
    return;
  if (found->second->survives())
    removed_[path] = found->second->synced();
  files_.erase(found);
  if (synced)
    sync_names();
}

void power_cut_disk::sync(disk_file& file) {
  file.sync();
  if (!file.survives())
    sync_names();
}

void power_cut_disk::sync_names() {
  removed_.clear();
  for (const auto& [name, file] : files_)
    file->sync_name();
}

void power_cut_disk::cut(std::uint64_t seed) {
  std::mt19937_64 chance(seed);
  std::map<std::string, std::shared_ptr<disk_file>> found;
  for (const auto& [path, content] : removed_)
    if (pick(chance, 2) == 0)
      found[path] = std::make_shared<disk_file>(content);
  for (const auto& [path, file] : files_) {
    const std::string content = file->after_cut(chance);
    if (file->survives() || pick(chance, 2) == 0)
      found[path] = std::make_shared<disk_file>(content);
  }
  files_ = std::move(found);
  removed_.clear();
  ++cuts_;
}

std::int64_t power_cut_disk::used_bytes() const {
  std::int64_t used = 0;
  for (const auto& [path, file] : files_)
    used += file->size();
  return used;
}

} // namespace rind::kit
