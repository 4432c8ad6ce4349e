"""The README's Python and shell examples do what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An environment whose `mnemolog` is this checkout's."""
    programs = Path(sys.executable).parent
    return {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }


def test_the_python_example_prints_what_it_says(tmp_path: Path, env: dict[str, str]) -> None:
    (code,) = blocks("python")
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    said = re.search(r"prints `(.*?)`, `(.*?)`, `(.*?)`", README)
    assert said is not None
    assert tuple(lines) == said.groups()


def test_the_shell_example_runs(tmp_path: Path, env: dict[str, str]) -> None:
    commands = blocks("sh")[0].replace(
        "path/to/repository.bundle", str(ROOT / "examples" / "garden-lights.bundle")
    )
    done = subprocess.run(
        ["bash", "-euc", commands],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "release\n  alice city Berlin: ok" in done.stdout
    assert "ok: " in done.stdout.splitlines()[-1]


def test_the_demo_prints_what_the_readme_shows(tmp_path: Path, env: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mnemolog", "demo"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    shown = set(README.splitlines())
    missing = [line for line in done.stdout.splitlines() if line and line not in shown]
    assert missing == []


def test_links_lead_somewhere() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
