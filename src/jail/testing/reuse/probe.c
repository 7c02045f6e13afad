// All that a guest can find out of the slot that it is in, one line for each fact. The test compares
// the lines of a guest that had others before it with those of the first guest of a new slot.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char text[1 << 16];
static struct timespec began;

void SayBytes(const char* key, const void* bytes, size_t size) {
  const unsigned char* byte = bytes;
  fputs(key, stdout);
  putchar('\t');
  for (size_t i = 0; i < size; ++i) {
    if (byte[i] == '\n') {
      fputs("\\n", stdout);
    } else if (byte[i] < ' ' && byte[i] != '\t') {
      printf("\\x%02x", byte[i]);
    } else {
      putchar(byte[i]);
    }
  }
  putchar('\n');
}

void Say(const char* key, const char* format, ...) {
  char value[4096];
  va_list arguments;
  va_start(arguments, format);
  const int size = vsnprintf(value, sizeof value, format, arguments);
  va_end(arguments);
  SayBytes(key, value, (size_t)size < sizeof value ? (size_t)size : sizeof value);
}

static const char* When(struct timespec time) {
  if (time.tv_sec == 0 && time.tv_nsec == 0) return "never";
  const int before = time.tv_sec < began.tv_sec || (time.tv_sec == began.tv_sec && time.tv_nsec < began.tv_nsec);
  return before ? "before" : "since";
}

/// What stat() says. Times only as before or since the start of this program, which had nobody
/// beside it.
static void SayStat(const char* path) {
  char key[4200];
  struct stat info;
  snprintf(key, sizeof key, "stat %s", path);
  if (lstat(path, &info) != 0) return Say(key, "%s", strerror(errno));
  Say(key, "%o %u:%u links %lu size %ld blocks %ld device %lu", info.st_mode, info.st_uid, info.st_gid,
      (unsigned long)info.st_nlink, (long)info.st_size, (long)info.st_blocks, (unsigned long)info.st_rdev);
  snprintf(key, sizeof key, "number %s", path);
  Say(key, "%lu", (unsigned long)info.st_ino);
  snprintf(key, sizeof key, "times %s", path);
  Say(key, "read %s changed %s %s", When(info.st_atim), When(info.st_mtim), When(info.st_ctim));
}

static void SayContent(const char* path) {
  char key[4200];
  snprintf(key, sizeof key, "read %s", path);
  const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return Say(key, "%s", strerror(errno));
  ssize_t size = 0;
  size_t all = 0;
  while (all < sizeof text && (size = read(file, text + all, sizeof text - all)) > 0) all += (size_t)size;
  if (size < 0) {
    Say(key, "%s", strerror(errno));
  } else {
    SayBytes(key, text, all);
  }
  close(file);
}

/// Those are asked for data for ever, or are about memory that is this program's own.
static int IsLeftOut(const char* path) {
  static const char* const left_out[] = {"/proc/self/mem", "/proc/self/pagemap", "/proc/self/task", "/proc/self/cwd",
                                         "/proc/self/root", "/proc/self/fd", "/proc/self/map_files", "/proc/kmsg",
                                         "/proc/self/net", "/proc/thread-self", "/proc/self/smaps", "/proc/self/numa_maps"};
  for (size_t i = 0; i < COUNT(left_out); ++i) {
    if (strcmp(left_out[i], path) == 0) return 1;
  }
  return 0;
}

/// Everything below a directory, in the order in which it lists it.
static void Walk(const char* path, int depth) {
  char inner[4096];
  DIR* directory = opendir(path);
  if (directory == NULL) return;
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    snprintf(inner, sizeof inner, "%s%s%s", path, path[1] == '\0' ? "" : "/", entry->d_name);
    if (IsLeftOut(inner)) continue;
    Say("entry", "%s", inner);
    SayStat(inner);
    struct stat info;
    if (lstat(inner, &info) != 0) continue;
    // Numbers in /proc are processes; this one is there as self.
    const int descends = depth > 0 && strtol(entry->d_name, NULL, 10) == 0;
    if (S_ISDIR(info.st_mode) && descends) Walk(inner, depth - 1);
    if (S_ISREG(info.st_mode)) SayContent(inner);
    const ssize_t size = S_ISLNK(info.st_mode) ? readlink(inner, text, sizeof text) : -1;
    char key[4200];
    snprintf(key, sizeof key, "link %s", inner);
    if (size >= 0) SayBytes(key, text, (size_t)size);
  }
  closedir(directory);
}

