// Random system calls. Half of them are calls with arguments that mean something to each other (a
// bind to a port, a mapping of a file), half are any call that the filter allows with random
// arguments.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "guest.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// Where random pointers point to, apart from this program's own memory.
static char arena[1 << 16] __attribute__((aligned(4096)));
static uint64_t state;

static uint64_t Random(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state * 0x2545f4914f6cdd1dULL;
}
long Below(long limit) { return (long)((Random() >> 11) % (uint64_t)limit); }
static int Fd(void) { return (int)Below(4) == 0 ? (int)Below(40) : 3 + (int)Below(24); }
static char* Place(void) { return arena + Below(sizeof arena - 512); }

static const char* const kDirectories[] = {".", "/tmp", "/dev/shm", "/sandbox", "/tmp/d0", "d1"};
static const char* const kShown[] = {"/",          "/usr/bin/true", "/etc/passwd", "/dev/null",
                                     "/proc",      "/proc/self",    "/proc/net",   "/dev",
                                     "/etc/hosts", "/proc/locks",   "/usr",        "/dev/urandom",
                                     "/.empty",    "/.kept",        "/proc/sys/fs", "/guest"};

/// A path of few, so that calls meet.
static const char* Path(void) {
  static char names[4][64];
  static int next;
  if (Below(5) == 0) return kShown[Below(COUNT(kShown))];
  char* name = names[next++ % 4];
  snprintf(name, sizeof names[0], "%s/%c%ld", kDirectories[Below(COUNT(kDirectories))],
           "fd"[Below(2)], Below(4));
  return name;
}

static struct timespec Moment(void) {
  return (struct timespec){Below(3) == 0 ? 1000000000 + Below(1000000) : Below(3), Below(1000000)};
}

static void OpenFile(void) {
  static const int flags[] = {O_CREAT, O_TMPFILE, O_DIRECTORY, O_EXCL | O_CREAT, O_TRUNC, O_PATH,
                              O_APPEND, O_NOFOLLOW, O_DIRECT};
  syscall(SYS_openat, AT_FDCWD, Path(), flags[Below(COUNT(flags))] | (int)Below(3), 01777 & Below(4096));
}
static void ChangeFile(void) {
  const struct timespec times[2] = {Moment(), Moment()};
  switch (Below(12)) {
    case 0: mkdir(Path(), 0700); break;
    case 1: rmdir(Path()); break;
    case 2: unlink(Path()); break;
    case 3: (void)!link(Path(), Path()); break;
    case 4: (void)!symlink(Path(), Path()); break;
    case 5: rename(Path(), Path()); break;
    case 6: chmod(Path(), (mode_t)Below(4096)); break;
    case 7: (void)!chown(Path(), 65534, 65534); break;
    case 8: utimensat(AT_FDCWD, Path(), times, (int)Below(2) * AT_SYMLINK_NOFOLLOW); break;
    case 9: mknod(Path(), S_IFIFO | 0600, 0); break;
    case 10: (void)!truncate(Path(), Below(1 << 20)); break;
    default: syscall(SYS_renameat2, AT_FDCWD, Path(), AT_FDCWD, Path(), Below(4)); break;
  }
}
static void Attribute(void) {
  static const char* const names[] = {"user.a", "user.b", "trusted.a", "security.capability",
                                      "system.posix_acl_access"};
  const char* name = names[Below(COUNT(names))];
  if (Below(3) != 0) setxattr(Path(), name, arena, (size_t)Below(64), 0);
  if (Below(3) == 0) removexattr(Path(), name);
  fsetxattr(Fd(), name, arena, (size_t)Below(64), 0);
}
static void UseFile(void) {
  char text[256];
  switch (Below(9)) {
    case 0: (void)!write(Fd(), arena, (size_t)Below(5000)); break;
    case 1: (void)!read(Fd(), text, sizeof text); break;
    case 2: fallocate(Fd(), (int)Below(4), Below(8192), Below(8192)); break;
    case 3: (void)!ftruncate(Fd(), Below(1 << 16)); break;
    case 4: syscall(SYS_getdents64, Fd(), text, sizeof text); break;
    case 5: lseek(Fd(), Below(100000), (int)Below(5)); break;
    case 6: syscall(SYS_copy_file_range, Fd(), NULL, Fd(), NULL, Below(9000), 0); break;
    case 7: (void)!readlink(Path(), text, sizeof text); break;
    default: syscall(SYS_sendfile, Fd(), Fd(), NULL, Below(9000)); break;
  }
}
static void Lock(void) {
  struct flock lock = {.l_type = (short)Below(3), .l_start = Below(100), .l_len = Below(100)};
  switch (Below(5)) {
    case 0: fcntl(Fd(), F_SETLK, &lock); break;
    case 1: fcntl(Fd(), F_OFD_SETLK, &lock); break;
    case 2: syscall(SYS_flock, Fd(), LOCK_NB | (int)(1 << Below(4))); break;
    case 3: fcntl(Fd(), F_SETLEASE, Below(3)); break;
    default: fcntl(Fd(), F_NOTIFY, Below(64)); break;
  }
}
static void Descriptor(void) {
  int ends[2];
  switch (Below(8)) {
    case 0: (void)!pipe2(ends, Below(2) == 0 ? O_NONBLOCK : 0); break;
    case 1: eventfd((unsigned)Below(9), EFD_NONBLOCK); break;
    case 2: timerfd_create((int)Below(10), TFD_NONBLOCK); break;
    case 3: inotify_add_watch(inotify_init1(IN_NONBLOCK), Path(), (uint32_t)Random()); break;
    case 4: syscall(SYS_memfd_create, "m", Below(8)); break;
    case 5: dup2(Fd(), Fd()); break;
    case 6: fcntl(Fd(), F_SETPIPE_SZ, Below(1 << 20)); break;
    default: close(Fd()); break;
  }
}

