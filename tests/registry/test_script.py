"""`infra/registry/registry.sh`: what it says where it cannot run a registry."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from tests.registry.server import SCRIPT


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The script with nothing to read, so that whatever it started would end at once."""
    return subprocess.run(
        [SCRIPT, *arguments],
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("arguments", [(), ("walk",), ("run", "http")])
def test_wrong_usage_is_told(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stderr


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = run("run", port)
    assert done.returncode == 4
    assert port in done.stderr


def test_what_is_named_and_no_java_is_told_and_no_other_is_taken() -> None:
    done = run("java", MNEMOLOG_REGISTRY_JAVA=sys.executable)
    assert done.returncode == 3
    assert "MNEMOLOG_REGISTRY_JAVA" in done.stderr
    assert "21" in done.stderr
    assert done.stdout == ""
