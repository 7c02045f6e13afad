"""The picture of docs/benchmarks.md: a row per program, a dot per contestant, on a logarithmic axis of milliseconds."""
import math
from xml.sax.saxutils import escape

from figures import number

WIDTH, LEFT, RIGHT, TOP, ROW, BOTTOM = 880, 300, 56, 104, 34, 52
# The panel brings its own background: the picture reads the same on light and on dark pages.
PANEL, EDGE, GRID, TEXT, FAINT = "#10202e", "#3d5a73", "#26415a", "#eef5fb", "#9fb6c9"
# By contestant; whoever else takes part gets the next of the rest. Bare is a tick, so that it never hides another.
COLOURS = {"bare": "#eef5fb", "polybox": "#6cc3ff", "polybox-binary": "#7ee0b5", "bubblewrap": "#ffc46b", "runc": "#ff8f7a"}
MORE_COLOURS = ["#d3a4ff", "#f2e066", "#ff9fd0"]


def colours(names):
    rest = iter(MORE_COLOURS * len(names))
    return {name: COLOURS.get(name) or next(rest) for name in names}


class Axis:
    """From milliseconds to places, over whole powers of ten."""

    def __init__(self, values):
        self.low = math.floor(math.log10(min(values)))
        self.high = max(self.low + 1, math.ceil(math.log10(max(values))))

    def place(self, value):
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(value) - self.low) / (self.high - self.low)

    def ticks(self):
        return [10.0 ** power for power in range(self.low, self.high + 1)]


def text(x, y, words, colour=TEXT, size=14, anchor="start", weight=400):
    return (f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" font-size="{size}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{escape(words)}</text>')


def legend(titles, colour):
    parts, x = [], 36.0
    for name, title in titles.items():
        parts.append(mark(name, x, 69, colour[name]))
        parts.append(text(x + 12, 74, title, FAINT, 13))
        x += 30 + 7.2 * len(title)
    return parts


def mark(name, x, y, colour):
    if name == "bare":
        return f'<rect x="{x - 1.5:.1f}" y="{y - 9:.1f}" width="3" height="18" rx="1" fill="{colour}"/>'
    radius = 7 if name == "polybox" else 5
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{colour}"/>'


def row(title, values, y, axis, colour):
    places = [axis.place(value) for value in values.values()]
    parts = [text(36, y + 5, title),
             f'<path d="M{min(places):.1f} {y:.1f} H{max(places):.1f}" stroke="{EDGE}" stroke-width="2"/>']
    # On top of the others: polybox, and the thin line of bare.
    for name in sorted(values, key=lambda name: (name == "bare", name == "polybox")):
        parts.append(mark(name, axis.place(values[name]), y, colour[name]))
    if "polybox" in values:
        parts.append(text(axis.place(values["polybox"]), y - 10, number(values["polybox"]), colour["polybox"], 11, "middle"))
    return parts


def draw(rows, titles):
    """rows: [(title, {contestant: milliseconds})]; titles: {contestant: title}, in the order of the legend."""
    axis = Axis([value for _, values in rows for value in values.values()])
    colour, height = colours(list(titles)), TOP + ROW * len(rows) + BOTTOM
    bottom = TOP + ROW * len(rows)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
             'role="img" aria-labelledby="title desc">',
             '<title id="title">How long a program takes, by who runs it</title>',
             '<desc id="desc">p50 in milliseconds at one request every 60 ms, on a logarithmic axis; further left is '
             'faster. The table below the picture in docs/benchmarks.md has the numbers.</desc>',
             "<style>text { font-family: ui-sans-serif, system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; }</style>",
             f'<rect x="1" y="1" width="{WIDTH - 2}" height="{height - 2}" rx="16" fill="{PANEL}" stroke="{EDGE}"/>',
             text(36, 38, "From request to result, one every 60 ms: p50 in milliseconds", size=17, weight=600)]
    parts += legend(titles, colour)
    for tick in axis.ticks():
        x = axis.place(tick)
        parts.append(f'<path d="M{x:.1f} {TOP - 12} V{bottom - 6}" stroke="{GRID}"/>')
        parts.append(text(x, bottom + 14, f"{tick:g}", FAINT, 12, "middle"))
    parts.append(text(WIDTH - RIGHT, bottom + 34, "ms, logarithmic; further left is faster", FAINT, 12, "end"))
    for i, (title, values) in enumerate(rows):
        parts += row(title, values, TOP + ROW * i + ROW / 2, axis, colour)
    return "\n".join([*parts, "</svg>"]) + "\n"
