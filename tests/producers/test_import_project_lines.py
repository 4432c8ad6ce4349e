"""What a project's files state, and whose place a statement takes; both pure."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from producers.importers.git_history import Held, Key, State, settle
from producers.importers.project_lines import PATHS, STATEMENT_CHARACTERS, Statement, statements

PYPROJECT = """\
[build-system]
version = "9"  # not the project's

[project]
name = "x"
version = "1.2.0"  # comment
license = "MIT"
maintainers = [
    {name = "Ada Lamp", email = "ada@example.org"},
    {name = "Bo"},
    {email = "cy@example.org"},
]

[project.urls]
license = "https://example.org"
"""

PACKAGE = """\
{
  "scripts": {"version": "node v.js"},
  "version": "1.2.0",
  "license": "MIT",
  "maintainers": [
    "Ada Lamp <ada@example.org>",
    {"name": "Bo Märta"}
  ]
}
"""

APACHE = "\n                  Apache License\n            Version 2.0, January 2004\n  http://x\n"


@pytest.mark.parametrize(
    ("path", "text", "stated"),
    [
        (
            "pyproject.toml",
            PYPROJECT,
            {
                "version": "1.2.0",
                "license": "MIT",
                "maintainer": "Ada Lamp <ada@example.org>, Bo, cy@example.org",
            },
        ),
        ("pyproject.toml", '[tool.poetry]\nmaintainers = ["A <a@x>"]\n', {"maintainer": "A <a@x>"}),
        ("pyproject.toml", '[project]\nlicense = {text = "ISC"}\n', {"license": "ISC"}),
        ("pyproject.toml", '[project]\nlicense = {file = "LICENSE"}\nversion = 2\n', {}),
        ("pyproject.toml", '[project]\nversion = "1\nversion = [[[\n', {}),
        ("Cargo.toml", '[package]\r\nversion = "0.3.0-rc.1"\r\n', {"version": "0.3.0-rc.1"}),
        ("Cargo.toml", '[dependencies]\nversion = "1"\n', {}),
        (
            "setup.cfg",
            "[metadata]\nversion = 1.0\nlicense: MIT\nmaintainer = Ada\n[x]\nversion = 2\n",
            {"version": "1.0", "license": "MIT", "maintainer": "Ada"},
        ),
        ("setup.cfg", "[metadata]\nversion = attr: x.__version__\nlicense =\n", {}),
        (
            "package.json",
            PACKAGE,
            {
                "version": "1.2.0",
                "license": "MIT",
                "maintainer": "Ada Lamp <ada@example.org>, Bo Märta",
            },
        ),
        ("package.json", "[1]", {}),
        ("package.json", '{"version": 7, "license": {"type": "MIT"}', {}),
        ("VERSION", "\n1.0.3\nmore\n", {"version": "1.0.3"}),
        ("VERSION", "see pyproject.toml\n", {}),
        ("LICENSE", "MIT License\n\nCopyright\n", {"license": "MIT"}),
        ("LICENSE.md", "# The MIT License (MIT)\n", {"license": "MIT"}),
        ("COPYING", APACHE, {"license": "Apache-2.0"}),
        ("LICENSE.txt", "SPDX-License-Identifier: MIT OR ISC\n", {"license": "MIT OR ISC"}),
        ("LICENSE", "GNU GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007\n", {}),
        ("LICENSE", "MIT License with exceptions\n", {}),
        ("LICENSE", "", {}),
        ("MAINTAINERS", "# who\n\n- Ada <a@x>\n* Bo\n", {"maintainer": "Ada <a@x>, Bo"}),
        ("MAINTAINERS", "x\n" * 21, {}),
        ("CODEOWNERS", "*.md @cy\n* @ada @bo # all\n", {"code_owner": "@ada, @bo"}),
        (".github/CODEOWNERS", "* @ada\n* @bo\n/docs @cy\n", {"code_owner": "@bo"}),
    ],
)  # fmt: skip
def test_what_files_state(path: str, text: str, stated: dict[str, str]) -> None:
    found = statements(path, text)
    assert {statement.attribute: statement.value for statement in found} == stated
    for statement in found:
        assert statement.lines
        assert all(line in text and line.strip() for line in statement.lines)


def test_a_statement_quotes_all_its_lines() -> None:
    [maintainer] = [
        s for s in statements("pyproject.toml", PYPROJECT) if s.attribute == "maintainer"
    ]
    assert len(maintainer.lines) == 5
    [package] = [s for s in statements("package.json", PACKAGE) if s.attribute == "maintainer"]
    assert [line.strip() for line in package.lines] == [
        '"Ada Lamp <ada@example.org>",',
        '{"name": "Bo Märta"}',
    ]


def test_a_file_without_line_ends_states_nothing() -> None:
    packed = json.dumps({"version": "1.0", "blob": "x" * STATEMENT_CHARACTERS})
    assert statements("package.json", packed) == ()


PIECES = [
    "[project]\n", "[package]\n", "[metadata]\n", "version", " = ", '"1"', "\n", "\r\n", "[[[", "{",
    "}", "license", "maintainers", "maintainer", ":", "*", " @a", "SPDX-License-Identifier: ",
]  # fmt: skip
TEXTS = st.lists(st.text(max_size=8) | st.sampled_from(PIECES)).map("".join)


@given(st.sampled_from(PATHS), TEXTS)
def test_any_text_is_read_without_raising(path: str, text: str) -> None:
    found = statements(path, text)
    assert len({statement.attribute for statement in found}) == len(found)
    assert all(line in text and line.strip() for each in found for line in each.lines)


# ---- which statements a commit brings ----

VERSION = ("VERSION", "version")
TOML = ("pyproject.toml", "version")


def says(**of: str) -> dict[Key, Statement]:
    keys = {"file": VERSION, "toml": TOML}
    return {keys[name]: Statement("version", value, (value,)) for name, value in of.items()}


def step(commit: str, stated: dict[Key, Statement], *parents: State) -> tuple[State, list[str]]:
    """The new state, and what was brought as `FACT` or `FACT>SUPERSEDED`."""
    state, brought = settle(stated, parents, lambda key: f"{commit}.{key[0]}")
    return state, [f"{b.fact_id}>{b.supersedes}" if b.supersedes else b.fact_id for b in brought]


def test_a_change_supersedes_and_no_change_brings_nothing() -> None:
    one, brought = step("c1", says(file="1"))
    assert brought == ["c1.VERSION"]
    two, brought = step("c2", says(file="2"), one)
    assert brought == ["c2.VERSION>c1.VERSION"]
    assert step("c3", says(file="2"), two) == (two, [])


def test_two_files_have_a_line_each() -> None:
    one, _ = step("c1", says(file="1", toml="1"))
    two, brought = step("c2", says(file="1", toml="2"), one)
    assert brought == ["c2.pyproject.toml>c1.pyproject.toml"]
    assert step("c3", says(file="2", toml="2"), two)[1] == ["c3.VERSION>c1.VERSION"]


def test_a_statement_that_moves_supersedes_once() -> None:
    one, _ = step("c1", says(file="1"))
    two, brought = step("c2", says(toml="1"), one)
    assert brought == ["c2.pyproject.toml>c1.VERSION"]
    assert step("c3", says(toml="1", file="3"), two)[1] == ["c3.VERSION"]


def test_a_statement_that_vanished_is_taken_up_again() -> None:
    one, _ = step("c1", says(file="1"))
    gone, brought = step("c2", {}, one)
    assert (gone, brought) == (one, [])
    assert step("c3", says(file="1"), gone)[1] == []
    assert step("c3", says(file="2"), gone)[1] == ["c3.VERSION>c1.VERSION"]


def test_a_merge_takes_over_what_a_parent_said_and_states_nothing_new() -> None:
    base, _ = step("c1", says(file="1"))
    side, _ = step("c2", says(file="2"), base)
    merged, brought = step("m", says(file="2"), base, side)
    assert brought == []
    assert step("c3", says(file="3"), merged)[1] == ["c3.VERSION>c2.VERSION"]


@pytest.mark.parametrize("kept", ["2", "3"])
def test_a_merge_of_two_changes_resolves_neither(kept: str) -> None:
    base, _ = step("c1", says(file="1"))
    left, on_left = step("c2", says(file="2"), base)
    right, on_right = step("c3", says(file="3"), base)
    assert (on_left, on_right) == (["c2.VERSION>c1.VERSION"], ["c3.VERSION>c1.VERSION"])
    assert step("m", says(file=kept), left, right)[1] == []


def test_a_merge_that_says_something_else_supersedes_its_first_parents() -> None:
    left, right = {VERSION: Held("2", "f2")}, {VERSION: Held("3", "f3")}
    assert step("m", says(file="4"), left, right)[1] == ["m.VERSION>f2"]


VALUES = st.dictionaries(st.sampled_from(["file", "toml"]), st.sampled_from("123"))


@given(st.lists(VALUES, min_size=1, max_size=8))
def test_on_one_line_each_fact_is_superseded_at_most_once(history: list[dict[str, str]]) -> None:
    state: State = {}
    superseded: list[str] = []
    made: set[str] = set()
    for number, values in enumerate(history):
        stated = says(**values)
        state, brought = settle(stated, [state], lambda key, n=number: f"{n}.{key[0]}")  # type: ignore[misc]
        assert {key: state[key].value for key in stated} == {k: s.value for k, s in stated.items()}
        for item in brought:
            assert item.supersedes is None or item.supersedes in made
            superseded += [item.supersedes] if item.supersedes else []
        made |= {item.fact_id for item in brought}
    assert len(superseded) == len(set(superseded))
