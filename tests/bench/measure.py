"""Measures programs with contestants, in interleaved rounds: a noisy moment of the machine hits all of them."""
import json
import pathlib
import subprocess
import sys

from figures import Latency, Rate
from tasks import Unfit

WORKER = pathlib.Path(__file__).resolve().parent / "worker.py"
CONNECTIONS = (1, 2, 8)
GAP = 0.06


class Effort:
    """How long to measure. A round of gaps is `samples` runs of each contestant, one of throughput lasts `seconds`, after as
    long a time that does not count: what a server gets ready for a load (slots, interpreters) is there by then."""

    def __init__(self, rounds, samples, seconds):
        self.rounds, self.samples, self.seconds = rounds, samples, seconds


WHOLE = Effort(rounds=5, samples=11, seconds=0.6)
QUICK = Effort(rounds=3, samples=5, seconds=0.4)


class Workers:
    """Clients that wait for orders, each a process; as many as there are connections at most."""

    def __init__(self):
        self.all = [subprocess.Popen([sys.executable, "-IS", str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     env={"PATH": "/usr/bin:/bin"}, text=True) for _ in range(max(CONNECTIONS))]

    def order(self, count, **order):
        """Gives the order to `count` of them at once; their answers."""
        for worker in self.all[:count]:
            worker.stdin.write(json.dumps(order) + "\n")
            worker.stdin.flush()
        answers = [json.loads(worker.stdout.readline()) for worker in self.all[:count]]
        for answer in answers:
            if "failure" in answer:
                raise Unfit(answer["failure"])
        return answers

    def stop(self):
        for worker in self.all:
            worker.stdin.close()
            worker.wait()


class Measured:
    """The figures of one program with one contestant."""

    def __init__(self):
        self.gap, self.zero = Latency(), Latency()
        self.rates = {count: Rate() for count in CONNECTIONS}

    def latency(self, milliseconds):
        return {0: self.zero, round(GAP * 1000): self.gap}[milliseconds]


def check(workers, contestant, program):
    """Its task, when what it answers is right. Twice: the second time everything is there."""
    task = contestant.task(program)
    for _ in range(2):
        answer = workers.order(1, do="once", task=task)[0]["output"]
        said = contestant.output(answer)
        if not program.is_right(said):
            raise Unfit(f"a wrong answer: {said[:200]!r}")
    return task


def measure(workers, tasks, effort):
    """{contestant: Measured} for {contestant: task}."""
    figures = {name: Measured() for name in tasks}
    names = list(tasks)
    for _ in range(effort.rounds):
        answer = workers.order(1, do="with_gaps", tasks=[tasks[name] for name in names], rounds=effort.samples,
                               gap=GAP)[0]
        for name, times in zip(names, answer["times"]):
            figures[name].gap.add(times)
        for count in CONNECTIONS:
            for name in names:
                answers = workers.order(count, do="back_to_back", task=tasks[name], seconds=effort.seconds, least=2)
                runs = sum(len(each["times"]) for each in answers)
                figures[name].rates[count].add(runs / max(each["seconds"] for each in answers))
                if count == 1:
                    figures[name].zero.add(answers[0]["times"])
        names = names[1:] + names[:1]
    return figures
