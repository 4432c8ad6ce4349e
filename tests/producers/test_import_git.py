"""Repositories: commits are observations, their files' lines facts, their content never code."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from producers.importers import IMPORTERS, Skipped, UnreadableSource
from producers.importers.git import FILE_BYTES, read_git, repository_name
from schemas.errors import Unavailable
from tests.producers.importing import SCOPE, Json, contents, facts, imported

GIT = IMPORTERS["git"]
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "Ada Lamp",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Bo Märta",
    "GIT_COMMITTER_EMAIL": "bo@example.org",
}


class Repository:
    """A repository to write to; each commit is a minute later than the one before."""

    def __init__(self, path: Path, *options: str) -> None:
        self.path = path
        self.minute = 0
        path.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main", *options)

    def git(self, *arguments: str, **environment: str) -> str:
        done = subprocess.run(
            ["git", "-C", os.fspath(self.path), *arguments],
            env=ENVIRONMENT | environment,
            check=True,
            capture_output=True,
        )
        return done.stdout.decode(errors="replace").strip()

    def commit(self, message: str = "change", **files: str) -> str:
        """Writes files (`__` in a name is a dot) and commits them; the commit's hash."""
        for name, text in files.items():
            (self.path / name.replace("__", ".")).write_text(text)
        self.git("add", "--all")
        self._commit(message)
        return self.git("rev-parse", "HEAD")

    def _commit(self, message: str) -> None:
        self.minute += 1
        authored = f"2026-01-02T03:{self.minute:02}:00+01:00"
        committed = f"2026-01-02T04:{self.minute:02}:00+02:00"
        self.git(
            "commit", "--quiet", "--allow-empty", "--allow-empty-message", "-m", message,
            GIT_AUTHOR_DATE=authored, GIT_COMMITTER_DATE=committed,
        )  # fmt: skip


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "lamps")


def read(repository: Repository | Path) -> tuple[list[Json], list[Skipped]]:
    path = repository if isinstance(repository, Path) else repository.path
    return imported(GIT, path)


def project_facts(events: list[Json]) -> list[tuple[str, str, str]]:
    return [fact for fact in facts(events) if fact[1] != "author"]


def test_a_commit_is_an_observation_and_its_lines_are_facts(repository: Repository) -> None:
    hashed = repository.commit("Start\n\nThe body: 月.", VERSION="1.0\n", pyproject__toml="[x]\n")
    [source, author, version], skipped = read(repository)
    assert not skipped
    assert source["content"] == (
        f"commit {hashed}\n"
        "author: Ada Lamp <ada@example.org>\n"
        "authored: 2026-01-02T03:01:00+01:00\n"
        "committer: Bo Märta <bo@example.org>\n"
        "committed: 2026-01-02T04:01:00+02:00\n"
        "\n"
        "Start\n\nThe body: 月.\n"
        "\n"
        "stated in VERSION:\n"
        "1.0\n"
    )
    assert source["event_id"] == f"git-{hashed}"
    assert source["occurred_at"] == "2026-01-02T02:01:00.000000Z"
    assert source["actor"] == {"id": "ada@example.org", "role": "user"}
    assert facts([author, version]) == [
        (hashed, "author", "Ada Lamp <ada@example.org>"),
        ("lamps", "version", "1.0"),
    ]
    assert version["justifications"][0]["premises"][0]["quote"] == "1.0"


def test_a_bump_supersedes_along_the_first_parent_line(repository: Repository) -> None:
    repository.commit(VERSION="1.0\n")
    repository.commit(README="x\n")
    repository.commit(VERSION="1.1\n")
    events, _ = read(repository)
    first, second = (e for e in events if e.get("attribute") == "version")
    assert second["supersedes"] == first["fact_id"]
    assert len(events) == 3 * 2 + 2


