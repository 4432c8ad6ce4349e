"""The table for people, the list for scripts, and what the figures were measured on."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.results import Result

PACKAGES = ("fastavro", "rocksdict", "confluent-kafka", "cryptography", "msgspec", "numpy")
WIDTH = 130
POM = Path(__file__).parents[1] / "infra" / "kafka" / "pom.xml"
SYNCED = (
    "Synced to disk before it counts (fsync), in floor and product alike: the embedded log and the "
    "vault, once a batch. Not synced: the projections, which are rebuilt from the ledger. The "
    "broker acknowledges from its page cache (Kafka's own default)."
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
