"""What a project's own files state about it: `version`, `license`, `maintainer`, `code_owner`.

Pure: text of a file in, statements out; a file that does not parse states nothing.

- A statement is one attribute's value in one file, with the lines that say it, whole and verbatim;
  where these pass `STATEMENT_CHARACTERS` (a file without line ends), nothing is stated.
- `pyproject.toml` ([project], [tool.poetry]), `Cargo.toml` ([package], [workspace.package]),
  `setup.cfg` ([metadata]), `package.json` (top level): version, license, maintainer(s). Several
  maintainers are one value, joined by `, `.
- `VERSION`: its first line. `MAINTAINERS`: its lines, up to `MAINTAINER_LINES`.
- `CODEOWNERS`: the owners of `*`, as `code_owner`: handles are no names, and would contradict them.
- `LICENSE`, `COPYING`: the SPDX identifier that the text names or whose title it has. A GNU licence
  does not say "only" or "or later" in its text, so it states nothing.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

MAINTAINER_LINES = 20
STATEMENT_CHARACTERS = 4_000
_SNIPPET_LINES = 40

_VERSION = re.compile(r"v?\d[0-9A-Za-z.+-]*")
_SPDX = re.compile(r"SPDX-License-Identifier:\s*([0-9A-Za-z.+() -]+)")
_TITLES = {  # what the first lines of the text are, in lower case, by identifier
    "MIT": (r"(the )?mit license( \(mit\))?",),
    "Apache-2.0": (r"apache license", r"version 2\.0, january 2004"),
    "BSD-2-Clause": (r"bsd 2-clause license",),
    "BSD-3-Clause": (r"bsd 3-clause license",),
    "ISC": (r"(the )?isc license( \(isc\))?",),
    "MPL-2.0": (r"mozilla public license,? version 2\.0",),
    "CC0-1.0": (r"creative commons legal code", r"cc0 1\.0 universal"),
}


@dataclass(frozen=True, slots=True)
class Statement:
    """`attribute` = `value`, said by `lines` (without line ends, none of them blank)."""

    attribute: str
    value: str
    lines: tuple[str, ...]


def statements(path: str, text: str) -> tuple[Statement, ...]:
    """What the file at `path`, one of `PATHS`, states; at most one statement an attribute."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    first: dict[str, Statement] = {}
    for statement in _READERS[path](lines):
        if sum(map(len, statement.lines)) <= STATEMENT_CHARACTERS:
            first.setdefault(statement.attribute, statement)
    return tuple(first.values())


Reader = Callable[[list[str]], Iterator[Statement]]


def _toml(*tables: str) -> Reader:
    def read(lines: list[str]) -> Iterator[Statement]:
        table = ""
        seen = set()
        for at, line in enumerate(lines):
            if header := re.fullmatch(r"\s*\[([^\[\]]+)\]\s*(#.*)?", line):
                table = header[1].strip()
            elif (
                table in tables
                and (key := re.match(r"(version|license|maintainers)\s*=", line))
                and key[1] not in seen
            ):
                seen.add(key[1])
                used, value = _toml_value(lines[at : at + _SNIPPET_LINES], key[1])
                yield from _stated(key[1].removesuffix("s"), value, used)

    return read


def _toml_value(lines: list[str], key: str) -> tuple[list[str], object]:
    """The value of the key that opens the first line, and the lines that it takes."""
    for count in range(1, len(lines) + 1):
        text = "\n".join(lines[:count])
        if len(text) > STATEMENT_CHARACTERS:
            break
        try:
            return lines[:count], tomllib.loads(text)[key]
        except (tomllib.TOMLDecodeError, RecursionError):
            continue  # an array that goes on in the next line
    return [], None


def _setup_cfg(lines: list[str]) -> Iterator[Statement]:
    section = ""
    for line in lines:
        if header := re.fullmatch(r"\[([^\]]+)\]\s*", line):
            section = header[1]
        elif section == "metadata" and (
            key := re.match(r"(version|license|maintainer)\s*[=:]", line)
        ):
            value = line[key.end() :].strip()
            if value and not value.startswith(("attr:", "file:")):
                yield Statement(key[1], value, (line,))


