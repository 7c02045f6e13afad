#include "warm/arguments.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include <linux/prctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>

namespace polybox::warm {
namespace {

prctl_mm_map memory{};
bool known = false;

/// The fields of /proc/self/stat that are needed here; the numbers count from 1.
struct Field {
  int number;
  __u64 prctl_mm_map::* member;
};
constexpr Field kFields[] = {
    {26, &prctl_mm_map::start_code},  {27, &prctl_mm_map::end_code},
    {28, &prctl_mm_map::start_stack}, {45, &prctl_mm_map::start_data},
    {46, &prctl_mm_map::end_data},    {47, &prctl_mm_map::start_brk},
};

void ReadFields(const char* text) {
  int number = 3;
  for (; text != nullptr; text = std::strchr(text, ' '), ++number) {
    if (*text == ' ') ++text;
    for (const Field& field : kFields) {
      if (field.number == number) memory.*field.member = std::strtoull(text, nullptr, 10);
    }
  }
}

/// Copies the texts one after the other, each with its 0 byte. Returns the end.
char* Place(const std::vector<std::string>& texts, char* at, std::vector<char*>& places) {
  for (const std::string& text : texts) {
    places.push_back(at);
    std::memcpy(at, text.c_str(), text.size() + 1);
    at += text.size() + 1;
  }
  return at;
}

std::size_t Length(const std::vector<std::string>& texts) {
  std::size_t length = 0;
  for (const std::string& text : texts) length += text.size() + 1;
  return length;
}

}  // namespace

void RememberMemory(int stat) {
  char text[1024];
  const ssize_t size = ::pread(stat, text, sizeof text - 1, 0);
  if (size <= 0) return;
  text[size] = '\0';
  // The second field is the name, in parentheses; it may hold any character.
  const char* name_end = std::strrchr(text, ')');
  if (name_end == nullptr || name_end[1] != ' ') return;
  ReadFields(name_end + 2);
  known = true;
}

bool SetArguments(const std::vector<std::string>& argv, const std::vector<std::string>& env,
                  Variables own) {
  if (!known) {
    const int stat = ::open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    RememberMemory(stat);
    ::close(stat);
  }
  const std::size_t size = Length(argv) + Length(env) + 1;
  void* area = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (area == MAP_FAILED) return false;
  // The layout that exec makes: the environment begins where the arguments end.
  std::vector<char*> arguments;
  std::vector<char*> variables;
  char* begin = static_cast<char*>(area);
  char* middle = Place(argv, begin, arguments);
  char* end = Place(env, middle, variables);
  if (own == Variables::kReplace) {
    ::clearenv();
    for (char* variable : variables) ::putenv(variable);
  }
  memory.brk = reinterpret_cast<__u64>(::sbrk(0));
  memory.arg_start = reinterpret_cast<__u64>(begin);
  memory.arg_end = memory.env_start = reinterpret_cast<__u64>(middle);
  memory.env_end = reinterpret_cast<__u64>(end);
  memory.exe_fd = static_cast<__u32>(-1);
  // A kernel without CONFIG_CHECKPOINT_RESTORE refuses PR_SET_MM_MAP. /proc/PID/cmdline and
  // /proc/PID/environ then show how the interpreter was started. The program itself sees its own
  // arguments and variables all the same.
  if (known) ::prctl(PR_SET_MM, PR_SET_MM_MAP, &memory, sizeof memory, 0);
  return true;
}

}  // namespace polybox::warm
