// What may differ between the first guest of a new slot and a guest that had others before it, each
// with the reason. All else that the guest of testing/reuse writes down must be the same.
#pragma once

#include <string_view>

namespace polybox::jail {

enum class Compare {
  kNothing,        ///< Only that the line is there.
  kAllButNumbers,  ///< Runs of digits count as one.
  kLines,          ///< The same, and the lines of the file may have any order.
};

struct Difference {
  /// What the key of a line begins with; with a `$` at its end, all of it.
  std::string_view key;
  Compare compare;
  std::string_view reason;
  /// What SECURITY.md calls a figure of the whole machine, under "What guests that run at the same
  /// time can tell each other".
  std::string_view listed = "";
};

inline constexpr Difference kDifferences[] = {
    // Figures of the whole machine, which runtimes need. SECURITY.md lists them.
    {"read /proc/stat$", Compare::kNothing, "processor time of the machine; os.cpus() reads it",
     "`/proc/stat`"},
    {"read /proc/meminfo$", Compare::kNothing, "memory of the machine; runtimes size heaps by it",
     "`/proc/meminfo`"},
    {"read /proc/loadavg$", Compare::kNothing, "load of the machine; its last number is in `child`",
     "`/proc/loadavg`"},
    {"read /proc/uptime$", Compare::kNothing, "the time", "`/proc/uptime`"},
    {"read /proc/cpuinfo$", Compare::kAllButNumbers, "the present speed of each processor",
     "`/proc/cpuinfo`"},
    {"read /proc/cgroups$", Compare::kAllButNumbers, "cgroups of the machine", "`/proc/cgroups`"},
    {"read /proc/swaps$", Compare::kAllButNumbers, "swap of the machine that is in use",
     "`/proc/swaps`"},
    {"read /proc/key-users$", Compare::kAllButNumbers, "keys of the machine's users",
     "`/proc/key-users`"},
    {"stat /proc$", Compare::kAllButNumbers, "links: processes of the machine",
     "the link count of `/proc`"},
    {"read /proc/sys/kernel/random/uuid$", Compare::kNothing, "random by definition"},
    {"read /proc/sys/kernel/random/entropy_avail$", Compare::kNothing, "of the machine",
     "`entropy_avail`"},
    {"read /proc/sys/kernel/pty/nr$", Compare::kNothing, "terminals of the machine",
     "`/proc/sys/kernel/pty/nr`"},
    {"read /proc/sys/kernel/ns_last_pid$", Compare::kNothing, "the probe's own; it is in `child`"},
    {"read /proc/sys/kernel/sched_domain", Compare::kNothing, "the machine's scheduler",
     "`sched_domain`"},
    {"read /proc/driver/rtc$", Compare::kAllButNumbers, "the time"},
    {"read /proc/consoles$", Compare::kNothing, "of the machine", "`/proc/consoles`"},
    {"read /proc/crypto$", Compare::kAllButNumbers, "users of the machine's algorithms",
     "`/proc/crypto`"},
    {"read /proc/irq/", Compare::kNothing, "interrupts of the machine", "`/proc/irq`"},
    {"netlink 66 ", Compare::kNothing,
     "the machine's tables of neighbours: lookups of all guests, and random times",
     "`RTM_GETNEIGHTBL`"},
    // Directories that the masks over /proc keep, and links: SECURITY.md says that a guest sees
    // when
    // its PID namespace was made; KeptCell.* hold that no other time shows.
    {"times /proc$", Compare::kNothing, "when the PID namespace was made"},
    {"times /proc/sys$", Compare::kNothing, "when the PID namespace was made"},
    {"times /proc/sys/kernel$", Compare::kNothing, "when the PID namespace was made"},
    {"times /proc/sys/kernel/random$", Compare::kNothing, "when the PID namespace was made"},
    {"times /proc/self$", Compare::kNothing, "when the PID namespace was made"},
    {"times /proc/thread-self$", Compare::kNothing, "when the PID namespace was made"},
    // The probe's own doings.
    {"read /proc/self/stat$", Compare::kAllButNumbers, "times and addresses of the probe"},
    {"read /proc/self/statm$", Compare::kNothing, "memory of the probe"},
    {"read /proc/self/status$", Compare::kAllButNumbers, "memory and switches of the probe"},
    {"read /proc/self/maps$", Compare::kNothing, "random addresses"},
    {"read /proc/self/smaps_rollup$", Compare::kNothing, "random addresses"},
    {"read /proc/self/auxv$", Compare::kNothing, "random addresses"},
    {"read /proc/self/syscall$", Compare::kNothing, "random addresses"},
    {"read /proc/self/stack$", Compare::kNothing, "the probe's own calls"},
    {"read /proc/self/wchan$", Compare::kNothing, "the probe's own calls"},
    {"read /proc/self/io$", Compare::kNothing, "bytes that the probe has read"},
    {"read /proc/self/sched$", Compare::kNothing, "processor time of the probe"},
    {"read /proc/self/schedstat$", Compare::kNothing, "processor time of the probe"},
    {"read /proc/self/oom_score$", Compare::kNothing, "memory of the probe beside the machine's",
     "`/proc/self/oom_score`"},
    {"read /proc/self/numa_maps$", Compare::kNothing, "random addresses"},
    {"read /proc/self/timens_offsets$", Compare::kNothing, "constant"},
    {"read /proc/self/latency$", Compare::kNothing, "the probe's own"},
    {"read /proc/self/arch_status$", Compare::kNothing, "what the probe has computed"},
    {"option 2 1 6 11$", Compare::kNothing, "TCP_INFO has times since the socket was made"},
    {"option 10 1 6 11$", Compare::kNothing, "TCP_INFO again, of IPv6"},
    {"option 2 1 6 24$", Compare::kNothing, "TCP_TIMESTAMP, a clock"},
    {"option 10 1 6 24$", Compare::kNothing, "TCP_TIMESTAMP, a clock"},
    // The slot's own.
    {"read /proc/self/uid_map$", Compare::kAllButNumbers, "each slot has host uids of its own"},
    {"read /proc/self/gid_map$", Compare::kAllButNumbers, "each slot has host gids of its own"},
    {"read /proc/self/mounts$", Compare::kLines,
     "mounts that were used are replaced, and come last"},
    {"read /proc/self/mountstats$", Compare::kLines,
     "mounts that were used are replaced, and come last"},
    // Numbers that the kernel gives to objects of the whole machine, as they are made. SECURITY.md
    // says that what an earlier guest used was replaced, and has a new number.
    {"link /proc/self/ns/", Compare::kAllButNumbers, "namespaces that were used are replaced",
     "namespaces"},
    {"number ", Compare::kNothing, "inodes of /proc and of new file systems"},
    {"read /proc/self/mountinfo$", Compare::kLines,
     "mounts that were used are replaced, and come last", "mounts"},
    {"read /proc/self/fdinfo", Compare::kNothing,
     "inodes that the probe watches, mounts, and `eventfd-id`", "`eventfd-id`"},
    {"read /proc/self/autogroup$", Compare::kAllButNumbers, "a number for each new session",
     "`/proc/self/autogroup`"},
    {"link /proc/self/fd", Compare::kAllButNumbers, "inodes of the machine", "inodes of pipes"},
    {"object /sandbox/new$", Compare::kNothing, "the numbers of inodes go on; SECURITY.md says so"},
    {"object /tmp/new$", Compare::kNothing, "the numbers of inodes go on"},
    {"object /dev/shm/new$", Compare::kNothing, "the numbers of inodes go on"},
    {"read /proc/net/unix$", Compare::kAllButNumbers, "inodes of the jail's own sockets"},
    {"read /proc/net/netlink$", Compare::kAllButNumbers, "hashed addresses"},
};

}  // namespace polybox::jail