static socklen_t Address(struct sockaddr_storage* room, int family) {
  memset(room, 0, sizeof *room);
  room->ss_family = (sa_family_t)family;
  if (family == AF_UNIX) {
    struct sockaddr_un* name = (struct sockaddr_un*)room;
    const int length = snprintf(name->sun_path + 1, 32, "a%ld", Below(16));
    if (Below(3) == 0) strcpy(name->sun_path, Path());
    if (Below(4) == 0) return sizeof(sa_family_t);
    return (socklen_t)(sizeof(sa_family_t) + 1 + (size_t)length);
  }
  if (family == AF_NETLINK) {
    struct sockaddr_nl* name = (struct sockaddr_nl*)room;
    name->nl_groups = Below(3) == 0 ? (uint32_t)Random() : 0;
    name->nl_pid = (uint32_t)Below(3);
    return sizeof *name;
  }
  struct sockaddr_in6* six = (struct sockaddr_in6*)room;
  struct sockaddr_in* four = (struct sockaddr_in*)room;
  static const uint32_t kFour[] = {0, 0x7f000001, 0xe0000001, 0xffffffff, 0x01020304};
  static const char kSix[][16] = {{0}, {[15] = 1}, {[0] = -1, [1] = 2, [15] = 1}, {[0] = 32, [15] = 9}};
  four->sin_port = htons((uint16_t)(Below(4) == 0 ? 0 : 40000 + Below(16)));
  if (family == AF_INET) {
    four->sin_addr.s_addr = htonl(kFour[Below(COUNT(kFour))]);
    return sizeof *four;
  }
  memcpy(&six->sin6_addr, kSix[Below(COUNT(kSix))], 16);
  six->sin6_scope_id = (uint32_t)Below(2);
  six->sin6_flowinfo = Below(4) == 0 ? htonl((uint32_t)Below(1 << 20)) : 0;
  return sizeof *six;
}
static int Family(void) {
  static const int families[] = {AF_UNIX, AF_INET, AF_INET6, AF_INET6, AF_NETLINK};
  return families[Below(COUNT(families))];
}
static void MakeSocket(void) {
  static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_DGRAM, SOCK_SEQPACKET, SOCK_RAW};
  const int type = types[Below(COUNT(types))] | SOCK_NONBLOCK;
  static const int protocols[] = {0, 0, 0, 1, 6, 17, 58, 136};
  int pair[2];
  if (Below(5) == 0) {
    socketpair(AF_UNIX, type, 0, pair);
  } else {
    socket(Family(), type, protocols[Below(COUNT(protocols))]);
  }
}
static void UseSocket(void) {
  struct sockaddr_storage address;
  const socklen_t length = Address(&address, Family());
  struct sockaddr* name = (struct sockaddr*)&address;
  switch (Below(8)) {
    case 0: case 1: bind(Fd(), name, length); break;
    case 2: connect(Fd(), name, length); break;
    case 3: listen(Fd(), (int)Below(20)); break;
    case 4: case 5: sendto(Fd(), arena, (size_t)Below(3000), MSG_DONTWAIT, name, length); break;
    case 6: recvfrom(Fd(), arena, (size_t)Below(3000), MSG_DONTWAIT, NULL, NULL); break;
    default: accept4(Fd(), NULL, NULL, SOCK_NONBLOCK); break;
  }
}
/// A descriptor over a socket, often one that stays there.
static void SendDescriptor(void) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0) return;
  union { struct cmsghdr head; char room[CMSG_SPACE(sizeof(int))]; } control = {0};
  struct iovec byte = {arena, 1};
  struct msghdr message = {.msg_iov = &byte, .msg_iovlen = 1, .msg_control = &control,
                           .msg_controllen = sizeof control};
  control.head.cmsg_len = CMSG_LEN(sizeof(int));
  control.head.cmsg_level = SOL_SOCKET;
  control.head.cmsg_type = SCM_RIGHTS;
  const int sent = Below(2) == 0 ? pair[1] : Fd();
  memcpy(CMSG_DATA(&control.head), &sent, sizeof sent);
  sendmsg(pair[0], &message, MSG_DONTWAIT);
  close(pair[1]);
}
static void SetOption(void) {
  static const int levels[] = {SOL_SOCKET, IPPROTO_IP, IPPROTO_IPV6, IPPROTO_TCP, IPPROTO_UDP, 270, 58, 255};
  for (int i = 0; i < 6; ++i) {
    const int level = levels[Below(COUNT(levels))];
    const int option = (int)Below(80);
    int value[36] = {(int)Below(3)};
    // A group of multicast and the interface lo.
    if (Below(2) == 0) {
      value[0] = level == IPPROTO_IP ? 0x010000e0 : 0x02ff;
      value[1] = level == IPPROTO_IP ? 0 : (int)Random();
      value[4] = 1;
      value[2] = level == IPPROTO_IP ? 1 : 0;
    }
    setsockopt(Fd(), level, option, value, (socklen_t)(Below(3) == 0 ? Below(144) : 20));
  }
}
static void AskSocket(void) {
  static const unsigned long requests[] = {0x8910, 0x8912, 0x8913, 0x8915, 0x8927, 0x8914, 0x8931, 0x8953,
                                           0x8901, 0x8906, 0x5421, 0x541b, 0x89e0, 0x8946, 0x890b, 0x89f0};
  memcpy(arena, "lo\0", 3);
  ioctl(Fd(), requests[Below(COUNT(requests))], arena);
}
static void AskNetlink(void) {
  struct {
    struct nlmsghdr head;
    char payload[64];
  } message = {.head = {.nlmsg_len = (uint32_t)(16 + Below(64)),
                        .nlmsg_type = (uint16_t)(16 + Below(110)),
                        .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | (Below(2) == 0 ? NLM_F_DUMP : NLM_F_ACK)),
                        .nlmsg_seq = 1}};
  for (size_t i = 0; i < sizeof message.payload; ++i) {
    message.payload[i] = Below(4) == 0 ? (char)Below(16) : 0;
  }
  if (Below(2) == 0) message.payload[0] = Below(2) == 0 ? AF_INET : AF_INET6;
  const int fd = Below(3) == 0 ? Fd() : socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, 0);
  send(fd, &message, message.head.nlmsg_len, MSG_DONTWAIT);
  if (Below(2) == 0) recv(fd, arena, 4096, MSG_DONTWAIT);
}

