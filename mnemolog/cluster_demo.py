"""The demo's cluster: worker, agents and gateway as processes of their own against a broker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mnemolog.cluster import PREFIX_VARIABLE, create_topics
from mnemolog.memory import Memory
from schemas.errors import Unavailable
from schemas.master import MasterKey
from schemas.principals import local_api_key

PARTITIONS = 4
START_S = 60.0


@contextmanager
def cluster(kafka: str, scratch: Path) -> Iterator[Memory]:
    """A memory over fresh topics of a broker, its processes stopped at the end."""
    data = scratch / "data"
    data.mkdir()
    master = MasterKey.load(data, os.environ)
    os.environ[PREFIX_VARIABLE] = f"demo-{uuid.uuid4().hex[:8]}"
    made = create_topics(kafka, PARTITIONS)
    print(f"broker {kafka}: {len(made)} topics created")
    started: list[subprocess.Popen[str]] = []
    try:
        for verb in ("worker", "agents"):
            started.append(_start(data, verb, kafka, scratch))
        gateway = _start(data, "gateway", kafka, scratch, "--port", "0")
        started.append(gateway)
        assert gateway.stdout is not None
        line = gateway.stdout.readline()
        if not line:
            raise Unavailable("gateway", _tail(scratch / "gateway.log"), "see its log")
        url = json.loads(line)["url"]
        names = ", ".join(str(process.pid) for process in started)
        print(f"worker, agents, gateway: processes {names}; gateway at {url}")
        _await_worker(url, local_api_key(master), scratch)
        with Memory.connect(url, local_api_key(master)) as memory:
            yield memory
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _start(data: Path, verb: str, kafka: str, scratch: Path, *more: str) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "mnemolog",
        "--data",
        str(data),
        "--json",
        verb,
        "--kafka",
        kafka,
        *more,
    ]
    with (scratch / f"{verb}.log").open("w") as errors:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)


def _await_worker(url: str, key: str, scratch: Path) -> None:
    """Wait until something published is decided: then the worker has its partitions."""
    with Memory.connect(url, key) as memory:
        deadline = time.monotonic() + START_S
        probe = memory.scope("demo", "probe", "worker")
        while probe.observe("is anybody there?").state != "accepted":
            if time.monotonic() > deadline:
                raise Unavailable("worker", _tail(scratch / "worker.log"), "see its log")


def _tail(path: Path) -> str:
    return path.read_text()[-2000:] if path.exists() else "it said nothing"