def test_branches_that_differ_are_left_to_conflict(repository: Repository) -> None:
    repository.commit(MAINTAINERS="Ada\n")
    repository.git("branch", "side")
    repository.commit(MAINTAINERS="Bo\n")
    repository.git("switch", "--quiet", "side")
    repository.commit(MAINTAINERS="Cy\n")
    repository.git("switch", "--quiet", "main")
    later = {f"GIT_{who}_DATE": "2026-02-01T00:00:00Z" for who in ("AUTHOR", "COMMITTER")}
    repository.git("merge", "--quiet", "--no-ff", "-X", "ours", "-m", "merge", "side", **later)
    events, _ = read(repository)
    ada, *others = (e for e in events if e.get("attribute") == "maintainer")
    assert [e["value"] for e in others] == ["Bo", "Cy"]
    assert [e["supersedes"] for e in others] == [ada["fact_id"], ada["fact_id"]]


def test_older_commits_say_the_same_when_the_history_grows(repository: Repository) -> None:
    repository.commit(VERSION="1.0\n")
    before, _ = read(repository)
    repository.commit(VERSION="2.0\n")
    after, _ = read(repository)
    assert after[: len(before)] == before


def test_repository_bare_clone_and_bundle_are_the_same(
    repository: Repository, tmp_path: Path
) -> None:
    repository.commit(VERSION="1.0\n")
    repository.git("tag", "v1")
    repository.commit(VERSION="2.0\n")
    bare, bundle = tmp_path / "bare" / "lamps.git", tmp_path / "lamps.bundle"
    repository.git("clone", "--quiet", "--bare", ".", os.fspath(bare))
    repository.git("bundle", "create", os.fspath(bundle), "--all")
    assert read(bare) == read(bundle) == read(repository)
    repository.git("checkout", "--quiet", "--detach")
    repository.commit(VERSION="3.0\n")
    assert project_facts(read(repository)[0])[-1] == ("lamps", "version", "3.0")


def test_a_repository_of_sha256_hashes_is_read(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "lamps", "--object-format=sha256")
    hashed = repository.commit(VERSION="1.0\n")
    events, _ = read(repository)
    assert len(hashed) == 64
    assert project_facts(events) == [("lamps", "version", "1.0")]


def test_files_in_folders_are_not_the_projects_own(repository: Repository) -> None:
    for folder in (".github", "vendor"):
        (repository.path / folder).mkdir()
        (repository.path / folder / "CODEOWNERS").write_text("* @ada\n")
        (repository.path / folder / "VERSION").write_text("1.0\n")
    repository.commit()
    assert project_facts(read(repository)[0]) == [("lamps", "code_owner", "@ada")]


def test_an_empty_repository_is_nothing(repository: Repository) -> None:
    assert read(repository) == ([], [])


def test_the_name_may_be_given(repository: Repository) -> None:
    repository.commit(VERSION="1.0\n")
    events = list(read_git(repository.path, SCOPE, name="garden"))
    assert [
        e["entity"] for e in events if isinstance(e, dict) and e.get("attribute") == "version"
    ] == ["garden"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/x/lamps", "lamps"),
        ("/x/lamps/", "lamps"),
        ("/x/lamps.git", "lamps"),
        ("/x/lamps.bundle", "lamps"),
        ("/x/lamps/.git", "lamps"),
        ("/x/lamps/../lights", "lights"),
        ("/x/検査_é", "検査_é"),
        (os.fsdecode(b"/x/bad\xff"), "bad\\udcff"),
        ("/", "repository"),
    ],
)
def test_the_name_comes_from_the_path(path: str, name: str) -> None:
    assert repository_name(Path(path)) == name


@pytest.mark.parametrize(
    "name", ["検査_é", "検査_e\u0301", os.fsdecode(b"bad\xff"), "-lamps", "a b;$(x)"]
)
def test_any_path_works(tmp_path: Path, name: str) -> None:
    repository = Repository(tmp_path / "港" / name)
    repository.commit(VERSION="1.0\n")
    events, skipped = read(repository)
    assert (len(events), skipped) == (3, [])


# ---- what cannot come in ----


