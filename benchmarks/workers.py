"""Workers as processes: their rate, and what an event costs them when two share the partitions."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.cluster import PARTITIONS, Window, cluster
from benchmarks.results import Result, at_least, at_most, shown
from benchmarks.run import Run
from benchmarks.workload import events


def rows(run: Run) -> Iterator[Result]:
    """One worker, then two, each over fresh topics."""
    one, two = _measured(run, 1), _measured(run, 2)
    name = f"worker process, {PARTITIONS} partitions"
    yield at_least(f"{name}, one", one.events / one.seconds, "events/s", 10_000)
    yield shown(f"{name}, two", two.events / two.seconds, "events/s")
    yield shown(f"{name}, one: CPU", one.cpu / one.events * 1e6, "µs/event")
    yield shown(f"{name}, two: CPU", two.cpu / two.events * 1e6, "µs/event")
    ratio = (two.cpu / two.events) / (one.cpu / one.events)
    yield at_most("two workers' CPU an event against one's", ratio, "×", 1.1)


def _measured(run: Run, workers: int) -> Window:
    run.tell(f"{workers} worker processes", workers - 1, 2)
    with cluster(run, workers, gateway=False) as made:
        count = made.feed(events(run.sizes.events, run.seed))
        return made.drained(0, count)
