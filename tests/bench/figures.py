"""What times become: percentiles, rates, and ratios with their spread."""
import statistics


def percentile(times, share):
    times = sorted(times)
    return times[min(len(times) - 1, int(len(times) * share))]


class Latency:
    """Seconds of single runs, kept by round: what happens in one round happens to every contestant."""

    def __init__(self):
        self.rounds = []

    def add(self, times):
        self.rounds.append(times)

    def at(self, share):
        """In milliseconds."""
        return percentile([time for each in self.rounds for time in each], share) * 1000

    def round_values(self):
        return [statistics.median(each) for each in self.rounds]


class Rate:
    """Runs per second, by round."""

    def __init__(self):
        self.rounds = []

    def add(self, rate):
        self.rounds.append(rate)

    def median(self):
        return statistics.median(self.rounds)

    def round_values(self):
        return self.rounds


class Ratio:
    """Of two figures, round by round: its median, and the quartiles between which half of the rounds lie."""

    def __init__(self, figure, against):
        ratios = [one / other for one, other in zip(figure.round_values(), against.round_values())]
        self.median = statistics.median(ratios)
        low, _, high = statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
        self.low, self.high = low, high

    def __str__(self):
        return f"{number(self.median)} ({number(self.low)}–{number(self.high)})"


def number(value):
    """Three digits that mean something."""
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}"
