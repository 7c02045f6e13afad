#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  const long wanted = atol(argv[1]);
  volatile char* held = malloc(wanted + 1);
  for (long i = 0; i < wanted; i += 4096) held[i] = 'x';
  puts("ok");
}
