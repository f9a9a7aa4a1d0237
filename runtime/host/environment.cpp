// The system's clock and chance. Ids are 96 random bits, so that they are unique over restarts and
// nodes without asking anyone.
#include "runtime/host/environment.hpp"

#include <array>
#include <chrono>
#include <mutex>
#include <random>

namespace rind::host {

namespace {

class system_environment final : public environment {
public:
  system_environment() {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device(),
                       device(), device(), device(), device()};
    random_.seed(seed);
  }

  std::int64_t now_ms() override {
    using namespace std::chrono;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  }

  double chance() override {
    std::lock_guard guard{mutex_};
    return std::uniform_real_distribution<double>{0.0, 1.0}(random_);
  }

  std::string new_id(const char* prefix) override {
    static constexpr char digits[] = "0123456789abcdefghijklmnopqrstuv";
    std::array<std::uint64_t, 2> bits{};
    {
      std::lock_guard guard{mutex_};
      for (auto& b : bits)
        b = random_();
    }
    std::string id = prefix;
    id += '_';
    for (auto b : bits)
      for (int i = 0; i < 10; ++i, b >>= 5)
        id += digits[b & 31];
    return id;
  }

private:
  std::mutex mutex_;
  std::mt19937_64 random_;
};

} // namespace

std::shared_ptr<environment> make_system_environment() {
  return std::make_shared<system_environment>();
}

} // namespace rind::host
