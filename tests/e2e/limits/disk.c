#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char** argv) {
  long left = atol(argv[1]);
  DIR* directory = opendir(".");
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;) {
    struct stat info;
    if (stat(entry->d_name, &info) == 0 && S_ISREG(info.st_mode)) left -= info.st_blocks * 512;
  }
  char* bytes = calloc(1, left);
  const int fd = open("file", O_WRONLY | O_CREAT, 0644);
  while (left > 0) {
    const ssize_t count = write(fd, bytes, left);
    if (count < 0) {
      perror("write");
      return 1;
    }
    left -= count;
  }
  puts("ok");
}
