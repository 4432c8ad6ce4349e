"""The master secret: from one source, whole or not at all, never shown."""

from __future__ import annotations

import base64
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from schemas.errors import Unavailable
from schemas.files import replace, write_new
from schemas.master import MasterKey

SECRET = bytes(range(224, 256))
GOLDEN = MasterKey(SECRET).derive("signer:local")
SPELLINGS = [
    SECRET.hex(),
    SECRET.hex().upper(),
    base64.b64encode(SECRET).decode(),
    base64.urlsafe_b64encode(SECRET).decode(),
    base64.urlsafe_b64encode(SECRET).decode().rstrip("="),
    f" {SECRET.hex()}\n",
]


@pytest.mark.parametrize("text", SPELLINGS)
def test_every_spelling_of_the_variable_is_the_same_key(text: str, tmp_path: Path) -> None:
    assert MasterKey.load(tmp_path, {"MNEMOLOG_MASTER_KEY": text}).derive("signer:local") == GOLDEN
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [SECRET, *(text.encode() for text in SPELLINGS)])
def test_a_file_holds_text_or_raw_bytes(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(content)
    loaded = MasterKey.load(tmp_path / "data", {"MNEMOLOG_MASTER_KEY_FILE": str(path)})
    assert loaded.derive("signer:local") == GOLDEN
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("text", ["secret", "0" * 32, "0" * 63, "g" * 64, "ä" * 32, "A" * 40])
def test_a_malformed_key_is_refused_and_not_shown(text: str, tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text(text)
    for env in ({"MNEMOLOG_MASTER_KEY": text}, {"MNEMOLOG_MASTER_KEY_FILE": str(path)}):
        with pytest.raises(Unavailable) as caught:
            MasterKey.load(tmp_path / "data", env)
        assert text not in str(caught.value).replace(str(path), "")
        assert "openssl rand" in caught.value.remedy


def test_no_source_is_passed_over(tmp_path: Path) -> None:
    both = {"MNEMOLOG_MASTER_KEY": SECRET.hex(), "MNEMOLOG_MASTER_KEY_FILE": "x"}
    with pytest.raises(Unavailable, match="unset one"):
        MasterKey.load(tmp_path, both)
    with pytest.raises(Unavailable, match="cannot read"):
        MasterKey.load(tmp_path, {"MNEMOLOG_MASTER_KEY_FILE": str(tmp_path / "absent")})
    with pytest.raises(Unavailable, match="cannot read"):
        MasterKey.load(tmp_path, {}, create=False)
    assert list(tmp_path.iterdir()) == []


def test_the_data_directory_keeps_one_key_for_itself(tmp_path: Path) -> None:
    data = tmp_path / "new" / "data"
    first = MasterKey.load(data, {}).derive("x")
    assert MasterKey.load(data, {}, create=False).derive("x") == first
    assert stat.S_IMODE((data / "master.key").stat().st_mode) == 0o600
    assert [path.name for path in data.iterdir()] == ["master.key"]


def test_many_starters_agree_on_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: MasterKey.load(tmp_path, {}).derive("x"), range(32)))
    assert len(set(found)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["master.key"]


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    MasterKey.load(tmp_path, {})
    (tmp_path / "master.key").chmod(0o640)
    with pytest.raises(Unavailable, match="chmod 600"):
        MasterKey.load(tmp_path, {})


def test_secrets_are_derived_by_hkdf_with_a_label_each() -> None:
    master = MasterKey(SECRET)
    assert master.derive("a") != master.derive("b")
    assert len(master.derive("a", 64)) == 64
    assert master.derive("a", 64)[:32] == master.derive("a")
    # RFC 5869: extract is an HMAC keyed with the salt
    import hmac

    extracted = hmac.digest(b"mnemolog-master-v1", SECRET, "sha256")
    expanded = HKDFExpand(algorithm=SHA256(), length=32, info=b"a").derive(extracted)
    assert master.derive("a") == expanded


def test_the_key_is_never_shown() -> None:
    shown = f"{MasterKey(SECRET)!r} {MasterKey(SECRET)}"
    assert SECRET.hex() not in shown
    assert repr(SECRET) not in shown


def test_a_new_file_never_takes_a_name(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert write_new(path, b"first")
    assert not write_new(path, b"second")
    assert path.read_bytes() == b"first"
    replace(path, b"third")
    assert path.read_bytes() == b"third"
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "child").touch()
    with pytest.raises(Unavailable, match="cannot write"):
        replace(tmp_path / "taken", b"x")
    assert os.listdir(tmp_path) == ["taken"]
