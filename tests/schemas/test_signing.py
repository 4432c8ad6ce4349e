"""Signed envelopes (SPEC §2, §4): only a principal's own signature of these bytes is authentic."""

from __future__ import annotations

import hmac
import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.kinds import Kind
from schemas.signing import (
    SIGNATURE_HEADER,
    SIGNER_HEADER,
    Ed25519Key,
    Ed25519Signer,
    Headers,
    HmacKey,
    HmacSigner,
    Signer,
    VerificationKey,
    verify,
)

SECRET = bytes(range(32))
SINGLE = b"\xc3\x01fingerPRbody of the record"
CONFLUENT = b"\x00\x00\x00\x00\x07body of the record"
HMAC = HmacSigner("crm", SECRET)
ED25519 = Ed25519Signer("døcs", SECRET)
KEYS: dict[str, VerificationKey] = {"crm": HmacKey(SECRET), "døcs": Ed25519Key(ED25519.public)}
SIGNERS = pytest.mark.parametrize("signer", [HMAC, ED25519], ids=["hmac", "ed25519"])
FRAMES = pytest.mark.parametrize("payload", [SINGLE, CONFLUENT], ids=["single", "confluent"])


def who(
    payload: bytes, headers: Sequence[tuple[str, bytes | None]] | None, kind: Kind = Kind.GRANT
) -> str | None:
    return verify(kind, payload, headers, KEYS.get)


def sized(*parts: bytes) -> bytes:
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


@SIGNERS
@FRAMES
def test_what_was_signed_is_authentic(signer: Signer, payload: bytes) -> None:
    headers = signer.sign(Kind.GRANT, payload)
    assert who(payload, headers) == signer.name
    assert who(payload, [("trace", b"x"), *reversed(headers)]) == signer.name


@pytest.mark.parametrize(
    ("payload", "schema_id"), [(SINGLE, b"fingerPR"), (CONFLUENT, CONFLUENT[:5])]
)
def test_the_layout_is_golden(payload: bytes, schema_id: bytes) -> None:
    message = sized(b"mnemolog-event-v1", b"grant", schema_id, payload)
    expected = b"\x01" + hmac.digest(SECRET, message, "sha256")
    assert HMAC.sign(Kind.GRANT, payload) == [
        ("mnemolog-signer", b"crm"),
        ("mnemolog-signature", expected),
    ]
    ((_, _), (_, signature)) = ED25519.sign(Kind.GRANT, payload)
    assert signature[0] == 2
    assert len(signature) == 65
    assert KEYS["døcs"].verify(Kind.GRANT, schema_id, payload, signature[1:])


@SIGNERS
@given(st.data())
def test_no_changed_bit_is_authentic(signer: Signer, data: st.DataObject) -> None:
    (name, (header, signature)) = signer.sign(Kind.GRANT, SINGLE)
    forged_payload, forged_signature = bytearray(SINGLE), bytearray(signature)
    target = data.draw(st.sampled_from([forged_payload, forged_signature]))
    bit = data.draw(st.integers(0, len(target) * 8 - 1))
    target[bit // 8] ^= 1 << bit % 8
    assert who(bytes(forged_payload), [name, (header, bytes(forged_signature))]) is None


@SIGNERS
def test_a_signature_is_of_one_kind(signer: Signer) -> None:
    headers = signer.sign(Kind.GRANT, SINGLE)
    assert [kind for kind in Kind if who(SINGLE, headers, kind)] == [Kind.GRANT]


def test_a_signature_speaks_for_no_other_name() -> None:
    (_, signature) = HMAC.sign(Kind.GRANT, SINGLE)
    for name in (b"other", "døcs".encode(), b"", b"\xff", b"CRM", b"crm "):
        assert who(SINGLE, [(SIGNER_HEADER, name), signature]) is None


def test_an_algorithm_is_the_keys_not_the_records() -> None:
    (name, (header, signature)) = HMAC.sign(Kind.GRANT, SINGLE)
    for algorithm in (0, 2, 3, 255):
        assert who(SINGLE, [name, (header, bytes([algorithm]) + signature[1:])]) is None
    public_as_secret = HmacSigner("døcs", ED25519.public).sign(Kind.GRANT, SINGLE)
    assert who(SINGLE, public_as_secret) is None


def signed() -> Headers:
    return HMAC.sign(Kind.GRANT, SINGLE)


@pytest.mark.parametrize(
    "headers",
    [
        None,
        [],
        signed()[:1],
        signed()[1:],
        [*signed(), signed()[0]],
        [*signed(), signed()[1]],
        [*signed(), (SIGNER_HEADER, b"other")],
        [(SIGNER_HEADER, None), signed()[1]],
        [signed()[0], (SIGNATURE_HEADER, None)],
        [signed()[0], (SIGNATURE_HEADER, b"")],
        [signed()[0], (SIGNATURE_HEADER, b"\x01")],
        [signed()[0], (SIGNATURE_HEADER, signed()[1][1][:-1])],
        [signed()[0], (SIGNATURE_HEADER, signed()[1][1] + b"\x00")],
    ],
)
def test_other_than_one_of_each_header_is_not_authentic(
    headers: Sequence[tuple[str, bytes | None]] | None,
) -> None:
    assert who(SINGLE, headers) is None


@pytest.mark.parametrize("payload", [b"", b"\x00", b"\xc3\x01short", json.dumps({}).encode()])
@SIGNERS
def test_only_frames_are_signed(signer: Signer, payload: bytes) -> None:
    with pytest.raises(ValueError, match=r"Codec\.encode"):
        signer.sign(Kind.GRANT, payload)
    assert who(payload, signer.sign(Kind.GRANT, SINGLE)) is None


def test_a_secret_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        HmacSigner("crm", b"short")
