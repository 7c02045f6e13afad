#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

static int Held(void) {
  int count = 0;
  DIR* directory = opendir("/proc/self/fd");
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;) count += entry->d_name[0] != '.';
  closedir(directory);
  return count - 1;  // without the listing itself
}

int main(int argc, char** argv) {
  for (int left = atoi(argv[1]) - Held(); left > 0; --left) {
    if (open("/dev/null", O_RDONLY) < 0) {
      perror("open");
      return 1;
    }
  }
  puts("ok");
}