static void Object(void) {
  const key_t key = Below(3) == 0 ? IPC_PRIVATE : (key_t)(7000 + Below(4));
  struct { long type; char text[32]; } message = {1 + Below(3), {0}};
  struct sembuf operation = {0, (short)(Below(5) - 2), IPC_NOWAIT | SEM_UNDO};
  switch (Below(8)) {
    case 0: shmat(shmget(key, (size_t)4096 << Below(3), IPC_CREAT | 0600), NULL, 0); break;
    case 1: msgsnd(msgget(key, IPC_CREAT | 0600), &message, (size_t)Below(32), IPC_NOWAIT); break;
    case 2: semop(semget(key, 3, IPC_CREAT | 0600), &operation, 1); break;
    case 3: shmctl(shmget(key, 0, 0), IPC_RMID, NULL); break;
    case 4: msgctl(msgget(key, 0), IPC_RMID, NULL); break;
    case 5: semctl(semget(key, 0, 0), 0, IPC_RMID); break;
    case 6: syscall(SYS_mq_open, "q", O_CREAT | O_RDWR, 0600, NULL); break;
    default: msgrcv(msgget(key, 0), &message, sizeof message.text, 0, IPC_NOWAIT); break;
  }
}
static void Timer(void) {
  const struct itimerval interval = {{0, 900}, {0, 900}};
  timer_t timer;
  struct sigevent event = {.sigev_notify = (int)Below(3), .sigev_signo = SIGRTMIN + (int)Below(3)};
  const struct itimerspec when = {Moment(), Moment()};
  if (timer_create((clockid_t)Below(12), &event, &timer) == 0) timer_settime(timer, 0, &when, NULL);
  if (Below(3) == 0) setitimer((int)Below(2) + 1, &interval, NULL);
}
static void Map(void) {
  static const int flags[] = {MAP_PRIVATE | MAP_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS, MAP_SHARED, MAP_PRIVATE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED | MAP_POPULATE};
  const size_t size = (size_t)4096 << Below(6);
  char* map = mmap(NULL, size, (int)Below(8), flags[Below(COUNT(flags))], Fd(), 0);
  if (map == MAP_FAILED) return;
  madvise(map, size, (int)Below(26));
  mlock2(map, size, (unsigned)Below(2));
  if (Below(2) == 0) munmap(map, size);
}
static void Signal(void) {
  const int number = 32 + (int)Below(30);
  signal(number, SIG_IGN);
  kill(getpid(), number);
  syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
  if (Below(8) == 0) raise(SIGSTOP + 5);
}
static void Process(void) {
  struct rlimit limit = {(rlim_t)Below(100), (rlim_t)Below(10000)};
  struct sched_param parameters = {(int)Below(3)};
  switch (Below(11)) {
    case 0: setrlimit((int)Below(16), &limit); break;
    case 1: setpriority((int)Below(3), 0, (int)Below(20)); break;
    case 2: syscall(SYS_ioprio_set, 1 + Below(3), 0, (Below(4) << 13) | Below(8)); break;
    case 3: sched_setscheduler(0, (int)Below(7), &parameters); break;
    case 4: umask((mode_t)Below(0777)); break;
    case 5: (void)!chdir(Path()); break;
    case 6: prctl((int)Below(70), Below(9), Below(9), 0, 0); break;
    case 7: setsid(); setpgid(0, 0); break;
    case 8: prctl(PR_SET_NAME, "stirred", 0, 0, 0); break;
    case 9: syscall(SYS_membarrier, 1 << Below(9), 0, 0); break;
    default: prctl(PR_SET_TIMERSLACK, Below(1000000), 0, 0, 0); break;
  }
}
static void WriteProc(void) {
  static const char* const files[] = {"/proc/self/oom_score_adj", "/proc/self/comm", "/proc/self/coredump_filter",
                                      "/proc/self/timerslack_ns", "/proc/self/clear_refs", "/proc/self/autogroup",
                                      "/proc/sys/kernel/ns_last_pid", "/proc/sys/net/ipv6/conf/all/disable_ipv6",
                                      "/proc/sys/net/ipv4/ping_group_range", "/proc/self/setgroups",
                                      "/proc/sys/kernel/shmmax", "/proc/sys/fs/mqueue/queues_max"};
  const int file = open(files[Below(COUNT(files))], O_WRONLY | O_CLOEXEC);
  char text[16];
  const int size = snprintf(text, sizeof text, "%ld\n", Below(1000));
  if (file >= 0) (void)!write(file, text, (size_t)size);
}

