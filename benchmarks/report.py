"""The table for people, the list for scripts, and what the figures were measured on.

`python -m benchmarks.report`, run where they were measured, puts the figures of `results.json` into
`docs/performance.md`, between its two marks.
"""

from __future__ import annotations

import json
import os
import platform
import re
import textwrap
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.results import Result

PACKAGES = ("fastavro", "rocksdict", "confluent-kafka", "cryptography", "msgspec", "numpy")
POM = Path(__file__).parents[1] / "infra" / "kafka" / "pom.xml"
PAGE = POM.parents[2] / "docs" / "performance.md"
RESULTS = Path(__file__).with_name("results.json")
MARKS = ("<!-- measured -->", "<!-- end -->")
WIDTH = 130
SYNCED = (
    "Synced to disk before it counts (fsync), in floor and product alike: the embedded log and "
    "vault, once a batch. Not synced: projections, which the ledger rebuilds, and a worker's local "
    "stores. The broker acknowledges from its page cache (Kafka's own default)."
)


def machine() -> str:
    """Processor, cores, memory and how busy it was with other work."""
    cpu = _first(r"model name\s*: (.*)", Path("/proc/cpuinfo")) or platform.processor()
    kib = int(_first(r"MemTotal:\s*(\d+) kB", Path("/proc/meminfo")) or 0)
    load = os.getloadavg()[0]
    return (
        f"{cpu}, {os.cpu_count()} cores, {kib / 2**20:.0f} GiB of RAM, {platform.system()} "
        f"{platform.release()}; load average when it ended {load:.1f}"
    )


def versions(*, broker: bool) -> str:
    """What was measured with."""
    found = [f"{platform.python_implementation()} {platform.python_version()}"]
    found += [f"{name} {version(name)}" for name in PACKAGES]
    if broker:
        found.append(f"Apache Kafka {_first(r'<kafka.version>(.*)</', POM)}")
    return ", ".join(found)


def _first(pattern: str, path: Path) -> str | None:
    match = re.search(pattern, path.read_text()) if path.exists() else None
    return match[1] if match else None


def table(results: Sequence[Result], title: str, *, broker: bool) -> None:
    """Print what was measured, and on what."""
    shape = Table(title=title)
    for column in ("work", "value", "unit", "of its floor", "goal", "met"):
        right = column in ("value", "of its floor")
        shape.add_column(column, justify="right" if right else "left")
    for result in results:
        shape.add_row(*cells(result))
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    console.print(shape)
    for line in (machine(), versions(broker=broker), SYNCED):
        console.print(line, highlight=False)


def cells(result: Result) -> tuple[str, ...]:
    """A row as texts, as table and page show it."""
    ratio = "" if result.floor_ratio is None else f"{result.floor_ratio:.2f}"
    met = "" if result.goal is None else {True: "yes", False: "no", None: "–"}[result.met]
    value = f"{result.value:,.0f}" if result.value >= 1000 else f"{result.value:,.2f}"
    return result.name, value, result.unit, ratio, result.goal or "", met


def write(results: Sequence[Result], output: Path) -> None:
    """The list for scripts."""
    rows = [result._asdict() for result in results]
    output.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


def read(path: Path) -> list[Result]:
    """The rows of a list that `write` wrote."""
    return [Result(**row) for row in json.loads(path.read_text())]


def page(text: str, results: Sequence[Result]) -> str:
    """A page with the rows, machine and versions between its marks; `ValueError` if it has none."""
    start, end = text.index(MARKS[0]) + len(MARKS[0]), text.index(MARKS[1])
    lines = ["| work | value | unit | of its floor | goal | met |", "|---|---:|---|---:|---|---|"]
    lines += [f"| {' | '.join(cells(result))} |" for result in results]
    told = textwrap.fill(f"{machine()}; {versions(broker=True)}.", 100)
    return text[:start] + "\n\n" + "\n".join(lines) + f"\n\n{told}\n\n" + text[end:]


def main() -> None:
    """Put the last whole run's figures into the page."""
    PAGE.write_text(page(PAGE.read_text(), read(RESULTS)))


if __name__ == "__main__":
    main()
