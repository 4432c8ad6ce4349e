"""Released schemas: what a release has written stays readable, by and from it (SPEC §2).

`avro/released/<n>/` holds the schemas whose events say `schema_version` n, and their fingerprints.
Rules, which `flaws` checks:
- A released file never changes.
- A schema that differs from the one released under its version, in more than `doc`, takes a new
  version: `SCHEMA_VERSION` in `schemas.avro_fields`.
- Each current schema reads what every released one wrote, and every released reader reads it.
- What we read is taken by name (`schemas.writers`), so compatible means: each side has the fields
  that the other reads, of the same types, or does without them.

`make release-schemas` writes the current ones into their folder, once a version.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from schemas import writers
from schemas.avro_fields import SCHEMA_VERSION
from schemas.errors import Undecodable
from schemas.kinds import KIND_OF_WORD, Kind

FINGERPRINTS = "fingerprints.json"


def released() -> dict[int, dict[Kind, str]]:
    """The schemas of each released version, oldest first."""
    folders = sorted((writers.AVRO_DIR / "released").glob("[0-9]*"), key=lambda at: int(at.name))
    return {
        int(folder.name): {
            KIND_OF_WORD[path.stem]: path.read_text(encoding="utf-8")
            for path in sorted(folder.glob("*.avsc"))
        }
        for folder in folders
    }


def flaws(version: int = SCHEMA_VERSION) -> list[str]:
    """What breaks a rule of this module, a sentence each with what to do; empty if nothing."""
    return [
        flaw
        for number, texts in released().items()
        for flaw in (*_altered(number, texts), *_drifted(number, texts, version))
    ]


def snapshot(version: int = SCHEMA_VERSION) -> Path:
    """Write the current schemas as the released ones of a version; `ValueError` if it has them."""
    folder = _folder(version)
    if folder.exists():
        raise ValueError(f"version {version} was released: raise SCHEMA_VERSION in avro_fields.py")
    folder.mkdir()
    for kind in Kind:
        text = writers.schema_text(kind)
        (folder / f"{kind.word}.avsc").write_text(text, encoding="utf-8")
    prints = {kind.word: writers.fingerprint(kind).hex() for kind in Kind}
    (folder / FINGERPRINTS).write_text(json.dumps(prints, indent=2) + "\n", encoding="utf-8")
    return folder


def _folder(version: int) -> Path:
    return writers.AVRO_DIR / "released" / str(version)


def _altered(number: int, texts: dict[Kind, str]) -> Iterator[str]:
    """Released files that are no longer what they were."""
    stated = json.loads((_folder(number) / FINGERPRINTS).read_text(encoding="utf-8"))
    found = {
        kind.word: writers.writer_schema(kind, text, text).fingerprint.hex()
        for kind, text in texts.items()
    }
    for word in sorted(stated.keys() | found.keys()):
        if stated.get(word) != found.get(word):
            yield (
                f"released/{number}/{word}.avsc is not what was released: restore it, "
                "since events written with it are in people's logs"
            )


def _drifted(number: int, texts: dict[Kind, str], version: int) -> Iterator[str]:
    """Current schemas that differ under the same version, or that do not get on with a release."""
    for kind, text in texts.items():
        current = writers.schema_text(kind)
        name = f"{kind.word}.avsc"
        if number == version and _meaning(json.loads(current)) != _meaning(json.loads(text)):
            yield (
                f"{name} differs from the released one of version {number}: raise SCHEMA_VERSION "
                f"in schemas/avro_fields.py to {number + 1}; at the release type make "
                "release-schemas"
            )
        for writer, reader, says in (
            (text, current, f"{name} cannot read what version {number} wrote"),
            (current, text, f"version {number} cannot read what {name} writes"),
        ):
            try:
                writers.writer_schema(kind, writer, reader)
            except Undecodable as error:
                yield f"{says} ({error.detail}): add fields with a default of null, remove none"


def _meaning(schema: Any) -> Any:
    """A schema without its documentation."""
    if isinstance(schema, list):
        return [_meaning(part) for part in schema]
    if isinstance(schema, dict):
        return {name: _meaning(part) for name, part in schema.items() if name != "doc"}
    return schema


if __name__ == "__main__":
    print(snapshot())
