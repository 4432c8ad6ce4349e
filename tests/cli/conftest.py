"""`cli`: run `mnemolog` on a data directory of the test's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


class Cli:
    """Runs the command; remembers what serves."""

    def __init__(self, tmp_path: Path) -> None:
        self.data = tmp_path / "data"
        self.env = {
            **{k: v for k, v in os.environ.items() if not k.startswith("MNEMOLOG_")},
            "XDG_STATE_HOME": str(tmp_path / "state"),
            "MNEMOLOG_TENANT": "acme",
            "MNEMOLOG_NAMESPACE": "support",
            "MNEMOLOG_SUBJECT": "alice",
        }
        self.serving: subprocess.Popen[str] | None = None

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "mnemolog", "--data", str(self.data), *words]

    def run(self, *words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run to the end; output as it is."""
        return subprocess.run(
            self.command(*words),
            env=self.env,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def json(self, *words: str, status: int = 0, stdin: str | None = None) -> Any:
        """Run with `--json`; the document."""
        done = self.run("--json", *words, stdin=stdin)
        assert done.returncode == status, (words, done.stdout, done.stderr)
        return json.loads(done.stdout)

    def serve(self) -> str:
        """Start serving; the address."""
        self.serving = subprocess.Popen(
            self.command("--json", "serve", "--port", "0"),
            env=self.env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self.serving.stdout is not None
        return str(json.loads(self.serving.stdout.readline())["url"])


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    """A fresh one."""
    made = Cli(tmp_path)
    yield made
    if made.serving is not None:
        made.serving.kill()
        made.serving.communicate()
