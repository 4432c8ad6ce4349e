"""`make fuzz SEED=… SECONDS=…`: cases of all targets in turn, for a bounded time and memory.

The first case that breaks a promise ends the run with the command that repeats it. Exit 1 then.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
import traceback
from collections import Counter
from itertools import count

from tests.fuzz.targets import TARGETS, run

MEMORY_BYTES = 2 << 30  # an input that declares more than it has must not take it either


def main() -> int:
    """Run until the time is over."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", default=str(time.time_ns()))
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--target", choices=sorted(TARGETS))
    parser.add_argument("--case", help="repeat one case of a target")
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, resource.RLIM_INFINITY))
    if given.case is not None:
        run(given.target, given.case)
        return 0
    targets = [given.target] if given.target else list(TARGETS)
    print(f"seed {given.seed}", file=sys.stderr)
    done: Counter[str] = Counter()
    deadline = time.monotonic() + given.seconds
    for number in count():
        if time.monotonic() >= deadline:
            break
        for target in targets:
            case = f"{given.seed}:{number}"
            try:
                run(target, case)
            except Exception:  # noqa: BLE001 - whatever it is, it is the finding
                traceback.print_exc()
                again = f"python -m tests.fuzz --target {target} --case {case}"
                print(f"{target} breaks its promise; again: {again}", file=sys.stderr)
                return 1
            done[target] += 1
    print(f"seed {given.seed}: " + ", ".join(f"{number} {name}" for name, number in done.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
