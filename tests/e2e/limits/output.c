#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const long wanted = atol(argv[1]);
  char* bytes = malloc(wanted);
  memset(bytes, 'e', wanted);
  const long one = write(2, bytes, wanted / 2);
  memset(bytes, 'o', wanted);
  const long two = write(1, bytes, wanted - wanted / 2);
  return one + two == wanted ? 0 : 1;
}
