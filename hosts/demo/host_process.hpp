// The host under the demo: this very program as a child, `rind serve` on a socket in a folder. It
// dies with the demo, whatever ends that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "messages/result.hpp"

namespace rind::hosts::demo {

/// How long a host may take to listen, and to stop after SIGTERM.
inline constexpr int host_start_ms = 30'000;
inline constexpr int host_stop_ms = 30'000;

struct host_settings {
  std::string folder;   // socket, journal and log go there
  std::string base_url; // of the model's provider
  std::string model;
  std::int64_t window_tokens = 0;
};

class host_process {
public:
  explicit host_process(host_settings settings) : settings_(std::move(settings)) {}
  /// Kills it.
  ~host_process() { kill(); }
  host_process(const host_process&) = delete;
  host_process& operator=(const host_process&) = delete;

  /// Starts it and waits until it listens. The settings of the person who runs the demo (files,
  /// variables, proxies) do not reach it. Call it on a thread that outlives it.
  result<done> start();
  /// SIGKILL; returns when it is gone.
  void kill();
  /// SIGTERM; fails where it does not end by itself with code 0.
  result<done> stop();

  std::string socket_path() const { return settings_.folder + "/rind.sock"; }
  std::string journal_path() const { return settings_.folder + "/rind.db"; }
  std::string log_path() const { return settings_.folder + "/host.log"; }

private:
  std::vector<std::string> command() const;
  result<done> wait_until_it_listens(int output);

  host_settings settings_;
  pid_t pid_ = -1;
};

} // namespace rind::hosts::demo
