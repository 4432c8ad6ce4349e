"""A fuse: the process sends itself a signal (SIGKILL) at the n-th passing of a named point.

The ports are the real ones; `guard` puts a point before and after a method of one, named
`what.before` and `what.after`: not called yet, and returned while its caller knows nothing of it.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

Namer = Callable[..., str | None]


class Fuse:
    """Burns at `point`'s n-th passing; what was passed is counted. An empty point never burns."""

    def __init__(self, point: str = "", n: int = 1, sent: int = signal.SIGKILL) -> None:
        self.point = point
        self.n = n
        self.sent = sent
        self.passed: Counter[str] = Counter()

    def passing(self, point: str) -> None:
        """Die (or stop, until SIGCONT) here, or go on."""
        self.passed[point] += 1
        if point == self.point and self.passed[point] == self.n:
            os.kill(os.getpid(), self.sent)

    def guard(self, owner: Any, method: str, name: str | Namer) -> None:
        """Put points around a method; a namer is told its arguments and may answer None."""
        original = getattr(owner, method)

        def guarded(*args: Any, **options: Any) -> Any:
            what = name if isinstance(name, str) else name(*args)
            if what is None:
                return original(*args, **options)
            self.passing(f"{what}.before")
            answer = original(*args, **options)
            if answer != []:  # a read of nothing is no step
                self.passing(f"{what}.after")
            return answer

        setattr(owner, method, guarded)


def fused(made: Callable[..., Any], fit: Callable[[Any, Path | None], None]) -> Callable[..., Any]:
    """A port's constructor whose products are fitted with points."""

    def make(*args: Any, **options: Any) -> Any:
        port = made(*args, **options)
        fit(port, args[0] if args and isinstance(args[0], Path) else None)
        return port

    return make


def cut_newest_log(store: Path, by: int) -> None:
    """Tear the last write of a RocksDB directory, as a kill in the middle of it does."""
    newest = max(store.glob("*.log"), key=lambda path: int(path.stem))
    size = newest.stat().st_size
    assert size > by, f"{newest} has only {size} bytes"
    os.truncate(newest, size - by)
