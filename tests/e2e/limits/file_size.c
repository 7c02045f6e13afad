#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const long wanted = atol(argv[1]);
  char* bytes = calloc(1, wanted);
  const int fd = open("/tmp/file", O_WRONLY | O_CREAT, 0644);
  for (long done = 0; done < wanted;) {
    const ssize_t count = write(fd, bytes, wanted - done);
    if (count < 0) {
      perror("write");
      return 1;
    }
    done += count;
  }
  puts("ok");
}
