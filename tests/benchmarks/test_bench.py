"""`make bench` runs and writes what it says; no figure is judged here."""

from __future__ import annotations

import json
import os
import pstats
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
FIELDS = {"name", "value", "unit", "floor_ratio", "goal", "met"}
EMBEDDED = (
    "floor: admit+fold, embedded",
    "admit+fold, embedded",
    "replay against admission",
    "verify, ",
    "verify --deep, ",
    "recall, embedded, ",
    "recall, p50 against the same scopes alone",
    "recall beside saturated admission",
    "admission beside recall",
    "release, embedded, p50",
    "a scope of 300 facts against an empty one: admission",
    "a scope of 300 facts against an empty one: conflict check",
    "a scope of 300 facts against an empty one: release",
)
ON_KAFKA = (
    "floor: admit+fold, Kafka",
    "admit+fold, Kafka",
    "worker process, 4 partitions, one",
    "two workers' CPU an event against one's",
    "HTTP recall, 8 clients at once",
    "HTTP publish, batches of 100",
    "release on Kafka, HTTP included, p50",
    "publish → visible on Kafka at 1,000 events/s, HTTP included, p50",
    "publish → visible on Kafka at 1,000 events/s, HTTP included, p99",
    "memory at 1,200 events, worker",
    "memory at 1,200 events, gateway",
)
"""How the rows of the goals' table begin; each must have a goal beside its value."""


def run(output: Path, *more: str) -> list[dict[str, object]]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    env.pop("KAFKA_BOOTSTRAP_SERVERS", None)
    command = [sys.executable, "-m", "benchmarks.bench", "--quick", "--output", str(output), *more]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, object]] = json.loads(output.read_text())
    return rows


def check(rows: list[dict[str, object]], names: tuple[str, ...]) -> None:
    assert all(set(row) == FIELDS for row in rows)
    assert all(isinstance(row["met"], bool | None) for row in rows)
    for name in names:
        found = [row for row in rows if str(row["name"]).startswith(name)]
        assert found, name
        assert name.startswith("floor") or any(row["goal"] for row in found), name


def test_a_smoke_run_writes_every_embedded_row_with_its_goal(tmp_path: Path) -> None:
    rows = run(tmp_path / "results.json")
    check(rows, EMBEDDED)
    ratios = [row for row in rows if row["floor_ratio"] is not None]
    assert {row["unit"] for row in ratios} == {"µs/event"}


@pytest.mark.kafka
def test_a_smoke_run_writes_every_row_on_kafka_with_its_goal(
    tmp_path: Path, kafka_bootstrap: str
) -> None:
    parts = ("kafka", "workers", "http-recall", "http-publish", "http-release", "visible", "memory")
    only = [word for part in parts for word in ("--only", part)]
    check(run(tmp_path / "results.json", "--kafka", kafka_bootstrap, *only), ON_KAFKA)


def test_a_profile_holds_the_product_and_not_the_floor(tmp_path: Path) -> None:
    profile = tmp_path / "admission.prof"
    run(tmp_path / "results.json", "--only", "admission", "--profile", str(profile))
    functions = {name for _, _, name in pstats.Stats(str(profile)).stats}  # type: ignore[attr-defined]
    assert "admit" in functions
    assert "_receive" not in functions
