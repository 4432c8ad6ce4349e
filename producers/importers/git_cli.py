"""The git command, asked in a way that a hostile repository cannot answer with code.

- No shell; arguments and answers are separated by NUL or prefixed by their length, so that nothing
  a repository holds can pass for structure.
- The source is never worked in: it is cloned, bare and without its configuration, hooks, attributes
  or templates, into a temporary directory (a directory's objects are shared, not copied).
  System and user configuration are not read; nothing but files is fetched from; pagers and prompts
  are off.
- A partial clone is refused: git would fetch what it lacks with a command that the repository
  names. A shallow one is refused too: with more history its commits would say something else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from producers.importers.report import UnreadableSource, shown
from schemas.errors import Unavailable

_CHUNK = 65_536
_FOLDER, _REGULAR = b"40000", b"100"  # modes of a tree; a regular file's end is its permissions
_PARTIAL = ("extensions.partialclone", ".promisor", ".partialclonefilter")


class Git:
    """A private clone of the source at `directory`; valid inside `opened` alone."""

    def __init__(self, source: Path, directory: Path, tool: _Tool) -> None:
        self._source = source
        self._inside = ["--git-dir", os.fspath(directory)]
        self._tool = tool

    def output(self, *arguments: str) -> str:
        """The whole answer of a short command."""
        return self._tool.run(*self._inside, *arguments).decode()

    def fields(self, *arguments: str) -> Iterator[bytes]:
        """The NUL-terminated fields of a long answer, one after another."""
        with (
            tempfile.TemporaryFile() as errors,
            self._process(arguments, errors, stdin=subprocess.DEVNULL) as process,
        ):
            rest = b""
            while chunk := _pipe(process.stdout).read(_CHUNK):
                *whole, rest = (rest + chunk).split(b"\0")
                yield from whole
            if process.wait():
                errors.seek(0)
                raise _failed(self._source, errors.read())

    @contextmanager
    def objects(self) -> Iterator[Objects]:
        """A reader of files and contents."""
        with self._process(("cat-file", "--batch"), subprocess.DEVNULL) as process:
            yield Objects(self._source, process)

    @contextmanager
    def _process(
        self, arguments: Sequence[str], errors: IO[bytes] | int, stdin: int = subprocess.PIPE
    ) -> Iterator[subprocess.Popen[bytes]]:
        with subprocess.Popen(
            self._tool.command(*self._inside, *arguments),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=self._tool.environment,
        ) as process:
            try:
                yield process
            finally:
                process.kill()


class Objects:
    """Files of commits by path, and contents of blobs by object id."""

    def __init__(self, source: Path, process: subprocess.Popen[bytes]) -> None:
        self._source = source
        self._requests = _pipe(process.stdin)
        self._answers = _pipe(process.stdout)

    def files(self, commit: str, paths: Sequence[str]) -> dict[str, str]:
        """The object ids of those of `paths` that are regular files in the commit's tree."""
        trees = {"": self._tree(f"{commit}^{{tree}}", commit)}
        found = {}
        for path in paths:
            folder, _, name = path.rpartition("/")
            if folder not in trees:
                mode, oid = trees[""].get(folder.encode(), (b"", ""))
                trees[folder] = self._tree(oid, commit) if mode == _FOLDER else {}
            mode, oid = trees[folder].get(name.encode(), (b"", ""))
            if mode.startswith(_REGULAR):
                found[path] = oid
        return found

    def content(self, oid: str, limit: int) -> bytes | None:
        """The bytes of a blob, or None where there are more than `limit`."""
        size = self._ask(oid, b"blob")
        content = self._read(min(size, limit))
        for at in range(limit, size, _CHUNK):
            self._read(min(_CHUNK, size - at))
        self._read(1)
        return content if size <= limit else None

    def _tree(self, name: str, commit: str) -> dict[bytes, tuple[bytes, str]]:
        """(mode, object id) by name: entries are `MODE NAME NUL ID`, the id as bytes."""
        raw = self._read(self._ask(name, b"tree"))
        self._read(1)
        width = len(commit) // 2
        entries = {}
        at = 0
        while at < len(raw):
            mode, _, entry = raw[at : raw.index(b"\0", at)].partition(b" ")
            start = at + len(mode) + len(entry) + 2
            at = start + width
            entries[entry] = (mode, raw[start:at].hex())
        return entries

    def _ask(self, name: str, kind: bytes) -> int:
        """Asks for an object; its size in bytes, which are to be read next, and then a newline."""
        self._requests.write(f"{name}\n".encode())
        self._requests.flush()
        words = self._answers.readline().split()
        if len(words) != 3 or words[1] != kind:
            raise _damaged(self._source)
        return int(words[2])

    def _read(self, size: int) -> bytes:
        content = self._answers.read(size)
        if len(content) != size:
            raise _damaged(self._source)
        return content


