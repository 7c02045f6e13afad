"""Programs list the network interfaces of their jail, in every language that has a function for it."""
import json

from serving import Server
from warm_test import run_warm

PROGRAMS = {
    "python": ("p.py", "import socket\nprint([name for _, name in socket.if_nameindex()])\n", "['lo']"),
    "node": ("p.js", "console.log(typeof require('os').networkInterfaces());\n", "object"),
    "c": ("p.c", """
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
int main(void) {
  struct ifaddrs* first;
  struct if_nameindex* names = if_nameindex();
  if (getifaddrs(&first) != 0 || names == NULL) { perror("no interfaces"); return 1; }
  puts(names[0].if_name);
  return 0;
}
""", "lo"),
    "go": ("p.go", """
package main

import (
	"fmt"
	"net"
)

func main() {
	all, err := net.Interfaces()
	if err != nil {
		panic(err)
	}
	fmt.Println(all[0].Name)
}
""", "lo"),
    # Java counts an interface only when it has an address, and lo of a jail has none: the same as in a bare namespace.
    "java": ("Main.java", """
import java.net.NetworkInterface;
import java.net.SocketException;

public class Main {
  public static void main(String[] args) {
    try {
      System.out.println(NetworkInterface.networkInterfaces().count());
    } catch (SocketException error) {
      System.out.println(error.getMessage());
    }
  }
}
""", "No network interfaces configured"),
    "ruby": ("p.rb", "require 'socket'\nputs Socket.getifaddrs[0].name\n", "lo"),
}


# The answers in the grade landlock, where guests share the host's network and can make no socket.
REFUSED = {
    "python": "97 Address family not supported by protocol",
    "node": "ERR_SYSTEM_ERROR 97",
    "c": "no interfaces: Address family not supported by protocol",
    "ruby": "Address family not supported by protocol - getifaddrs",
}
ASKING = {
    "python": ("p.py", """
import socket
try:
    print(socket.if_nameindex())
except OSError as error:
    print(error.errno, error.strerror)
"""),
    "node": ("p.js", """
try {
  console.log(require('os').networkInterfaces());
} catch (error) {
  console.log(error.code, error.errno);
}
"""),
    "c": PROGRAMS["c"][:2],
    "ruby": ("p.rb", """
require 'socket'
begin
  puts Socket.getifaddrs[0].name
rescue SystemCallError => error
  puts error.message
end
"""),
}


def listed(box, *arguments):
    available = box.languages()
    tried = 0
    for language, (name, code, expected) in PROGRAMS.items():
        if not available[language]["available"]:
            continue
        box.write(name, code)
        done = box.run("run", "--json", "--language", language, *arguments, box.path / name)
        run = json.loads(done.stdout)["run"]
        assert run["stdout"].strip() == expected, (language, run)
        tried += 1
    assert tried >= 2, "no language to try"


def test_programs_list_the_interfaces_of_their_jail(box):
    listed(box)


def test_programs_of_warm_interpreters_list_the_interfaces_of_their_jail_too(box):
    # `polybox run` starts every interpreter cold; only a server has warm ones.
    with Server(["--warm=on"]) as server:
        tried = 0
        for language in ("python", "node", "ruby"):
            name, code, expected = PROGRAMS[language]
            if language not in server.health["languages"]:
                continue
            result = run_warm(server, {"language": language, "entry": name}, {"code": code})
            assert result["stdout"].strip() == expected, (language, result)
            tried += 1
        assert tried >= 1, "no language to try"


def test_programs_list_the_interfaces_of_their_jail_in_the_grade_rootless_too(box):
    listed(box, "--isolation=rootless")


def test_programs_are_told_in_the_grade_landlock_that_there_are_no_sockets(box):
    available = box.languages()
    tried = 0
    for language, (name, code) in ASKING.items():
        if not available[language]["available"]:
            continue
        box.write(name, code)
        done = box.run("run", "--json", "--isolation=landlock", "--min-isolation=landlock", "--language", language,
                       box.path / name)
        run = json.loads(done.stdout)["run"]
        assert (run["stdout"] + run["stderr"]).strip() == REFUSED[language], (language, run)
        tried += 1
    assert tried >= 2, "no language to try"


def test_programs_list_interfaces_behind_the_egress_proxy_too(box):
    box.write("p.py", "import socket\nprint([name for _, name in socket.if_nameindex()])\n")
    done = box.run("run", "--json", "--guest-egress", "example.com", box.path / "p.py")
    assert json.loads(done.stdout)["run"]["stdout"] == "['lo']\n", done.stdout
