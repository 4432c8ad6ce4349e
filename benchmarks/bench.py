"""`make bench`: every row of the performance table, each beside its goal.

Ratios are taken within one run, the best of several repetitions of floor and product in turn;
absolute figures of a shared machine vary by tens of percent. The floor is `benchmarks.floor`. Rows
on Kafka need a broker (`--kafka`) and are left out without one.

    python -m benchmarks.bench --only admission --events 20000 --profile admission.prof

runs one part and profiles the product's share of it (cProfile; read it with `python -m pstats`).
The times of a profiled run are the profiler's, too.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import Progress

from benchmarks import admission, asking, crowded, gateway, kafka, ledger, report, workers
from benchmarks.results import Result
from benchmarks.run import QUICK, Run, Sizes, sizes
from mnemolog.long_running import tune

Rows = Callable[[Run], Iterator[Result]]

EMBEDDED: dict[str, Rows] = {
    "admission": admission.rows,
    "replay": ledger.replay,
    "verify": ledger.verify,
    "recall": asking.recall,
    "release": asking.release,
    "beside": asking.beside,
    "crowded": crowded.rows,
}
ON_KAFKA: dict[str, Rows] = {
    "kafka": kafka.rows,
    "workers": workers.rows,
    "http-recall": gateway.recall,
    "http-publish": gateway.publish,
    "http-release": gateway.release,
    "visible": gateway.visible,
    "memory": gateway.resident,
}
PARTS = {**EMBEDDED, **ON_KAFKA}


class Measured(NamedTuple):
    """What a run came to: rows, the parts that failed, the product's profile."""

    results: list[Result]
    failed: list[str]
    profile: cProfile.Profile


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench", description=__doc__)
    parser.add_argument("--only", action="append", choices=list(PARTS), help="a part; repeatable")
    parser.add_argument("--events", type=int, default=20_000, help="events of a timed row")
    parser.add_argument("--repeats", type=int, default=3, help="of which the best counts")
    parser.add_argument("--full", action="store_true", help="large stores at 10^6 events")
    parser.add_argument("--quick", action="store_true", help="a smoke run; its figures say nothing")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kafka", default=os.environ.get("KAFKA_BOOTSTRAP_SERVERS"))
    parser.add_argument("--profile", type=Path, help="file for a cProfile of the product")
    parser.add_argument("--output", type=Path, help="default: results.json, of a whole run only")
    return parser.parse_args()


def measure(asked: argparse.Namespace, parts: Sequence[str], chosen: Sizes) -> Measured:
    """Run the parts with a progress bar; one that fails is told, and the others go on."""
    done = Measured([], [], cProfile.Profile())
    console = Console(stderr=True)
    with (
        tempfile.TemporaryDirectory(prefix="mnemolog-bench-") as scratch,
        Progress(console=console, transient=True) as bar,
    ):
        whole = bar.add_task("", total=len(parts))
        inner = bar.add_task("")

        def tell(what: str, done: int, total: int) -> None:
            bar.update(inner, description=what, completed=done, total=total)

        profiler = done.profile if asked.profile else None
        run = Run(chosen, asked.seed, Path(scratch), asked.kafka, profiler, tell)
        with run.closing:
            for part in parts:
                bar.update(whole, description=f"[bold]{part}")
                try:
                    for result in PARTS[part](run):
                        done.results.append(result)
                        console.print("  ".join(report.cells(result)[:4]), highlight=False)
                except Exception:  # noqa: BLE001 - told here, and by the exit status
                    done.failed.append(part)
                    console.print(f"{part} failed:\n{traceback.format_exc()}", markup=False)
                bar.advance(whole)
    return done


def main() -> None:
    """Run, print the table, write the results; exit 1 if a part failed."""
    asked = arguments()
    parts = asked.only or [name for name in PARTS if asked.kafka or name not in ON_KAFKA]
    if not asked.kafka and set(parts) & set(ON_KAFKA):
        sys.exit("this part needs a broker: pass --kafka HOST:PORT (infra/kafka/kafka.sh up)")
    tune()  # as every process of ours that runs for long
    chosen = QUICK if asked.quick else sizes(asked.events, asked.repeats, full=asked.full)
    began = time.perf_counter()
    done = measure(asked, parts, chosen)
    if asked.profile:
        done.profile.dump_stats(asked.profile)
    minutes = (time.perf_counter() - began) / 60
    title = (
        f"{chosen.events:,} events a timed row, best of {chosen.repeats}, seed {asked.seed}; "
        f"{minutes:.1f} minutes in all"
    )
    report.table(done.results, title, broker=bool(asked.kafka))
    output = asked.output or (report.RESULTS if not asked.only and not asked.quick else None)
    if output is not None:
        report.write(done.results, output)
    if done.failed:
        sys.exit(f"failed: {', '.join(done.failed)}")


if __name__ == "__main__":
    main()