def _package_json(lines: list[str]) -> Iterator[Statement]:
    try:
        package = json.loads("\n".join(lines))
    except (ValueError, RecursionError):
        return
    if not isinstance(package, dict):
        return
    for key in ("version", "license"):
        value = package.get(key)
        if isinstance(value, str):
            said = [line for line in lines if f'"{key}"' in line and json.dumps(value) in line]
            yield from _stated(key, value, said[:1])
    people = package.get("maintainers")
    if isinstance(people, list):
        opening = next((at for at, line in enumerate(lines) if '"maintainers"' in line), 0)
        names = [json.dumps(name, ensure_ascii=False)[1:-1] for name in _people(people)]
        after = lines[opening : opening + _SNIPPET_LINES]
        said = [line for line in after if any(n.split(" <")[0] in line for n in names)]
        yield from _stated("maintainer", people, said)


def _version(lines: list[str]) -> Iterator[Statement]:
    for line in _filled(lines)[:1]:
        if _VERSION.fullmatch(line.strip()):
            yield Statement("version", line.strip(), (line,))


def _license(lines: list[str]) -> Iterator[Statement]:
    filled = _filled(lines)
    for line in filled:
        if tag := _SPDX.search(line):
            yield Statement("license", tag[1].strip(), (line,))
    for identifier, title in _TITLES.items():
        opening = filled[: len(title)]
        said = [line.strip(" \t#").lower() for line in opening]
        if len(said) == len(title) and all(map(re.fullmatch, title, said)):
            yield Statement("license", identifier, tuple(opening))


def _maintainers(lines: list[str]) -> Iterator[Statement]:
    people = [line for line in _filled(lines) if not line.lstrip().startswith("#")]
    names = [line.strip().removeprefix("- ").removeprefix("* ").strip() for line in people]
    if 0 < len(names) <= MAINTAINER_LINES and all(names):
        yield Statement("maintainer", ", ".join(names), tuple(people))


def _code_owners(lines: list[str]) -> Iterator[Statement]:
    for line in reversed(lines):  # the last matching pattern takes precedence
        words = line.partition("#")[0].split()
        if len(words) > 1 and words[0] == "*":
            yield Statement("code_owner", ", ".join(words[1:]), (line,))


def _filled(lines: list[str]) -> list[str]:
    return [line for line in lines if line.strip()]


def _stated(attribute: str, value: object, lines: list[str]) -> Iterator[Statement]:
    """The statement of a manifest's value: a text, `{text = …}`, or a list of people."""
    if isinstance(value, dict):
        value = value.get("text")
    if attribute == "maintainer":
        value = ", ".join(_people(value)) if isinstance(value, list) else None
    said = tuple(_filled(lines))
    if isinstance(value, str) and value.strip() and "\n" not in value and said:
        yield Statement(attribute, value.strip(), said)


def _people(value: list[Any]) -> list[str]:
    """`Name <address>`, or the one of both that there is, for each person."""
    found = []
    for person in value:
        if isinstance(person, dict):
            name, address = person.get("name"), person.get("email")
            parts = [str(name)] if name else []
            parts += [f"<{address}>" if name else str(address)] if address else []
            found.append(" ".join(parts))
        else:
            found.append(str(person).strip())
    return [person for person in found if person]


_READERS: dict[str, Reader] = {
    "pyproject.toml": _toml("project", "tool.poetry"),
    "setup.cfg": _setup_cfg,
    "package.json": _package_json,
    "Cargo.toml": _toml("package", "workspace.package"),
    "VERSION": _version,
    "LICENSE": _license,
    "LICENSE.md": _license,
    "LICENSE.txt": _license,
    "COPYING": _license,
    "MAINTAINERS": _maintainers,
    "CODEOWNERS": _code_owners,
    ".github/CODEOWNERS": _code_owners,
}

PATHS = tuple(_READERS)
