// What a process tree and a processor have used, from /proc.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <string>
#include <vector>

namespace bench {

struct TreeUsage {
  double on_cpu_us = 0;  // by the scheduler, to the nanosecond, all threads
  double user_ticks = 0;
  double system_ticks = 0;
};

struct CpuUsage {
  double busy_ticks = 0;
  double all_ticks = 0;
};

inline std::string read_small_file(const std::string& path) {
  std::string out(4096, '\0');
  std::FILE* const file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return {};
  out.resize(std::fread(out.data(), 1, out.size(), file));
  std::fclose(file);
  return out;
}

inline std::vector<int> numbers_in(const std::string& folder) {
  std::vector<int> out;
  DIR* const dir = ::opendir(folder.c_str());
  if (dir == nullptr) return out;
  while (const dirent* const entry = ::readdir(dir)) {
    if (const int number = std::atoi(entry->d_name); number > 0) out.push_back(number);
  }
  ::closedir(dir);
  return out;
}

// The fields of /proc/PID/stat from the third on: [0] state, [1] parent, [11] user, [12] system.
inline std::vector<double> stat_fields(int pid) {
  const auto text = read_small_file("/proc/" + std::to_string(pid) + "/stat");
  std::vector<double> out;
  const auto end = text.rfind(')');  // the name before it may hold anything
  if (end == std::string::npos) return out;
  const char* at = text.c_str() + end + 1;
  while ((at = std::strchr(at, ' ')) != nullptr) out.push_back(std::strtod(++at, nullptr));
  return out;
}

// A process and its descendants; `root` first.
inline std::vector<int> tree_of(int root) {
  std::vector<int> out{root};
  const auto all = numbers_in("/proc");
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (const int pid : all) {
      const auto fields = stat_fields(pid);
      if (fields.size() > 1 && static_cast<int>(fields[1]) == out[i]) out.push_back(pid);
    }
  }
  return out;
}

inline TreeUsage usage_of(const std::vector<int>& pids) {
  TreeUsage out;
  for (const int pid : pids) {
    const auto fields = stat_fields(pid);
    if (fields.size() < 13) continue;
    out.user_ticks += fields[11];
    out.system_ticks += fields[12];
    const auto tasks = "/proc/" + std::to_string(pid) + "/task/";
    for (const int task : numbers_in(tasks)) {
      const auto text = read_small_file(tasks + std::to_string(task) + "/schedstat");
      out.on_cpu_us += std::strtod(text.c_str(), nullptr) / 1e3;
    }
  }
  return out;
}

inline CpuUsage usage_of_cpu(int cpu) {
  std::FILE* const file = std::fopen("/proc/stat", "r");
  if (file == nullptr) return {};
  const auto name = "cpu" + std::to_string(cpu) + " ";
  CpuUsage out;
  char line[512];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, name.c_str(), name.size()) != 0) continue;
    char* at = line + name.size();
    for (int i = 0; i < 8; ++i) {  // user nice system idle iowait irq softirq steal
      const double ticks = std::strtod(at, &at);
      out.all_ticks += ticks;
      if (i != 3 && i != 4) out.busy_ticks += ticks;
    }
  }
  std::fclose(file);
  return out;
}

}  // namespace bench
