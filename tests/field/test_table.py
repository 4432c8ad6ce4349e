"""The table of cases is whole: a row a case, and every test that it names is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CASES = [
    *(1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 14),
    *(15, 17, 18, 19, 20, 22),
    *(23, 24, 26, 27, 29),
    *(30, 31, 32, 34, 35, 36, 37, 40),
    *(41, 42, 44, 45, 46, 47, 49),
    *(51, 52, 53, 54, 55, 56, 57, 58, 60, 61, 63, 64),
    *(65, 67, 68, 69, 70, 71, 72),
    *(73, 75, 77, 78, 79),
    *(80, 81, 83, 84, 86, 87),
    *(101, 102, 103, 104, 105, 106, 107, 108),
]
ROWS = re.findall(r"^\| (\d+) \| (.+) \| (.+) \|$", (HERE / "README.md").read_text(), re.MULTILINE)
NAMED = {int(case): re.findall(r"`(tests/\S+\.py)::(\w+)`", tests) for case, _, tests in ROWS}


def test_every_case_has_its_row() -> None:
    assert [int(case) for case, _, _ in ROWS] == CASES


def test_every_test_that_is_named_is_there() -> None:
    for case, tests in NAMED.items():
        assert tests, case
        for path, name in tests:
            assert f"def {name}(" in (ROOT / path).read_text(), (case, path, name)


def test_every_test_here_tells_its_case_and_stands_in_the_row() -> None:
    for path in sorted(set(HERE.glob("test_*.py")) - {Path(__file__)}):
        for found in ast.parse(path.read_text()).body:
            if isinstance(found, ast.FunctionDef) and found.name.startswith("test_"):
                told = re.match(r"Cases? ([\d, and]+)", ast.get_docstring(found) or "")
                assert told is not None, found.name
                for case in re.findall(r"\d+", told[1]):
                    named = (f"tests/field/{path.name}", found.name)
                    assert named in NAMED[int(case)], (case, named)
