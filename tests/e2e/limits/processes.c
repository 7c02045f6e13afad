#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void* Wait(void* nothing) {
  pause();
  return nothing;
}

int main(int argc, char** argv) {
  const int wanted = atoi(argv[1]) - 1;
  pthread_t thread;
  for (int i = 0; i < wanted / 2; ++i) {
    if (pthread_create(&thread, NULL, Wait, NULL) != 0) return 2;
  }
  for (int i = wanted / 2; i < wanted; ++i) {
    const pid_t child = fork();
    if (child == 0) pause();
    if (child < 0) {
      perror("fork");
      return 1;
    }
  }
  puts("ok");
}
