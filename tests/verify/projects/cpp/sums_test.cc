#include <csignal>
#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (std::strcmp(argv[1], "adds") == 0) return 0;
  if (std::strcmp(argv[1], "later") == 0) return 77;
  if (std::strcmp(argv[1], "crashes") == 0) std::raise(SIGSEGV);
  std::puts("2 + 2 is not 5");
  return 1;
}