def raw_commit(repository: Repository, head: bytes, message: bytes) -> None:
    tree = repository.git("rev-parse", "HEAD^{tree}")
    done = subprocess.run(
        ["git", "-C", os.fspath(repository.path), "hash-object", "-w", "-t", "commit", "--stdin",
         "--literally"],
        input=b"tree " + tree.encode() + b"\n" + head + b"\n" + message,
        env=ENVIRONMENT, check=True, capture_output=True,
    )  # fmt: skip
    repository.git("update-ref", "refs/heads/raw", done.stdout.decode().strip())


PERSON = b"A <a@example.org> 1767400000 +0100\n"


@pytest.mark.parametrize(
    ("head", "message", "reason"),
    [
        (b"author " + PERSON + b"committer " + PERSON, b"gr\xfcn\n", "author or message is not"),
        (b"author \xff" + PERSON + b"committer " + PERSON, b"x\n", "author or message is not"),
        (b"author " + PERSON + b"committer A <a@b> 9999999999999 +0000\n", b"x\n", "outside years"),
        (b"author " + PERSON + b"committer A <a@b>\n", b"x\n", "outside years"),
        (b"author " + PERSON + b"committer " + PERSON, b"x" * 1_048_577, "10487"),
        (b"author A <" + b"a" * 300 + b"> 1 +0000\ncommitter " + PERSON, b"x\n", "300 bytes"),
    ],
)  # fmt: skip
def test_a_bad_commit_is_named_and_the_others_go_on(
    repository: Repository, head: bytes, message: bytes, reason: str
) -> None:
    repository.commit(VERSION="1.0\n")
    raw_commit(repository, head, message)
    events, [skipped] = read(repository)
    assert len(contents(events)) == 1
    assert skipped.where.startswith("commit ")
    assert skipped.reason.startswith(reason)


def test_a_declared_encoding_is_honoured(repository: Repository) -> None:
    repository.commit()
    raw_commit(
        repository,
        b"author " + PERSON + b"committer " + PERSON + b"encoding iso-8859-1\n",
        b"gr\xfcn\n",
    )
    assert any("\ngrün\n" in content for content in contents(read(repository)[0]))


