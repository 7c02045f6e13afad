#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int count = -1;  // "." is the directory itself, ".." is not here
  DIR* directory = opendir(".");
  while (readdir(directory) != NULL) ++count;
  closedir(directory);
  for (char name[32]; count < atoi(argv[1]); ++count) {
    snprintf(name, sizeof name, "file%d", count);
    FILE* file = fopen(name, "w");
    if (file == NULL) {
      perror("fopen");
      return 1;
    }
    fclose(file);
  }
  puts("ok");
}
