"""Encoded and compressed bodies are opened to their text, strictly, and never take more memory than is allowed."""

import base64
import gzip
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idempotent_consumer import envelopes
from idempotent_consumer.envelopes import Opener
from idempotent_consumer.errors import ConfigurationError, UnreadableMessageError
from idempotent_consumer.message import Envelope, Opened

WHOLE = gzip.compress(b"hello" * 100)


def opened(opener: Opener, body: str) -> Opened:
    inside = opener(body)
    assert isinstance(inside, Opened)
    return inside


def refusal(opener: Opener, body: str) -> str:
    with pytest.raises(UnreadableMessageError) as refused:
        opener(body)
    return str(refused.value)


def in_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_base64_is_opened_to_its_text_with_or_without_line_breaks() -> None:
    text = "é🐑" * 50

    for encoded in (in_base64(text.encode()), base64.encodebytes(text.encode()).decode().replace("\n", "\r\n")):
        assert opened(envelopes.base64_text(), encoded) == Opened(text, Envelope("base64", {}))


@pytest.mark.parametrize(
    "encoded", ["w6k", "w6k=x", "w6k==", "QQ==QQ==", "w 6k=", "-_8=", "=", "wé6k=", "\ud800", "/w==", "/////w=="]
)
def test_what_is_not_utf_8_in_strict_base64_is_unreadable(encoded: str) -> None:
    assert "the body is not base64: it is not" in refusal(envelopes.base64_text(), encoded)


@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress])
@given(text=st.text(), cut=st.integers(0, 100))
def test_gzip_and_zlib_are_opened_to_their_text(compress: Callable[[bytes], bytes], text: str, cut: int) -> None:
    encoded = in_base64(compress(text.encode()))

    assert opened(envelopes.gzip_base64(), encoded[:cut] + "\n" + encoded[cut:]) == Opened(text, Envelope("gzip", {}))


def test_gzip_of_several_members_is_opened_to_all_of_them_even_where_they_part_a_character() -> None:
    encoded = in_base64(gzip.compress(b"a\xc3") + gzip.compress(b"") + gzip.compress(b"\xa9" + b"b" * 10_000))

    assert opened(envelopes.gzip_base64(), encoded).body == "aé" + "b" * 10_000


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "cut short"),
        (WHOLE[:1], "cut short"),
        (WHOLE[:-1], "cut short"),
        (WHOLE + WHOLE[:-1], "cut short"),
        (zlib.compress(b"hello")[:-1], "cut short"),
        (WHOLE + b"\x00", "something follows"),
        (WHOLE + b"\x1f", "something follows"),
        (WHOLE + zlib.compress(b"hello"), "something follows"),
        (zlib.compress(b"hello") + WHOLE, "something follows"),
        (WHOLE[:-5] + bytes([WHOLE[-5] ^ 1]) + WHOLE[-4:], "cannot be inflated"),
        (b"plain text", "cannot be inflated"),
        (gzip.compress(b"\xff"), "not UTF-8"),
    ],
)
def test_compressed_data_that_is_not_whole_and_alone_is_unreadable(data: bytes, problem: str) -> None:
    assert problem in refusal(envelopes.gzip_base64(), in_base64(data))


def test_what_decodes_to_just_the_limit_is_opened_and_a_byte_more_says_how_to_raise_it() -> None:
    for opener, encode in ((envelopes.gzip_base64, gzip.compress), (envelopes.base64_text, bytes)):
        assert opened(opener(largest=1_000), in_base64(encode(b"x" * 1_000))).body == "x" * 1_000
        assert "more than 1,000 bytes: pass largest= to" in refusal(
            opener(largest=1_000), in_base64(encode(b"x" * 1_001))
        )


def test_the_limit_is_for_all_members_together() -> None:
    assert "more than 1,000 bytes" in refusal(
        envelopes.gzip_base64(largest=1_000), in_base64(gzip.compress(b"x" * 600) * 2)
    )


def bomb_of_one_stream(mebibytes: int) -> bytes:
    stream = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    one = stream.compress(bytes(2**20)) + stream.flush(zlib.Z_FULL_FLUSH)  # after it, the same bytes can follow again
    return b"\x1f\x8b\x08" + bytes(7) + one * mebibytes + stream.flush() + b"checksum is never reached"


@pytest.mark.parametrize("bomb", [bomb_of_one_stream(1_024), gzip.compress(bytes(2**20)) * 1_024])
def test_a_bomb_of_a_gigabyte_gets_no_more_memory_than_its_limit(bomb: bytes) -> None:
    body, opener = in_base64(bomb), envelopes.gzip_base64(largest=2**20)

    tracemalloc.start()
    said = refusal(opener, body)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert "more than 1,048,576 bytes" in said
    assert peak < 2 * len(body) + 4 * 2**20


@pytest.mark.timeout(10)
def test_a_great_many_members_cost_what_they_are_long() -> None:
    members = gzip.compress(b"") * 200_000

    assert opened(envelopes.gzip_base64(), in_base64(members)).body == ""


@pytest.mark.parametrize("largest", [0, -1, True, None, 1.5, "1000"])
def test_a_limit_that_is_no_number_of_bytes_is_a_configuration_error(largest: Any) -> None:
    for factory in (envelopes.base64_text, envelopes.gzip_base64):
        with pytest.raises(ConfigurationError, match="largest"):
            factory(largest=largest)
