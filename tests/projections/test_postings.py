"""The bytes of posting blocks, pinned, and the damage that reading them finds."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projections.postings import (
    BLOCK,
    FREQUENCY_LIMIT,
    LENGTHS_KEY,
    PostingsDamaged,
    bucket_key,
    build_block,
    checked,
    read_lengths,
    read_postings,
    unpack,
)
from projections.text import search_form, tokens


def block_of(*texts: str) -> list[str]:
    return [*texts, *[""] * (BLOCK - len(texts))]


def postings_of(rows: dict[bytes, bytes], block: int, term: str) -> dict[int, int]:
    key = bucket_key(term)
    places, frequencies = unpack(read_postings(checked(block, key, rows[key]), term.encode()))
    return dict(zip(places.tolist(), frequencies.tolist(), strict=True))


def test_golden_bytes_of_a_row() -> None:
    rows = build_block(7, block_of("Berlin", "", "berlin, Berlin!"))
    assert bucket_key("berlin") == b"t\x2d"
    assert rows[b"t\x2d"].hex() == (
        "01000000" "08000000"  # one term, eight bytes of names
        "02000000"  # its postings end after the second
        "006265726c696e00"  # NUL berlin NUL
        "0100" "8200"  # record 0 once, record 2 twice
        "0b581cdc"  # CRC-32 over the block number, the key and the above
    )  # fmt: skip
    assert rows[LENGTHS_KEY].hex() == "06000000000000000f000000" + "00" * 4084 + "0bc82fe0"
    assert rows[b"t\x00"].hex() == "0000000001000000003c04493f"


def test_golden_digest_of_a_block() -> None:
    texts = [f"record {n} of bay-{n % 7}: 船検査 {'again ' * (n % 80)}" for n in range(BLOCK)]
    rows = build_block(3, texts)
    digest = hashlib.sha256()
    for key in sorted(rows):
        digest.update(key + len(rows[key]).to_bytes(4, "little") + rows[key])
    assert digest.hexdigest() == (
        "84f8b4ccccf244568482c41a5bf2f19d0022812cfe242f59d1d51b06ac59bee8"
    )


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.text("ab1 -港船검사ก่,é", max_size=12), max_size=12),
    st.integers(0, 2**32 - 1),
)
def test_a_block_holds_every_token_of_every_text(few: list[str], block: int) -> None:
    texts = block_of(*few, *few)
    rows = build_block(block, texts)
    for term in {token for text in few for token in tokens(text)}:
        expected = {place: tokens(text).count(term) for place, text in enumerate(texts)}
        found = postings_of(rows, block, term)
        assert found == {place: count for place, count in expected.items() if count}
    lengths = read_lengths([checked(block, LENGTHS_KEY, rows[LENGTHS_KEY])])
    assert lengths.tolist() == [len(search_form(text)) for text in texts]


def test_an_absent_term_has_no_postings_though_another_contains_it() -> None:
    rows = build_block(0, block_of("harbour"))
    for term in ("harbou", "arbour", "r", "harbours"):
        assert postings_of(rows, 0, term) == {}


def test_the_last_record_and_the_greatest_frequency_fit() -> None:
    texts = block_of()
    texts[-1] = "again " * 1000
    assert postings_of(build_block(0, texts), 0, "again") == {BLOCK - 1: FREQUENCY_LIMIT}


@pytest.mark.parametrize("count", [0, BLOCK - 1, BLOCK + 1])
def test_a_block_takes_exactly_its_number_of_texts(count: int) -> None:
    with pytest.raises(ValueError, match="1024"):
        build_block(0, ["text"] * count)


def test_a_missing_changed_or_misplaced_row_is_damage() -> None:
    rows = build_block(0, block_of("Berlin"))
    key = bucket_key("berlin")
    row = rows[key]
    assert checked(0, key, row) == row
    for at in range(len(row)):
        with pytest.raises(PostingsDamaged, match="check sum"):
            checked(0, key, row[:at] + bytes((row[at] ^ 1,)) + row[at + 1 :])
        with pytest.raises(PostingsDamaged, match="check sum"):
            checked(0, key, row[:at])
    with pytest.raises(PostingsDamaged, match="missing"):
        checked(0, key, None)
    with pytest.raises(PostingsDamaged, match="check sum"):
        checked(1, key, row)
    with pytest.raises(PostingsDamaged, match="check sum"):
        checked(0, bucket_key("paris"), row)
