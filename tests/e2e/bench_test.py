"""The benchmarks' tables fit together, and what is made of figures is right; `make bench` measures."""
import sys
import tomllib
import xml.etree.ElementTree

import serving

sys.path.append(str(serving.ROOT / "tests" / "bench"))

import agents  # noqa: E402
import chart  # noqa: E402
import figures  # noqa: E402
import tasks  # noqa: E402


def table(name):
    rows = tomllib.loads((serving.ROOT / "tests" / "bench" / f"{name}.toml").read_text())[name.rstrip("s")]
    assert rows, name
    return rows


def test_the_tables_of_the_benchmarks_fit_together(box):
    programs = {row["name"]: row for row in table("programs")}
    contestants = {row["name"]: row for row in table("contestants")}
    known = box.languages()
    for row in programs.values():
        assert row["language"] in known, row["name"]
        assert ("stdout" in row) != ("stdout_bytes" in row), row["name"]
        assert "build" in row or "command" in row, row["name"]
    for row in contestants.values():
        assert row["kind"] in tasks.KINDS, row["name"]
    for row in table("promises"):
        assert row["program"] in programs, row["text"]
        assert row.get("contestant", "polybox") in contestants and row.get("against", "bare") in contestants, row["text"]
        assert ("gap" in row) != ("connections" in row) and ("most" in row) != ("least" in row), row["text"]


def test_each_promise_about_the_tools_of_agents_has_its_measure(box):
    assert {row["measure"] for row in agents.promises()} == set(agents.MEASURES)
    for row in agents.promises():
        assert set(row) == {"text", "measure", "unit", "most"}, row


def test_a_ratio_is_taken_within_each_round(box):
    slow, fast = figures.Latency(), figures.Latency()
    # The machine slows down by ten, for both.
    for factor in (1, 10, 1):
        slow.add([0.004 * factor, 0.002 * factor, 0.002 * factor])
        fast.add([0.001 * factor] * 3)
    ratio = figures.Ratio(slow, fast)
    assert (round(ratio.median, 6), round(ratio.low, 6), round(ratio.high, 6)) == (2, 2, 2), str(ratio)
    assert str(ratio) == "2.00 (2.00–2.00)"
    assert (round(slow.at(0.5), 6), round(slow.at(0.99), 6)) == (4, 40)


def test_the_picture_has_every_figure_at_its_place(box):
    rows = [("a < b", {"bare": 1.0, "polybox": 10.0}), ("c", {"bare": 0.5, "polybox": 2.0, "new": 700.0})]
    picture = chart.draw(rows, {"bare": "Bare", "polybox": "polybox", "new": "New"})
    root = xml.etree.ElementTree.fromstring(picture)
    texts = ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"a < b", "c", "10.0", "2.00", "Bare", "New", "0.1", "1000"} <= set(texts), texts
    axis = chart.Axis([0.5, 700.0])
    assert axis.place(0.1) == chart.LEFT and axis.place(1000) == chart.WIDTH - chart.RIGHT
