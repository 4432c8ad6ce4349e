"""`python -m tests.chaos --seed N [--seconds S] [--faults N] [--kafka]`, or `make chaos SEED=N`.

Exit 0 if all that was published is answered as the reference model says, once, and `verify --deep`
is clean; else 1, with the differences and the command that repeats the run: the seed decides the
events, the faults and their order, the machine alone at which moment a fault hits.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.broker import NoBroker
from tests.chaos.embedded import EmbeddedWorld
from tests.chaos.scheduler import Outcome, run
from tests.chaos.world import World
from tests.crash.feed import Feed

HISTORIES, SIZE, TOGETHER = 400, 12, 4
SHOWN = 20


def main(arguments: list[str] | None = None) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--faults", type=int, help="stop after so many, whatever the time")
    parser.add_argument("--kafka", action="store_true", help="workers on a broker of their own")
    asked = parser.parse_args(arguments)
    feed = (asked.seed, HISTORIES, SIZE, TOGETHER)
    print(f"seed {asked.seed}: {'on Kafka' if asked.kafka else 'embedded'}", flush=True)
    with tempfile.TemporaryDirectory() as path, _world(Path(path), feed, asked.kafka) as world:
        outcome = run(
            world,
            asked.seed,
            len(Feed(*feed).said),
            seconds=asked.seconds,
            most_faults=asked.faults,
            say=lambda line: print(line, flush=True),
        )
    _tell(outcome)
    if not outcome.wrong:
        return 0
    mode = " --kafka" if asked.kafka else ""
    faults = outcome.faults.total()
    print("to repeat it, as far as the machine's moments allow:")
    print(
        f"  python -m tests.chaos --seed {asked.seed} --faults {faults} --seconds 3600{mode}",
        flush=True,
    )
    return 1


@contextmanager
def _world(path: Path, feed: tuple[int, ...], kafka: bool) -> Iterator[World]:
    if not kafka:
        embedded = EmbeddedWorld(path, feed)
        try:
            yield embedded
        finally:
            embedded.close()
        return
    from tests.chaos.kafka import KafkaWorld

    with ExitStack() as stack:
        try:
            cluster = KafkaWorld(path, feed, stack)
        except NoBroker as reason:
            print(f"nothing was run, no Kafka broker: {reason}", flush=True)
            sys.exit(os.environ.get("MNEMOLOG_REQUIRE_KAFKA") == "1")
        yield cluster


def _tell(outcome: Outcome) -> None:
    counted = ", ".join(f"{name} {count}" for name, count in sorted(outcome.faults.items()))
    print(f"{outcome.published} events, {outcome.faults.total()} faults: {counted}")
    for line in outcome.wrong[:SHOWN]:
        print(f"  {line}")
    if len(outcome.wrong) > SHOWN:
        print(f"  and {len(outcome.wrong) - SHOWN} more")


if __name__ == "__main__":
    sys.exit(main())
