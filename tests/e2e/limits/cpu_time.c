#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char** argv) {
  while (clock() / (CLOCKS_PER_SEC / 1000) < atoi(argv[1])) continue;
  puts("ok");
}
