#include <algorithm>
#include <thread>

#include "redis/base/process.h"

#ifdef __linux__
#include <sched.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string>
#endif

namespace holdfast {

#ifdef __linux__

namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

// The path of the process in the hierarchy of cgroup v2; empty: the root, as in most containers.
std::string cgroup() {
  const File file(std::fopen("/proc/self/cgroup", "re"));
  std::array<char, 4096> line{};
  while (file && std::fgets(line.data(), line.size(), file.get()) != nullptr) {
    std::string text(line.data());
    if (text.compare(0, 4, "0::/") != 0) continue;
    text.erase(text.find_last_not_of("/\n") + 1);
    return text.size() > 4 ? text.substr(3) : std::string();
  }
  return {};
}

int number_in(const std::string& path) {
  const File file(std::fopen(path.c_str(), "re"));
  int number = 0;
  return file && std::fscanf(file.get(), "%d", &number) == 1 ? number : 0;
}

// 0: without limit.
int whole(int quota, int period) {
  return quota > 0 && period > 0 ? (quota + period - 1) / period : 0;
}

int quota_of(const std::string& path) {
  int quota = 0;
  int period = 0;
  const File file(std::fopen((path + "/cpu.max").c_str(), "re"));  // "max 100000", "50000 100000"
  const bool limited = file && std::fscanf(file.get(), "%d %d", &quota, &period) == 2;
  return limited ? whole(quota, period) : 0;
}

int quota() {
  const std::string root = "/sys/fs/cgroup";
  const int first =
      whole(number_in(root + "/cpu/cpu.cfs_quota_us"), number_in(root + "/cpu/cpu.cfs_period_us"));
  if (first > 0) return first;
  const int own = quota_of(root + cgroup());
  return own > 0 ? own : quota_of(root);
}

}  // namespace

#endif

int usable_cpus() {
  auto usable = static_cast<int>(std::thread::hardware_concurrency());
#ifdef __linux__
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) usable = CPU_COUNT(&allowed);
  if (const int most = quota(); most > 0) usable = std::min(usable, most);
#endif
  return std::max(usable, 1);
}

}  // namespace holdfast
