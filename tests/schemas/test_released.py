"""Released schemas: never changed, and each side reads the other (SPEC §2, `schemas.released`)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas import released, writers
from schemas.avro_fields import SCHEMA_VERSION
from schemas.codec import Codec
from schemas.errors import Undecodable
from schemas.kinds import Kind
from schemas.released import flaws, snapshot
from schemas.writers import fingerprint, schema_text
from tests.schemas.test_writers import (
    FIELDS,
    OBSERVATION,
    append,
    change,
    drop,
    field,
    frame,
    retype,
    swap_scope,
)

Json = dict[str, Any]


@pytest.fixture
def avro_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the schemas to change; nothing that was parsed is remembered."""
    caches = (writers.known_writers, writers.current_schema, writers.fingerprint)
    copy = tmp_path / "avro"
    shutil.copytree(writers.AVRO_DIR, copy)
    monkeypatch.setattr(writers, "AVRO_DIR", copy)
    for cached in caches:
        cached.cache_clear()
    yield copy
    for cached in caches:
        cached.cache_clear()


def rewrite(path: Path, kind: Kind, edit: Callable[[Json], None]) -> None:
    """Put an edited schema in place of a file."""
    path.write_text(change(kind, edit))
    writers.current_schema.cache_clear()


def remark(record: Json) -> None:
    """A change that changes nothing: documentation."""
    record["doc"] = "Said better."
    field(record, "purpose")["doc"] = "Why."


def optional(name: str) -> Callable[[Json], None]:
    """A field that may be left out."""
    return lambda record: record["fields"].append(
        {"name": name, "type": ["null", "string"], "default": None}
    )


def test_what_was_released_is_whole_and_gets_on_with_the_current_schemas() -> None:
    assert flaws() == []
    assert released.released(), "no version was released"
    assert max(released.released()) <= SCHEMA_VERSION
    for texts in released.released().values():
        assert texts.keys() <= set(Kind)


def test_a_changed_schema_without_a_new_version_is_told_what_to_do(avro_dir: Path) -> None:
    version = max(released.released())
    rewrite(avro_dir / "observation.avsc", Kind.OBSERVATION, optional("mood"))
    (flaw,) = flaws(version)
    assert f"observation.avsc differs from the released one of version {version}" in flaw
    assert f"SCHEMA_VERSION in schemas/avro_fields.py to {version + 1}" in flaw
    assert "make release-schemas" in flaw
    assert flaws(version + 1) == []


def test_a_change_of_a_default_takes_a_new_version(avro_dir: Path) -> None:
    def edit(record: Json) -> None:
        del field(record, "content")["default"]

    rewrite(avro_dir / "observation.avsc", Kind.OBSERVATION, edit)
    assert "differs" in flaws(max(released.released()))[0]


def test_documentation_may_change(avro_dir: Path) -> None:
    rewrite(avro_dir / "observation.avsc", Kind.OBSERVATION, remark)
    assert flaws(max(released.released())) == []


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (append("mood", "string"), "cannot read what version 1 wrote"),
        (drop("purpose"), "version 1 cannot read what observation.avsc writes"),
        (retype("salience", "string"), "cannot read what version 1 wrote"),
        (retype("purpose", ["null", "string"]), "version 1 cannot read what observation.avsc"),
    ],
    ids=["a field that must be there", "a field less", "a type", "a null"],
)
def test_a_new_version_that_breaks_a_released_reader_or_writer_is_named(
    avro_dir: Path, edit: Callable[[Json], None], says: str
) -> None:
    rewrite(avro_dir / "observation.avsc", Kind.OBSERVATION, edit)
    assert any(says in flaw and "default of null" in flaw for flaw in flaws(SCHEMA_VERSION + 1))


def test_a_released_file_that_was_changed_or_lost_is_named(avro_dir: Path) -> None:
    folder = avro_dir / "released" / "1"
    rewrite(folder / "observation.avsc", Kind.OBSERVATION, optional("mood"))
    (folder / "control.avsc").unlink()
    found = [flaw for flaw in flaws() if "restore it" in flaw]
    assert [flaw.split(" is not")[0] for flaw in found] == [
        "released/1/control.avsc",
        "released/1/observation.avsc",
    ]


def test_a_version_is_released_once(avro_dir: Path) -> None:
    folder = snapshot(SCHEMA_VERSION + 1)
    assert len(list(folder.glob("*.avsc"))) == len(Kind)
    assert flaws(SCHEMA_VERSION + 1) == []
    with pytest.raises(ValueError, match="was released"):
        snapshot(SCHEMA_VERSION + 1)


def test_a_released_schema_is_known_by_its_fingerprint(avro_dir: Path) -> None:
    """Under the next version, what this one wrote is read; so is a version between."""
    old = (
        b"\xc3\x01"
        + fingerprint(Kind.OBSERVATION)
        + frame(schema_text(Kind.OBSERVATION), FIELDS)[5:]
    )
    text = change(Kind.OBSERVATION, swap_scope)
    digest = writers.writer_schema(Kind.OBSERVATION, text).fingerprint
    data = b"\xc3\x01" + digest + frame(text, FIELDS)[5:]
    with pytest.raises(Undecodable, match="unknown_schema"):
        Codec().decode(Kind.OBSERVATION, data)

    rewrite(avro_dir / "observation.avsc", Kind.OBSERVATION, swap_scope)
    writers.known_writers.cache_clear()
    assert Codec().decode(Kind.OBSERVATION, data) == OBSERVATION
    snapshot(SCHEMA_VERSION + 1)
    rewrite(avro_dir / "observation.avsc", Kind.OBSERVATION, optional("mood"))
    writers.known_writers.cache_clear()
    assert Codec().decode(Kind.OBSERVATION, data) == OBSERVATION
    assert Codec().decode(Kind.OBSERVATION, old) == OBSERVATION
    assert json.loads(schema_text(Kind.OBSERVATION))["fields"][-1]["name"] == "mood"
