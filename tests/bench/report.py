"""What was measured, as text for a terminal and as docs/benchmarks.md with its picture."""
import collections
import datetime
import os
import pathlib
import platform
import time

import chart
import serving
from figures import Ratio, number
from measure import CONNECTIONS

DOCS = serving.ROOT / "docs"
GAPS = (60, 0)

# More than this share of the processors at work before anything is measured, and figures are noise.
MOST_BUSY = 0.1

Outcome = collections.namedtuple("Outcome", "facts programs contestants results promises")


def busy_share(seconds=3):
    """How much of the processors others use while we sleep."""
    def times():
        values = [int(word) for word in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
        return sum(values[3:5]), sum(values[:8])
    idle_before, all_before = times()
    # sleeps: this is the time over which the share is measured.
    time.sleep(seconds)
    idle, everything = times()
    return 1 - (idle - idle_before) / max(1, everything - all_before)


def machine_facts():
    models = [line.partition(":")[2].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
              if line.startswith("model name")]
    memory = int(pathlib.Path("/proc/meminfo").read_text().split()[1]) / 1024 / 1024
    return {"processor": models[0] if models else platform.machine(), "cores": os.cpu_count(), "memory": round(memory),
            "kernel": platform.release(), "busy": busy_share(),
            "date": datetime.date.today().isoformat(),
            "cgroups": "v2" if os.path.exists("/sys/fs/cgroup/cgroup.controllers") else "v1"}


def ratio_of(results, program, name, against, pick):
    """Of what `pick` finds in the two; None where one of them did not take part."""
    measured = results.get(program, {})
    if name not in measured or against not in measured:
        return None
    return Ratio(pick(measured[name]), pick(measured[against]))


def program_text(program, contestants, measured):
    lines = [f"== {program.name}: {program.title}",
             f"  {'':22} {'p50':>8} {'p90':>8} {'p99':>8} ms at 60 ms  {'p50':>8} {'p90':>8} {'p99':>8} ms at 0    "
             + "  ".join(f"{count:>2} conn/s" for count in CONNECTIONS)]
    for contestant in contestants:
        if contestant.name not in measured:
            continue
        figures = measured[contestant.name]
        latencies = "          ".join(" ".join(f"{figures.latency(gap).at(share):8.2f}" for share in (0.5, 0.9, 0.99))
                                     for gap in GAPS)
        rates = "  ".join(f"{figures.rates[count].median():9.1f}" for count in CONNECTIONS)
        lines.append(f"  {contestant.title:22} {latencies}        {rates}")
    return "\n".join(lines)


def promise_row(outcome, promise):
    """(text, what was measured, bound, whether it holds), or None when it was not measured."""
    def pick(figures):
        return figures.latency(promise["gap"]) if "gap" in promise else figures.rates[promise["connections"]]
    ratio = ratio_of(outcome.results, promise["program"], promise.get("contestant", "polybox"),
                     promise.get("against", "bare"), pick)
    if ratio is None:
        return None
    if "most" in promise:
        return promise["text"], str(ratio), f"at most {promise['most']}", ratio.median <= promise["most"]
    return promise["text"], str(ratio), f"at least {promise['least']}", ratio.median >= promise["least"]


def promises_text(outcome):
    rows = [row for promise in outcome.promises if (row := promise_row(outcome, promise))]
    return "\n".join(["== ratios"] + [f"  {'holds' if holds else 'MISSED':6} {text}: {ratio}, {bound}"
                                      for text, ratio, bound, holds in rows])


def markdown(heading, rows):
    return "\n".join(["| " + " | ".join(row) + " |" for row in [heading, ["---"] + ["---:"] * (len(heading) - 1), *rows]])


def cells(outcome, cell):
    """A row per program, a column per contestant."""
    rows = []
    for program in outcome.programs:
        measured = outcome.results.get(program.name)
        if measured:
            rows.append([program.title, *[cell(measured, contestant) if contestant.name in measured else ""
                                          for contestant in outcome.contestants]])
    return markdown(["program", *[contestant.title for contestant in outcome.contestants]], rows)


def latency_cell(gap):
    def cell(measured, contestant):
        latency = measured[contestant.name].latency(gap)
        text = f"**{number(latency.at(0.5))}** / {number(latency.at(0.9))} / {number(latency.at(0.99))}"
        if contestant.name == "bare":
            return text
        return f"{text}<br>{Ratio(latency, measured['bare'].latency(gap))} × bare"
    return cell


def rate_cell(measured, contestant):
    return " / ".join(number(measured[contestant.name].rates[count].median()) for count in CONNECTIONS)


PAGE = """# Benchmarks

Made by `make bench` (`tests/bench/run.py --write`); do not edit.

![p50 of every program, by who ran it]({picture})

Every contestant runs the same programs on the same machine, in interleaved rounds and with a clean environment. Compare ratios,
not milliseconds: a ratio is taken within each round, and stands with the range in which half of the rounds lie.

- Machine: {processor}, {cores} cores, {memory} GiB; Linux {kernel}, cgroups {cgroups}; {busy:.0%} busy before it began; {date}.{warning}
- polybox: isolation `{isolation}`{arguments}, one server for all programs{own}, clients on the same cores as the server.

| contestant | what it does |
|---|---|
{notes}

## One request every 60 ms

Agents ask like this. Milliseconds: **p50** / p90 / p99, and the p50 beside the bare program's.

{gap}

## One request after the other

{zero}

## Throughput

Requests per second at 1 / 2 / 8 connections (or processes) without a pause; the median of all rounds. The clock starts when
the load has been there for a while.

{rates}

## Aims

[SPECIFICATION.md](../SPECIFICATION.md) wants these ratios.

{promises}

## Repeat it

`make bench` measures all of this, a jail without HTTP (`bench_jail`) and a server under too much load (`tests/bench/load.py`).
Do it on a machine that has nothing else to do. For one program, or one contestant:

```sh
tests/bench/run.py python node            # programs by name
tests/bench/run.py --quick true runc      # one program, one peer beside bare
tests/bench/run.py --serve=--queue=0      # another setting of the server
BENCH_GO_JUDGE=http://127.0.0.1:5050 tests/bench/run.py    # a peer that you have started
```

[tests/bench/README.md](../tests/bench/README.md) says how to add a program or a contestant.
"""


def warning_of(facts):
    if facts["busy"] <= MOST_BUSY:
        return ""
    return "Others used the machine meanwhile: these figures are noise. Measure again where nothing else runs."


def write(outcome):
    rows = [row for promise in outcome.promises if (row := promise_row(outcome, promise))]
    promises = markdown(["aim", "measured", "bound", ""],
                        [[text, ratio, bound, "holds" if holds else "missed"] for text, ratio, bound, holds in rows])
    facts = dict(outcome.facts)
    facts["warning"] = f"\n  **{warning}**" if (warning := warning_of(facts)) else ""
    facts["arguments"] = "".join(f", `{each}`" for each in facts["arguments"])
    facts["own"] = "".join(f" (for \"{each.title}\" one with `{' '.join(each.serve)}`)"
                           for each in outcome.programs if each.serve)
    notes = "\n".join(f"| {each.title} | {each.note} |" for each in outcome.contestants)
    page = PAGE.format(picture="benchmarks.svg", notes=notes, gap=cells(outcome, latency_cell(60)),
                       zero=cells(outcome, latency_cell(0)), rates=cells(outcome, rate_cell), promises=promises, **facts)
    (DOCS / "benchmarks.md").write_text(page)
    (DOCS / "benchmarks.svg").write_text(chart.draw(
        [(program.title, {contestant.name: outcome.results[program.name][contestant.name].latency(60).at(0.5)
                          for contestant in outcome.contestants if contestant.name in outcome.results[program.name]})
         for program in outcome.programs if program.name in outcome.results],
        {contestant.name: contestant.title for contestant in outcome.contestants}))
    print(f"wrote {DOCS / 'benchmarks.md'} and its picture")
