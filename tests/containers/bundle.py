"""Bundles for crun: base.json with what a configuration changes."""
import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent

# What containerd gives to root by default.
OF_ROOT = ["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FSETID", "CAP_FOWNER", "CAP_MKNOD", "CAP_NET_RAW", "CAP_SETGID",
           "CAP_SETUID", "CAP_SETFCAP", "CAP_SETPCAP", "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT", "CAP_KILL",
           "CAP_AUDIT_WRITE"]
# What runtimes cover of /proc.
MASKED = ["/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
          "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi"]
READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]
EPERM, ENOSYS = 1, 38
# What the default profile of containerd allows only with CAP_SYS_ADMIN.
OF_ADMINS = ["bpf", "fsconfig", "fsmount", "fsopen", "fspick", "mount", "mount_setattr", "move_mount", "open_tree",
             "perf_event_open", "pivot_root", "quotactl", "setdomainname", "sethostname", "setns", "umount2", "unshare"]
NEW_NAMESPACES = [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000]


def runtime_default():
    """clone3 is ENOSYS, so that its callers come to clone, whose flags a filter can read."""
    def refuse(names, error, args=()):
        return {"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": error, "args": list(args)}

    flags = [{"index": 0, "value": flag, "valueTwo": flag, "op": "SCMP_CMP_MASKED_EQ"} for flag in NEW_NAMESPACES]
    return {"defaultAction": "SCMP_ACT_ALLOW",
            "syscalls": [refuse(["clone3"], ENOSYS), refuse(OF_ADMINS, EPERM),
                         *(refuse(["clone"], EPERM, [flag]) for flag in flags)]}


def of_podman():
    """Podman lets containers have namespaces of their own, but no host name."""
    refused = {"names": ["sethostname", "setdomainname"], "action": "SCMP_ACT_ERRNO", "errnoRet": EPERM}
    return {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [refused]}


PROFILES = {"runtime-default": runtime_default, "podman": of_podman}


def every_capability():
    """Those that this machine's root has itself: no one can give more."""
    bits = int(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("CapBnd:")), 16)
    header = pathlib.Path("/usr/include/linux/capability.h").read_text().splitlines()
    fields = [line.split() for line in header if line.startswith("#define CAP_")]
    return [field[1] for field in fields if len(field) == 3 and field[2].isdigit() and bits >> int(field[2]) & 1]


def capabilities(oci):
    chosen = oci.get("capabilities", OF_ROOT)
    chosen = every_capability() if chosen == "all" else [*chosen, *oci.get("more", [])]
    # A uid other than 0 has them in its bounding set alone.
    held = chosen if oci.get("uid", 0) == 0 else []
    return {"bounding": chosen, "effective": held, "permitted": held}


def mounts(oci, shown):
    for target, source in shown.items():
        yield {"destination": target, "type": "bind", "source": source, "options": ["rbind", "ro"]}
    if oci.get("tmp"):
        yield {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", "mode=1777"]}
    access = "rw" if oci.get("cgroup") else "ro"
    yield {"destination": "/sys", "type": "sysfs" if "users" not in oci else "none",
           "source": "sysfs" if "users" not in oci else "/sys",
           "options": ["nosuid", "noexec", "nodev", "ro", *(["rbind"] if "users" in oci else [])]}
    if "users" not in oci:
        yield {"destination": "/sys/fs/cgroup", "type": "cgroup", "source": "cgroup",
               "options": ["nosuid", "noexec", "nodev", "relatime", access]}


def write(directory, oci, command, shown, cgroup):
    """Into `directory`, which has the root already."""
    config = json.loads((HERE / "base.json").read_text())
    process, linux = config["process"], config["linux"]
    process["args"] = command
    uid = oci.get("uid", 0)
    process["user"] = {"uid": uid, "gid": oci.get("gid", uid)}
    process["capabilities"] = capabilities(oci)
    process["noNewPrivileges"] = not oci.get("privileges", True)
    config["root"]["readonly"] = oci.get("read_only", False)
    config["mounts"] += mounts(oci, shown)
    linux["cgroupsPath"] = cgroup
    linux["resources"] = {"devices": [{"allow": True, "access": "rwm"}]}
    if oci.get("seccomp", "unconfined") != "unconfined":
        linux["seccomp"] = PROFILES[oci["seccomp"]]()
    if oci.get("masked", True):
        linux["maskedPaths"], linux["readonlyPaths"] = MASKED, READ_ONLY
    if "users" in oci:
        mapping = [{"containerID": inside, "hostID": outside, "size": count} for inside, outside, count in oci["users"]]
        linux["namespaces"].append({"type": "user"})
        linux["uidMappings"] = linux["gidMappings"] = mapping
    (directory / "config.json").write_text(json.dumps(config))
