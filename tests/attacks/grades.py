"""The ways to start an attack: in an isolation grade, cold or warm, or as a command of an agent."""
import dataclasses
import sys

import agents
import tables

WARM = {"python", "node", "ruby"}
# Grades that are weak must be asked for.
WEAK = ("landlock", "none")


def can_be_child(language, attack):
    """Node.js cannot turn into another program: what it starts has it as its parent, which is no supervisor."""
    return language != "node" or "PPID" not in attack["code"]


@dataclasses.dataclass
class Grade:
    """A way to start polybox, and the isolation that must come out."""
    name: str
    command: list
    uid: int
    # Whether the interpreter has started before it gets the attack.
    warm: bool = False
    # The language of a warm program that starts the attack, which is one in bash.
    through: str = ""
    # The attack is a command in the jail of a workspace (agents.py).
    workspace: bool = False

    def __str__(self):
        if self.workspace:
            return f"{self.name}, workspace"
        return f"{self.name}, warm {self.through}".rstrip() if self.warm else self.name

    def start(self):
        return "workspace" if self.workspace else "warm" if self.warm else "cold"

    def isolation(self):
        return [f"--isolation={self.name}", f"--min-isolation={self.name}"] if self.name in WEAK else []

    def run(self):
        return [*self.command, "run", *self.isolation()]

    def mcp(self):
        """What offers a workspace to agents, without the workspace."""
        return [*self.command, "mcp", *(self.isolation() or [f"--min-isolation={self.name}"])]

    def shell(self):
        """What {run} stands for."""
        if not self.workspace:
            return " ".join(self.run())
        # It is killed with whoever started it, as `polybox run` is when it is killed itself.
        start = [*self.mcp()[:len(self.command) - 1], "setpriv", "--pdeathsig=KILL", *self.mcp()[len(self.command) - 1:]]
        return f"{sys.executable} {agents.__file__} {agents.word_for({'command': start, 'owner': self.owner()})}"

    def owner(self):
        """The user to whom the workspace belongs."""
        return agents.OWNER if self.uid == 0 else self.uid

    def belongs_to(self, part):
        """Warm starts differ little between the two grades with namespaces; only one of them is part of make test. The same
        holds for workspaces."""
        if part == "test":
            return self.name == "full" or not (self.warm or self.workspace)
        return part == "all" or self.name != "full"

    def takes(self, attack):
        """In none only what process control stops is tried: the rest would be done to this machine."""
        if self.workspace and "no_workspace" in attack:
            return False
        if self.through:
            return attack["language"] == "bash" and tables.SERVED.isdisjoint(attack) and can_be_child(self.through, attack)
        if self.warm and attack["language"] not in WARM:
            return False
        if not tables.SERVED.isdisjoint(attack) and self.name not in ("full", "rootless"):
            return False
        if "base_dir" in attack and self.warm:
            return False
        # They cannot give hosts to guests, and say so: grades_test.py.
        if self.name in WEAK and "guest_egress" in attack:
            return False
        return self.name != "none" or "none" in attack

    def excuses(self, attack):
        """Whether it is stated that this attack may succeed here."""
        stated = {"rootless": {"rootless"}, "landlock": {"rootless", "landlock"}}.get(self.name, set())
        return "open" in attack or not stated.isdisjoint(attack)


def starts_of(grade):
    """A grade with namespaces in all ways to start an attack there."""
    warm = dataclasses.replace(grade, warm=True)
    return [grade, warm, *(dataclasses.replace(warm, through=language) for language in ("node", "ruby")),
            dataclasses.replace(grade, workspace=True)]


def cold_starts_of(grade):
    return [grade, dataclasses.replace(grade, workspace=True)]
