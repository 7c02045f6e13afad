#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// N ms of processor time, by four processes.
int main(int argc, char** argv) {
  for (int i = 0; i < 4; ++i) {
    if (fork() != 0) continue;
    while (clock() / (CLOCKS_PER_SEC / 1000) < atoi(argv[1]) / 4) continue;
    return 0;
  }
  while (wait(NULL) > 0) continue;
  puts("ok");
}