static void ProbeFiles(void) {
  static const char* const mounts[] = {"/", "/sandbox", "/tmp", "/dev/shm", "/dev", "/proc", "/usr", "/etc",
                                       "/usr/bin/true", "/dev/null", "/etc/passwd", "/guest"};
  char key[256];
  for (size_t i = 0; i < COUNT(mounts); ++i) {
    SayStat(mounts[i]);
    struct statfs info;
    if (statfs(mounts[i], &info) == 0) {
      snprintf(key, sizeof key, "statfs %s", mounts[i]);
      Say(key, "%lx blocks %lu free %lu %lu files %lu free %lu flags %lx", (unsigned long)info.f_type,
          (unsigned long)info.f_blocks, (unsigned long)info.f_bfree, (unsigned long)info.f_bavail,
          (unsigned long)info.f_files, (unsigned long)info.f_ffree, (unsigned long)info.f_flags);
    }
    const ssize_t size = llistxattr(mounts[i], text, sizeof text);
    snprintf(key, sizeof key, "attributes %s", mounts[i]);
    SayBytes(key, text, size < 0 ? 0 : (size_t)size);
    struct flock lock = {.l_type = F_WRLCK};
    const int file = open(mounts[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    snprintf(key, sizeof key, "lock %s", mounts[i]);
    if (file >= 0 && fcntl(file, F_GETLK, &lock) == 0) Say(key, "%d", lock.l_type);
    if (file >= 0) Say(key, "%d %d", flock(file, LOCK_EX | LOCK_NB), fcntl(file, F_GETLEASE));
    if (file >= 0) close(file);
  }
  for (size_t i = 1; i < 4; ++i) Walk(mounts[i], 3);
  Walk("/dev", 1);
  Walk("/", 0);
  Walk("/etc", 0);
  Walk("/proc", 8);
  Walk("/proc/self", 3);
  Walk("/proc/net", 3);
}

static void ProbeProcess(void) {
  struct rlimit limit;
  struct itimerval timer;
  sigset_t set;
  char key[64];
  for (int i = 0; i < 16; ++i) {
    snprintf(key, sizeof key, "limit %d", i);
    if (getrlimit((unsigned)i, &limit) == 0) Say(key, "%lu %lu", limit.rlim_cur, limit.rlim_max);
  }
  for (int i = 0; i < 3; ++i) {
    snprintf(key, sizeof key, "timer %d", i);
    if (getitimer((unsigned)i, &timer) == 0) Say(key, "%ld", (long)timer.it_value.tv_sec);
  }
  for (int i = 1; i < 65; ++i) {
    struct sigaction action = {0};
    if (sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_DFL) Say("handled", "%d", i);
  }
  sigprocmask(SIG_SETMASK, NULL, &set);
  SayBytes("mask", &set, 8);
  sigpending(&set);
  SayBytes("pending", &set, 8);
  Say("process", "%d %d %d %d uid %u %u gid %u %u", getpid(), getppid(), getsid(0), getpgid(0), getuid(), geteuid(),
      getgid(), getegid());
  const mode_t mask = umask(0);
  Say("umask", "%o", mask);
  umask(mask);
  Say("priority", "%d %d %ld", getpriority(PRIO_PROCESS, 0), sched_getscheduler(0), syscall(SYS_ioprio_get, 1, 0));
  for (int i = 1; i < 70; ++i) {
    snprintf(key, sizeof key, "prctl %d", i);
    int value = 0;
    const int result = i == PR_GET_NAME || i == 2 || i == 37 ? 0 : prctl(i, 0, 0, 0, 0);
    if (i == 2 || i == 37) prctl(i, &value, 0, 0, 0);
    if (i == 3 || i == 7 || i == 21 || i == 27 || i == 30 || i == 39 || i == 42 || value != 0) {
      Say(key, "%d %d", result, value);
    }
  }
  cpu_set_t cpus;
  sched_getaffinity(0, sizeof cpus, &cpus);
  Say("processors", "%d", CPU_COUNT(&cpus));
  struct utsname name;
  uname(&name);
  Say("name", "%s %s %s", name.nodename, name.domainname, name.release);
  SayBytes("directory", text, getcwd(text, sizeof text) == NULL ? 0 : strlen(text));
  Say("number of inotify watch", "%d", inotify_add_watch(inotify_init1(IN_CLOEXEC), "/tmp", IN_CREATE));
}

static void SayIds(const char* kind, int id, int error) {
  char key[64];
  snprintf(key, sizeof key, "object %s", kind);
  Say(key, "%d %s", id, id < 0 ? strerror(error) : "");
}

/// The numbers of what is new.
static void ProbeObjects(void) {
  struct stat info;
  static const char* const paths[] = {"/sandbox/new", "/tmp/new", "/dev/shm/new"};
  SayIds("shm", shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600), errno);
  SayIds("sem", semget(IPC_PRIVATE, 1, IPC_CREAT | 0600), errno);
  SayIds("msg", msgget(IPC_PRIVATE, IPC_CREAT | 0600), errno);
  for (int key = 7000; key < 7004; ++key) {
    SayIds("old", shmget(key, 0, 0), errno);
    SayIds("old", semget(key, 0, 0), errno);
    SayIds("old", msgget(key, 0), errno);
  }
  SayIds("mq", (int)syscall(SYS_mq_open, "q", O_RDWR, 0600, NULL), errno);
  for (size_t i = 0; i < COUNT(paths); ++i) {
    const int file = open(paths[i], O_CREAT | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0 && fstat(file, &info) == 0) SayIds(paths[i], (int)info.st_ino, 0);
    if (file >= 0) close(file);
    unlink(paths[i]);
  }
  timer_t timer = NULL;
  syscall(SYS_timer_create, CLOCK_MONOTONIC, NULL, &timer);
  Say("object timer", "%ld", (long)timer);
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    SayIds("child", child, errno);
    waitpid(child, NULL, 0);
  }
  SayContent("/proc/loadavg");
}

/// Until the clock of files, which moves in ticks, has passed the present: what was there before this
/// program has an earlier time then.
static void AwaitTick(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  do {
    usleep(500);
    clock_gettime(CLOCK_REALTIME_COARSE, &began);
  } while (began.tv_sec < now.tv_sec || (began.tv_sec == now.tv_sec && began.tv_nsec <= now.tv_nsec));
}

int Probe(enum Depth depth) {
  AwaitTick();
  ProbeProcess();
  ProbeFiles();
  ProbeSockets();
  if (depth == kActive) ProbeObjects();
  return fflush(stdout) == 0 ? 0 : 1;
}
