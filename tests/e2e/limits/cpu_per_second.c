#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long Microseconds(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

// Ten times: N ms of processor time, then nothing until 100 ms are over.
int main(int argc, char** argv) {
  const long wanted = atol(argv[1]) * 1000;
  for (int i = 0; i < 10; ++i) {
    const long begin = Microseconds(CLOCK_MONOTONIC);
    const long used = Microseconds(CLOCK_PROCESS_CPUTIME_ID);
    while (Microseconds(CLOCK_PROCESS_CPUTIME_ID) - used < wanted) continue;
    const long passed = Microseconds(CLOCK_MONOTONIC) - begin;
    if (passed < 100000) usleep(100000 - passed);
  }
  puts("ok");
}