static void (*const kSteps[])(void) = {OpenFile, OpenFile, ChangeFile, ChangeFile, Attribute, UseFile, Lock,
                                       Descriptor, MakeSocket, MakeSocket, UseSocket, UseSocket, SendDescriptor,
                                       SetOption, SetOption, AskSocket, AskNetlink, AskNetlink, Object, Timer, Map,
                                       Signal, Process, WriteProc};

static int numbers_of_calls[512];
static size_t number_count;

static long Argument(void) {
  switch (Below(8)) {
    case 0: return 0;
    case 1: return Fd();
    case 2: return (long)Path();
    case 3: return (long)Place();
    case 4: return Below(64);
    case 5: return 1L << Below(32);
    case 6: return AT_FDCWD;
    default: return Below(4096);
  }
}
void AnyArguments(int number) {
  syscall(number, Argument(), Argument(), Argument(), Argument(), Argument(), Argument());
}
static void AnyCall(int may_fork) {
  if (number_count == 0) return;
  const int number = numbers_of_calls[Below((long)number_count)];
  if (!MayEndTheCaller(number)) {
    AnyArguments(number);
  } else if (may_fork) {
    MakeLastCallInChild(number);
  }
}

static void Interrupt(int number) { (void)number; }

/// Now and then a process or a thread goes on with the rest, beside or after this one.
static void Multiply(void) {
  switch (Below(4)) {
    case 0: fork(); break;
    case 1: if (fork() == 0) _exit(0); break;
    case 2: if (fork() == 0) { setsid(); usleep(3000); _exit(0); } break;
    default: syscall(SYS_clone, CLONE_FILES | CLONE_FS | SIGCHLD, NULL, NULL, NULL, NULL); break;
  }
}

int Stir(uint64_t seed, long steps, char* numbers) {
  state = seed * 0x9e3779b97f4a7c15ULL + 1;
  for (char* word = strtok(numbers, ","); word != NULL && number_count < COUNT(numbers_of_calls);
       word = strtok(NULL, ",")) {
    numbers_of_calls[number_count++] = atoi(word);
  }
  // What blocks is interrupted.
  const struct sigaction action = {.sa_handler = Interrupt};
  const struct itimerval interval = {{0, 2000}, {0, 2000}};
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &interval, NULL);
  for (int i = 1; i < 32; ++i) {
    if (i != SIGALRM) signal(i, Below(2) == 0 ? SIG_IGN : SIG_DFL);
  }
  const int many = Below(4) == 0;
  for (long i = 0; i < steps; ++i) {
    if (many && Below(12) == 0) Multiply();
    if (Below(2) == 0) {
      kSteps[Below(COUNT(kSteps))]();
    } else {
      AnyCall(many);
    }
  }
  // This is the only process here unless there are many.
  if (Below(2) == 0) MakeLastCall(-1);
  _exit((int)Below(4) == 0 ? 3 : 0);
}