@contextmanager
def opened(source: Path) -> Iterator[Git]:
    """A private clone of a repository (bare or not) or `.bundle`, gone when the block ends.

    Raises `UnreadableSource`, or `Unavailable` where git is not installed.
    """
    with tempfile.TemporaryDirectory(prefix="mnemolog-git-") as temporary:
        home = Path(temporary)
        tool = _Tool(source, home)
        where = Path(os.path.abspath(source))
        if where.is_dir():
            _refuse_partial(where, tool)
        elif not where.is_file():
            raise UnreadableSource(source, "no such file or directory", "name one that exists")
        shared = ["--shared"] if where.is_dir() else []
        clone = home / "clone.git"
        options = ("--bare", "--quiet", "--template=", *shared)
        tool.run("clone", *options, "--", os.fspath(where), os.fspath(clone))
        git = Git(source, clone, tool)
        if git.output("rev-parse", "--is-shallow-repository").strip() == "true":
            raise UnreadableSource(
                source, "a shallow clone, without its older commits", "git fetch --unshallow first"
            )
        yield git


class _Tool:
    """The git executable and the environment that it runs in; `home` stands for the user's."""

    def __init__(self, source: Path, home: Path) -> None:
        git = shutil.which("git")
        if git is None:
            raise Unavailable("git", "the git command is not installed", "install git")
        config = home / "config"
        config.write_text(
            "[safe]\n\tdirectory = *\n"
            "[core]\n\thooksPath = /dev/null\n\tfsmonitor = false\n\tattributesFile = /dev/null\n"
        )
        self._source = source
        self._git = git
        self.environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": os.fspath(home),
            "XDG_CONFIG_HOME": os.fspath(home),
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.fspath(config),
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_CEILING_DIRECTORIES": os.path.dirname(os.path.abspath(source)),
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": "file",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
        }

    def command(self, *arguments: str) -> list[str]:
        return [self._git, "--no-pager", *arguments]

    def run(self, *arguments: str) -> bytes:
        done = subprocess.run(
            self.command(*arguments),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise _failed(self._source, done.stderr)
        return done.stdout


def _refuse_partial(directory: Path, tool: _Tool) -> None:
    listed = tool.run("-C", os.fspath(directory), "config", "--list", "-z")
    names = (entry.partition("\n")[0] for entry in listed.decode(errors="replace").split("\0"))
    if any(name.endswith(_PARTIAL) for name in names):
        raise UnreadableSource(
            directory, "a partial clone, without all its objects", "import a full clone or a bundle"
        )


def _failed(source: Path, stderr: bytes) -> UnreadableSource:
    said = stderr.decode(errors="replace").strip().splitlines() or ["git failed"]
    return UnreadableSource(
        source, shown(said[-1], 300), "give the top folder of a git repository, or a full bundle"
    )


def _damaged(source: Path) -> UnreadableSource:
    return UnreadableSource(source, "an object is missing or damaged", "run git fsck in it")


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise AssertionError("the process was started without this pipe")
    return pipe