def test_the_commit_after_a_skipped_one_states_what_that_one_would_have(
    repository: Repository,
) -> None:
    repository.commit(VERSION="1.0\n")
    repository.commit("x" * 100, VERSION="2.0\n")
    tree = repository.git("rev-parse", "HEAD^{tree}")
    repository.git("reset", "--quiet", "--hard", "HEAD^")
    parent = repository.git("rev-parse", "HEAD")
    raw_commit(
        repository,
        b"parent " + parent.encode() + b"\nauthor " + PERSON + b"committer " + PERSON,
        b"\xff",
    )
    bad = repository.git("rev-parse", "raw")
    child = repository.git("commit-tree", tree, "-p", bad, "-m", "child")
    repository.git("update-ref", "refs/heads/raw", child)
    events, skipped = read(repository)
    assert len(skipped) == 1
    first, second = (e for e in events if e.get("attribute") == "version")
    assert (second["value"], second["supersedes"]) == ("2.0", first["fact_id"])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"1.0" + b" " * FILE_BYTES, f"larger than {FILE_BYTES} bytes"),
        (b"1.0\xff", "not UTF-8"),
        (b"1.0\n\0", "holds a NUL"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_once(
    repository: Repository, content: bytes, reason: str
) -> None:
    (repository.path / "VERSION").write_bytes(content)
    repository.commit()
    repository.commit(README="x")
    events, [skipped] = read(repository)
    assert len(contents(events)) == 2
    assert skipped.where.endswith(", VERSION")
    assert skipped.reason == reason


def test_a_replaced_commit_is_read_as_it_was(repository: Repository) -> None:
    first = repository.commit(VERSION="1.0\n")
    second = repository.commit(VERSION="2.0\n")
    before = read(repository)
    repository.git("replace", second, first)
    assert read(repository) == before


def test_folders_and_links_in_the_place_of_files_state_nothing(repository: Repository) -> None:
    (repository.path / "LICENSE").mkdir()
    (repository.path / "LICENSE" / "MIT").write_text("MIT License\n")
    (repository.path / "VERSION").symlink_to("/etc/hostname")
    repository.commit()
    assert project_facts(read(repository)[0]) == []


# ---- sources that are none, or would run something ----


def test_what_is_no_repository_is_refused(tmp_path: Path) -> None:
    plain, inside = tmp_path / "plain.bundle", Repository(tmp_path / "r").path / "folder"
    plain.write_text("not a bundle")
    inside.mkdir()
    for path in (tmp_path, plain, inside):
        with pytest.raises(UnreadableSource) as caught:
            list(GIT.read(path, SCOPE))
        assert "top folder" in caught.value.remedy


def test_a_shallow_or_partial_clone_is_refused(repository: Repository, tmp_path: Path) -> None:
    repository.commit(VERSION="1.0\n")
    repository.commit(VERSION="2.0\n")
    shallow = tmp_path / "shallow"
    url = repository.path.as_uri()
    repository.git("clone", "--quiet", "--depth=1", url, os.fspath(shallow))
    with pytest.raises(UnreadableSource, match="shallow"):
        list(GIT.read(shallow, SCOPE))
    repository.git("config", "extensions.partialClone", "origin")
    with pytest.raises(UnreadableSource, match="partial"):
        list(GIT.read(repository.path, SCOPE))


def test_a_damaged_repository_is_refused(repository: Repository) -> None:
    repository.commit(VERSION="1.0\n")
    oid = repository.git("rev-parse", "HEAD:VERSION")
    blob = repository.path / ".git" / "objects" / oid[:2] / oid[2:]
    blob.chmod(0o644)
    blob.write_bytes(b"\0")
    with pytest.raises(UnreadableSource, match="damaged"):
        list(GIT.read(repository.path, SCOPE))


def test_without_git_it_is_said_what_to_install(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(Unavailable, match="install git"):
        list(GIT.read(repository.path, SCOPE))


COMMANDS = ["core.fsmonitor", "core.pager", "core.sshCommand", "diff.external", "gpg.program",
            "diff.x.textconv", "diff.x.command", "filter.x.smudge", "uploadpack.packObjectsHook",
            "core.askPass", "core.editor", "credential.helper", "log.mailmap"]  # fmt: skip


def test_nothing_that_a_repository_configures_is_run(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker, trap = tmp_path / "run", tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\necho $0 $@ >> '{marker}'\n")
    trap.chmod(0o755)
    repository.commit(
        VERSION="1.0\n",
        __gitattributes="* diff=x filter=x\n",
        __mailmap="E <e@x> <ada@example.org>\n",
    )
    for name in COMMANDS:
        repository.git("config", name, os.fspath(trap))
    repository.git("config", "log.showSignature", "true")
    for hook in ("post-checkout", "reference-transaction", "pre-auto-gc", "post-merge"):
        (repository.path / ".git" / "hooks" / hook).write_text(trap.read_text())
        (repository.path / ".git" / "hooks" / hook).chmod(0o755)
    user = tmp_path / "user-config"
    user.write_text(f"[core]\n\tfsmonitor = {trap}\n\thooksPath = {repository.path}/.git/hooks\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.fspath(user))
    monkeypatch.setenv("GIT_DIR", os.fspath(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", os.fspath(trap))
    marker.unlink(missing_ok=True)
    events, _ = read(repository)
    assert not marker.exists(), marker.read_text()
    assert events[0]["actor"]["id"] == "ada@example.org"


def tree_of(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in sorted(folder.rglob("*"))}


@pytest.mark.parametrize("stop", [lambda items: list(items), lambda items: next(items)])
def test_the_source_is_not_changed_and_nothing_is_left_behind(
    repository: Repository,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    stop: Callable[[object], object],
) -> None:
    repository.commit(VERSION="1.0\n")
    repository.commit(VERSION="2.0\n")
    temporary = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr("tempfile.tempdir", os.fspath(temporary))
    before = tree_of(repository.path)
    items = GIT.read(repository.path, SCOPE)
    stop(items)
    assert hasattr(items, "close")
    items.close()
    assert tree_of(repository.path) == before
    assert list(temporary.iterdir()) == []
