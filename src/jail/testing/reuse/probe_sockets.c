// Prints what sockets tell a guest about its network namespace.
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "guest.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void SayOptions(int family, int type) {
  static const int levels[] = {SOL_SOCKET, IPPROTO_IP, IPPROTO_IPV6, IPPROTO_TCP, IPPROTO_UDP, 270};
  const int fd = socket(family, type, 0);
  char key[96];
  for (size_t level = 0; fd >= 0 && level < COUNT(levels); ++level) {
    for (int option = 0; option < 110; ++option) {
      char value[256];
      socklen_t size = sizeof value;
      if (getsockopt(fd, levels[level], option, value, &size) != 0) continue;
      snprintf(key, sizeof key, "option %d %d %d %d", family, type, levels[level], option);
      SayBytes(key, value, size);
    }
  }
  if (fd >= 0) close(fd);
}

/// Those that the sequences use, and a few others.
static void SayPorts(void) {
  char key[64];
  static const int ports[] = {80, 1024, 8080, 50000};
  for (int kind = 0; kind < 4; ++kind) {
    for (int i = 0; i < 16 + (int)COUNT(ports); ++i) {
      const int port = i < 16 ? 40000 + i : ports[i - 16];
      const int family = kind < 2 ? AF_INET : AF_INET6;
      struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
      struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
      const int fd = socket(family, kind % 2 == 0 ? SOCK_STREAM : SOCK_DGRAM, 0);
      const int bound = family == AF_INET ? bind(fd, (struct sockaddr*)&four, sizeof four)
                                          : bind(fd, (struct sockaddr*)&six, sizeof six);
      snprintf(key, sizeof key, "port %d %d", kind, port);
      Say(key, "%s", bound == 0 ? "free" : strerror(errno));
      close(fd);
    }
  }
  for (int i = 0; i < 16; ++i) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    const int length = snprintf(name.sun_path + 1, 32, "a%d", i);
    const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    const int bound = bind(fd, (struct sockaddr*)&name, (socklen_t)(sizeof(sa_family_t) + 1 + (size_t)length));
    snprintf(key, sizeof key, "name a%d", i);
    Say(key, "%s", bound == 0 ? "free" : strerror(errno));
    close(fd);
  }
}

/// The attribute `type` of those from `first` on; NULL when there is none.
static struct rtattr* Attribute(struct rtattr* first, int size, int type) {
  for (struct rtattr* at = first; at != NULL && RTA_OK(at, size); at = RTA_NEXT(at, size)) {
    if ((at->rta_type & NLA_TYPE_MASK) == type) return at;
  }
  return NULL;
}

static struct rtattr* Inner(struct rtattr* outer, int type) {
  return outer == NULL ? NULL : Attribute(RTA_DATA(outer), (int)RTA_PAYLOAD(outer), type);
}

/// In what the kernel says of an interface: when it made the namespace's IPv6, and a random time.
static void ForgetTimesOfIpv6(struct nlmsghdr* head) {
  if (head->nlmsg_type != RTM_NEWLINK) return;
  struct rtattr* first = IFLA_RTA(NLMSG_DATA(head));
  const int size = (int)IFLA_PAYLOAD(head);
  struct rtattr* const outer[] = {Attribute(first, size, IFLA_PROTINFO),
                                  Inner(Attribute(first, size, IFLA_AF_SPEC), AF_INET6)};
  for (size_t i = 0; i < COUNT(outer); ++i) {
    struct rtattr* times = Inner(outer[i], IFLA_INET6_CACHEINFO);
    if (times != NULL) memset((char*)RTA_DATA(times) + 4, 0, 8);
  }
}

/// In what the kernel says of a group or an address: when the namespace was made.
static void ForgetTimesOfAddress(struct nlmsghdr* head) {
  const int type = head->nlmsg_type;
  if (type != RTM_NEWADDR && type != RTM_GETMULTICAST && type != RTM_GETANYCAST) return;
  struct rtattr* times = Attribute(IFA_RTA(NLMSG_DATA(head)), (int)IFA_PAYLOAD(head), IFA_CACHEINFO);
  if (times != NULL) memset((char*)RTA_DATA(times) + 8, 0, 8);
}

/// Answers have the number of the socket that asked; the number is this program's own.
static void SayAnswers(const char* key, int fd) {
  static char answer[1 << 15];
  for (int round = 0; round < 50; ++round) {
    const ssize_t size = recv(fd, answer, sizeof answer, MSG_DONTWAIT);
    if (size <= 0) return;
    int last = 0;
    for (struct nlmsghdr* head = (struct nlmsghdr*)answer; NLMSG_OK(head, (unsigned)(size - ((char*)head - answer)));
         head = (struct nlmsghdr*)((char*)head + NLMSG_ALIGN(head->nlmsg_len))) {
      head->nlmsg_pid = 0;
      ForgetTimesOfIpv6(head);
      ForgetTimesOfAddress(head);
      last = head->nlmsg_type == NLMSG_DONE || head->nlmsg_type == NLMSG_ERROR;
    }
    SayBytes(key, answer, (size_t)size);
    if (last) return;
  }
}

static void SayNetlink(void) {
  static const int kinds[] = {RTM_GETLINK, RTM_GETADDR, RTM_GETROUTE, RTM_GETNEIGH, RTM_GETRULE, RTM_GETQDISC,
                              RTM_GETNEIGHTBL, RTM_GETMULTICAST, RTM_GETANYCAST, RTM_GETNETCONF, RTM_GETSTATS,
                              RTM_GETNSID, RTM_GETADDRLABEL, RTM_GETNEXTHOP};
  static const int families[] = {AF_UNSPEC, AF_INET, AF_INET6};
  const int fd = socket(AF_NETLINK, SOCK_RAW, 0);
  char key[64];
  for (size_t kind = 0; fd >= 0 && kind < COUNT(kinds); ++kind) {
    for (size_t family = 0; family < COUNT(families); ++family) {
      struct {
        struct nlmsghdr head;
        char payload[16];
      } message = {{sizeof message, (uint16_t)kinds[kind], NLM_F_REQUEST | NLM_F_DUMP, 1, 0}, {0}};
      message.payload[0] = (char)families[family];
      send(fd, &message, sizeof message, 0);
      snprintf(key, sizeof key, "netlink %d %d", kinds[kind], families[family]);
      SayAnswers(key, fd);
    }
  }
  if (fd >= 0) close(fd);
}

void ProbeSockets(void) {
  static const int families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
  static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET, SOCK_RAW};
  for (size_t family = 0; family < COUNT(families); ++family) {
    for (size_t type = 0; type < COUNT(types); ++type) SayOptions(families[family], types[type]);
  }
  SayPorts();
  SayNetlink();
}
