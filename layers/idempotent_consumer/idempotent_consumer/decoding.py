"""Texts out of base64 and gzip. What a producer sends decides neither how much memory they take nor how long."""

from __future__ import annotations

import base64
import zlib

from idempotent_consumer.errors import UnreadableMessageError

_GZIP_BEGINS = b"\x1f\x8b"
_GZIP_WINDOW = 16 + zlib.MAX_WBITS
_PIECE = 4 * 1024
"""Bytes that zlib gets at a time. It copies what lies beyond the end of a gzip member: if that were all the rest, many
small members would cost the square of their number."""


def bytes_of(text: str) -> bytes:
    """
    Decode base64: the standard alphabet with padding, in one line or broken into several.

    Raises:
        UnreadableMessageError: it is something else.
    """
    try:
        return base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except ValueError as error:
        raise UnreadableMessageError(f"it is not base64: {error}") from error


def inflated(data: bytes, largest: int) -> bytearray:
    """
    Inflate gzip, of one member or several, or zlib.

    Args:
        data: what was deflated.
        largest: bytes that the result may have. Inflating ends there, so that a bomb gets no memory.

    Raises:
        UnreadableMessageError: it is neither, is cut short, is followed by something else or is too large.
    """
    result = bytearray()
    if not data.startswith(_GZIP_BEGINS):
        end = _inflate(data, 0, zlib.MAX_WBITS, result, largest)
    else:
        end = 0
        while data.startswith(_GZIP_BEGINS, end):
            end = _inflate(data, end, _GZIP_WINDOW, result, largest)
    if end < len(data):
        raise UnreadableMessageError("something follows the compressed data")
    return result


def text_of(data: bytes | bytearray) -> str:
    """
    Read UTF-8.

    Raises:
        UnreadableMessageError: it is something else.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UnreadableMessageError(f"it is not UTF-8: {error.reason} at byte {error.start}") from error


def check_size(size: int, largest: int) -> None:
    """
    Refuse more bytes than are allowed.

    Raises:
        UnreadableMessageError: saying how to allow more.
    """
    if size > largest:
        raise UnreadableMessageError(f"it decodes to more than {largest:,} bytes: pass largest= to allow more")


def _inflate(data: bytes, begin: int, window: int, result: bytearray, largest: int) -> int:
    """Append what one stream holds, and return where it ends."""
    stream = zlib.decompressobj(window)
    rest = memoryview(data)
    while not stream.eof and begin < len(data):
        piece = rest[begin : begin + _PIECE]
        try:
            result += stream.decompress(piece, largest - len(result) + 1)
        except zlib.error as error:
            raise UnreadableMessageError(f"it cannot be inflated: {error}") from error
        check_size(len(result), largest)
        begin += len(piece) - len(stream.unused_data)
    if not stream.eof:
        raise UnreadableMessageError("the compressed data is cut short")
    return begin
