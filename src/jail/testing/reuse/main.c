#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

/// probe passive | probe active | stir SEED STEPS NUMBERS | calls NUMBERS | end
static int Begin(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "probe") == 0) {
    return Probe(strcmp(argv[2], "active") == 0 ? kActive : kPassive);
  }
  if (argc == 5 && strcmp(argv[1], "stir") == 0) {
    return Stir(strtoull(argv[2], NULL, 10), strtol(argv[3], NULL, 10), argv[4]);
  }
  if (argc == 3 && strcmp(argv[1], "calls") == 0) return SayCalls(argv[2]);
  if (argc == 2 && strcmp(argv[1], "end") == 0) return 0;
  fputs("usage: guest probe passive|active, stir SEED STEPS NUMBERS, calls NUMBERS, or end\n", stderr);
  return 2;
}

/// Takes the words of a run, as an interpreter does that was started ahead of its program: see
/// warm/warm.h.
static int BeginTaken(void) {
  enum { kSocket = 62, kMostWords = 8 };
  static char text[1 << 16];
  char* words[kMostWords + 1] = {NULL};
  const ssize_t size = read(kSocket, text, sizeof text - 1);
  if (size <= 0) return 3;
  const int count = atoi(text);
  if (count > kMostWords) return 3;
  char* at = text;
  for (int i = 0; i < count; ++i) words[i] = at += strlen(at) + 1;
  return Begin(count, words);
}

/// Or one of these, for a guest that is started ahead: zygote | prestart
int main(int argc, char** argv) {
  if (argc != 2) return Begin(argc, argv);
  if (strcmp(argv[1], "zygote") == 0) {
    // Returns in every guest, and never in the zygote.
    if (fork() != 0) return 3;
    return BeginTaken();
  }
  return strcmp(argv[1], "prestart") == 0 ? BeginTaken() : Begin(argc, argv);
}
