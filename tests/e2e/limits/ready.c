#include <stdio.h>
#include <unistd.h>

int main(void) {
  puts("ready");
  fflush(stdout);
  pause();
}
