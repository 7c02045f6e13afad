#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Touches the N-th byte below the end of the stack.
int main(int argc, char** argv) {
  unsigned long begin = 0;
  unsigned long end = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  for (char line[512]; fgets(line, sizeof line, maps) != NULL;) {
    if (strstr(line, "[stack]") != NULL) sscanf(line, "%lx-%lx", &begin, &end);
  }
  if (end == 0) return 2;
  *(volatile char*)(end - atol(argv[1])) = 0;
  puts("ok");
}
