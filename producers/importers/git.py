"""Repositories: every commit is an observation, and what it states makes assertions (SPEC §2).

- Order: parents before children, oldest first by committer time. A commit's time is its committer
  time, and its facts hold from then on. The actor is the author's address with the role `user`.
- The content of a commit:

      commit HASH
      author: NAME <ADDRESS>
      authored: TIME
      committer: NAME <ADDRESS>
      committed: TIME

      MESSAGE

      stated in FILE:
      LINE …

  with a last part for each statement that the commit brought (`git_history.py`): what a file at the
  root says of the project (`project_lines.py`). Quotes are exact spans of these lines.
- Facts: (commit hash, `author`), and (repository name, attribute) for each statement brought.
- A statement supersedes the one that it took the place of on the first-parent line. What two
  branches state differently stays a conflict, whichever one a merge keeps. A statement that
  vanishes without a successor is not retracted: it may have been right.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from producers.importers.build import assertion, derived_id, observation
from producers.importers.git_cli import Objects, opened
from producers.importers.git_history import Brought, Key, State, settle
from producers.importers.project_lines import PATHS, Statement, statements
from producers.importers.report import Item, Progress, ScopeJson, Skipped, no_progress, shown
from schemas.errors import InvalidEvent
from schemas.times import MICROS, check_instant

METHOD = "git-import"
FILE_BYTES = 262_144

_FIELDS = ("%H", "%P", "%an", "%ae", "%aI", "%cn", "%ce", "%cI", "%ct", "%B")
_LOG = ("log", "-z", "--all", "--date-order", "--reverse", "--encoding=UTF-8")
_NEXT = "none: history cannot be changed; the other commits are read"


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as git tells it; `committed_at` in µs, the other times as text."""

    hash: str
    author: str
    actor: str
    authored: str
    committer: str
    committed: str
    committed_at: int
    message: str


def read_git(
    path: Path, scope: ScopeJson, *, progress: Progress = no_progress, name: str | None = None
) -> Iterator[Item]:
    """Events of a repository, bare repository or `.bundle`. Position: commits read.

    `name` is the entity of the project's facts, by default the name of the path without `.git` or
    `.bundle`. Raises `UnreadableSource`, or `Unavailable` where git is not installed.
    """
    entity = name or repository_name(path)
    states: dict[str, State] = {}
    with opened(path) as git, git.objects() as objects:
        files = _Files(objects)
        records = _grouped(git.fields(*_LOG, f"--format={'%x00'.join(_FIELDS)}"))
        for position, fields in enumerate(records, start=1):
            hashed = fields[0].decode()
            parents = [states[parent] for parent in fields[1].decode().split()]
            fact_id = partial(_fact_id, entity, hashed)
            stated, faults = files.stated(hashed)
            state, brought = settle(stated, parents, fact_id)
            try:
                events = _events(scope, entity, _commit(hashed, fields), brought)
            except InvalidEvent as error:
                where = f"commit {hashed}, {error.fault.field}"
                events = [Skipped(where, error.fault.detail, _NEXT)]
            except UnicodeDecodeError:
                events = [Skipped(f"commit {hashed}", "author or message is not UTF-8", _NEXT)]
            else:
                states[hashed] = state
            # The next commit states what a skipped one would have: it sees its parent's state.
            states.setdefault(hashed, parents[0] if parents else {})
            yield from events
            yield from faults
            progress(position)


def measure_git(path: Path) -> int:
    """The total of `read_git`: the number of commits. Raises as it does."""
    with opened(path) as git:
        return int(git.output("rev-list", "--count", "--all"))


def repository_name(path: Path) -> str:
    """What a repository is called, from its path."""
    whole = Path(os.path.abspath(path))
    name = whole.parent.name if whole.name == ".git" else whole.name
    for suffix in (".git", ".bundle"):
        name = name.removesuffix(suffix)
    return shown(name, 256) or "repository"


def _fact_id(entity: str, hashed: str, key: Key) -> str:
    return derived_id("git-fact", entity, hashed, *key)


