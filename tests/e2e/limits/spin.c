#include <unistd.h>

// Four processes that never stop.
int main(void) {
  fork();
  fork();
  while (1) continue;
}