def _grouped(fields: Iterable[bytes]) -> Iterator[list[bytes]]:
    """The fields of one commit after another."""
    record: list[bytes] = []
    for field in fields:
        record.append(field)
        if len(record) == len(_FIELDS):
            yield record
            record = []


def _commit(hashed: str, fields: list[bytes]) -> Commit:
    author, address, authored, committer, mail, committed, stamp, message = (
        field.decode() for field in fields[2:]
    )
    seconds = int(stamp) if stamp.isdigit() else MICROS**3  # out of range: refused as such
    return Commit(
        hash=hashed,
        author=f"{author} <{address}>",
        actor=address or author or "unknown",
        authored=authored,
        committer=f"{committer} <{mail}>",
        committed=committed,
        committed_at=check_instant(seconds * MICROS, "committer time"),
        message=message.strip("\n"),
    )


class _Files:
    """What the watched files of a commit state; each content is read and parsed once."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._parsed: dict[tuple[str, str], tuple[Statement, ...]] = {}

    def stated(self, hashed: str) -> tuple[dict[Key, Statement], list[Item]]:
        """The statements of a commit's files, and its files that prove unreadable, each once."""
        stated: dict[Key, Statement] = {}
        faults: list[Item] = []
        for path, oid in self._objects.files(hashed, PATHS).items():
            if (path, oid) not in self._parsed:
                text = self._text(oid)
                if isinstance(text, Skipped):
                    faults.append(Skipped(f"commit {hashed}, {path}", text.reason, text.remedy))
                found = statements(path, text) if isinstance(text, str) else ()
                self._parsed[path, oid] = found
            for statement in self._parsed[path, oid]:
                stated[path, statement.attribute] = statement
        return stated, faults

    def _text(self, oid: str) -> str | Skipped:
        raw = self._objects.content(oid, FILE_BYTES)
        if raw is None:
            return Skipped("", f"larger than {FILE_BYTES} bytes", "none: it states nothing")
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            return Skipped("", "not UTF-8", "none: it states nothing")
        return Skipped("", "holds a NUL", "none: it states nothing") if "\0" in text else text


class _Text:
    """A text that grows, and tells the byte span of each piece."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._size = 0

    def add(self, piece: str) -> tuple[int, int]:
        start = self._size
        self.pieces.append(piece)
        self._size += len(piece.encode())
        return start, self._size


def _events(scope: ScopeJson, entity: str, commit: Commit, brought: list[Brought]) -> list[Item]:
    """The observation of a commit, and the assertions of its author and of what it brought."""
    text = _Text()
    text.add(f"commit {commit.hash}\nauthor: ")
    author = text.add(commit.author)
    text.add(
        f"\nauthored: {commit.authored}\ncommitter: {commit.committer}"
        f"\ncommitted: {commit.committed}\n\n{commit.message}\n"
    )
    spans: list[list[tuple[int, int]]] = []
    for item in brought:
        text.add(f"\nstated in {item.path}:\n")
        spans.append([_line(text, line) for line in item.statement.lines])
    source = observation(
        scope,
        f"git-{commit.hash}",
        commit.committed_at,
        (commit.actor, "user"),
        "".join(text.pieces),
    )
    fact_id = derived_id("git-author", commit.hash)
    key = (commit.hash, "author")
    events: list[Item] = [
        source,
        assertion(source, fact_id, METHOD, key, commit.author, [author], None),
    ]
    for item, lines in zip(brought, spans, strict=True):
        key = (entity, item.statement.attribute)
        value = item.statement.value
        events.append(assertion(source, item.fact_id, METHOD, key, value, lines, item.supersedes))
    return events


def _line(text: _Text, line: str) -> tuple[int, int]:
    """Adds a line; the span of what is not blank in it."""
    text.add(line[: len(line) - len(line.lstrip())])
    span = text.add(line.strip())
    text.add(f"{line[len(line.rstrip()) :]}\n")
    return span
