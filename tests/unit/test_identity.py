"""What may identify a message, how it is written, and the key that is made of it."""

import hashlib
import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idempotent_consumer.clock import Deadline
from idempotent_consumer.errors import (
    ConfigurationError,
    MissingMessageIdError,
    PermanentError,
    UnusableMessageIdError,
)
from idempotent_consumer.identity import (
    CompositeId,
    MessageIdStrategy,
    consumer_name_problem,
    key_of,
    message_id_of,
)
from idempotent_consumer.message import read_message
from idempotent_consumer.strategies import body_field
from idempotent_consumer.testing import FakeClock, sqs_record


def found(strategy: MessageIdStrategy, body: object = "{}", **record: Any) -> str:
    return message_id_of(read_message(sqs_record(body, **record), Deadline(FakeClock())), strategy)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# -- What can be an id ----------------------------------------------------------------------------


@pytest.mark.parametrize("body", [{}, {"id": None}, {"other": 1}, [], "null", "42", '"text"'])
def test_an_id_that_is_not_there_is_missing(body: object) -> None:
    with pytest.raises(MissingMessageIdError):
        found(body_field("id"), body)


@pytest.mark.parametrize("blank", ["", " ", "\t\r\n", "\N{NO-BREAK SPACE}", "\N{IDEOGRAPHIC SPACE}"])
def test_a_blank_text_is_no_id(blank: str) -> None:
    with pytest.raises(UnusableMessageIdError, match="blank"):
        found(body_field("id"), {"id": blank})


@pytest.mark.parametrize("value", [True, False, 1.0, 0.5, 1e300, float("nan"), [], ["a"], [1, 2], {}, {"id": "a"}])
def test_neither_booleans_nor_floats_nor_lists_nor_objects_are_ids(value: object) -> None:
    with pytest.raises(UnusableMessageIdError, match=type(value).__name__):
        found(body_field("id"), {"id": value})


@pytest.mark.parametrize("value", [b"bytes", bytearray(b"bytes"), 1j, time(9, 30), timedelta(1), object(), set()])
def test_what_is_no_text_by_a_written_rule_is_no_id_whoever_returns_it(value: object) -> None:
    with pytest.raises(UnusableMessageIdError, match=f"{type(value).__name__}: only text"):
        found(lambda message: value)


@pytest.mark.parametrize("value", [["a", "b"], ("a", "b"), {"a": "b"}])
def test_where_several_values_are_no_id_the_error_says_how_they_become_one(value: object) -> None:
    with pytest.raises(UnusableMessageIdError, match=re.escape("body_field('a', 'b')")):
        found(lambda message: value)


@pytest.mark.parametrize("value", [["s3cr3t"], {"s3cr3t": 1}, b"s3cr3t", ("s3cr3t",)])
def test_what_is_no_id_is_not_quoted(value: object) -> None:
    with pytest.raises(UnusableMessageIdError) as refusal:
        found(lambda message: value)

    assert "s3cr3t" not in str(refusal.value)


@pytest.mark.parametrize("value", ["\ud800", "a\udfffb"])
def test_a_lone_surrogate_is_no_id(value: str) -> None:
    with pytest.raises(UnusableMessageIdError, match="no valid text"):
        found(body_field("id"), {"id": value})


def test_an_unusable_id_can_never_succeed() -> None:
    assert issubclass(UnusableMessageIdError, PermanentError)


def test_42_and_its_digits_are_the_same_id() -> None:
    assert found(body_field("id"), '{"id": 42}') == found(body_field("id"), '{"id": "42"}') == "42"


@pytest.mark.parametrize("digits", ["0", "-7", "12345678901234567890", "9" * 300])
def test_a_whole_number_keeps_every_digit(digits: str) -> None:
    assert found(body_field("id"), f'{{"id": {digits}}}') == digits


def test_a_number_that_is_too_long_to_be_written_is_no_id() -> None:
    with pytest.raises(UnusableMessageIdError, match="too long"):
        found(lambda message: 10**5_000)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (UUID("6F9619FF-8B86-D011-B42D-00C04FC964FF"), "6f9619ff-8b86-d011-b42d-00c04fc964ff"),
        (date(2026, 3, 1), "2026-03-01"),
        (datetime(2026, 3, 1, 12, tzinfo=UTC), "2026-03-01T12:00:00+00:00"),
        (datetime(2026, 3, 1, 17, 45, tzinfo=timezone(timedelta(hours=5, minutes=45))), "2026-03-01T12:00:00+00:00"),
        (Decimal("1.10"), "1.1"),
        (Decimal("42.00"), "42"),
        (Decimal("4.2E+1"), "42"),
        (Decimal("-0.0"), "0"),
        (
            Decimal("12345678901234567890.123456789012345678901234567890"),
            "12345678901234567890.12345678901234567890123456789",
        ),
        (Decimal("1E-3"), "0.001"),
    ],
)
def test_what_stands_for_one_text_is_written_as_that_text(value: object, expected: str) -> None:
    assert found(lambda message: value) == expected


@pytest.mark.parametrize("value", [Decimal("NaN"), Decimal("Infinity"), Decimal("1E+101"), Decimal("1E-999999")])
def test_a_decimal_that_is_no_number_or_endless_to_write_is_no_id(value: Decimal) -> None:
    with pytest.raises(UnusableMessageIdError, match="Decimal"):
        found(lambda message: value)


def test_a_time_of_no_time_zone_is_no_id() -> None:
    with pytest.raises(UnusableMessageIdError, match="no time zone"):
        found(lambda message: datetime(2026, 3, 1))  # noqa: DTZ001


# -- Composite ids --------------------------------------------------------------------------------

PARTS = st.lists(st.text(st.sampled_from('a|,#"[]\\ \u2028é'), min_size=1).filter(str.strip), min_size=1, max_size=4)


@given(one=PARTS, other=PARTS)
def test_no_two_sets_of_parts_are_written_alike(one: list[str], other: list[str]) -> None:
    written = [found(lambda message, parts=parts: CompositeId(tuple(parts))) for parts in (one, other)]

    assert (written[0] == written[1]) == (one == other)


def test_each_part_of_a_composite_id_is_written_by_the_rules_for_a_single_one() -> None:
    composite = CompositeId((42, "é", CompositeId((UUID(int=0), "b"))))

    assert found(lambda message: composite) == '["42","é",["00000000-0000-0000-0000-000000000000","b"]]'


@pytest.mark.parametrize("part", ["", " ", True, 1.5, None, "\ud800", ["a"]])
def test_a_part_that_could_be_no_id_spoils_the_composite_one(part: object) -> None:
    with pytest.raises(UnusableMessageIdError):
        found(lambda message: CompositeId(("a", part)))


# -- Texts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [" 42 ", "042", "Order-1", "order-1", "é", "e\u0301", "a#b", "🐑", "0"])
def test_a_text_is_an_id_exactly_as_it_was_sent(text: str) -> None:
    assert found(body_field("id"), {"id": text}) == text


class Colour(str, Enum):  # noqa: UP042 - unlike StrEnum, its text is not its value
    RED = "red"


class Number(int, Enum):
    SEVEN = 7


@pytest.mark.parametrize(("value", "expected"), [(Colour.RED, "red"), (Number.SEVEN, "7")])
def test_a_member_of_an_enumeration_is_its_value(value: object, expected: str) -> None:
    message_id = found(lambda message: value)

    assert (message_id, type(message_id)) == (expected, str)


def test_an_id_strategy_may_not_ask_for_the_id() -> None:
    with pytest.raises(ConfigurationError, match="must not ask for the id"):
        found(lambda message: message.id)


# -- Keys -----------------------------------------------------------------------------------------


def test_a_key_is_the_message_id_scoped_by_the_consumer() -> None:
    assert key_of("place-order", "o-1") == "place-order#o-1"


@pytest.mark.parametrize("message_id", ["x" * 2_046, "é" * 1_023, "🐑" * 511 + "xx"])
def test_a_key_of_2048_bytes_is_stored_as_it_is(message_id: str) -> None:
    assert key_of("c", message_id) == f"c#{message_id}"


@pytest.mark.parametrize("message_id", ["x" * 2_047, "é" * 1_023 + "x", "🐑" * 512, "x" * 100_000])
def test_a_key_of_more_than_2048_bytes_of_utf_8_holds_the_hash_of_the_id(message_id: str) -> None:
    assert key_of("c", message_id) == f"c#sha256:{sha256(message_id)}"


def test_an_id_cannot_pose_as_the_hash_of_another() -> None:
    long_id = "x" * 3_000

    assert key_of("c", long_id) != key_of("c", f"sha256:{sha256(long_id)}")


CONSUMERS = st.sampled_from(["a", "a:b", "a/b", "a.b-c_d"])
IDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5).flatmap(
    lambda text: st.sampled_from([text, text * 700, f"#{text}", f"sha256:{text}", f"sha256:{sha256(text * 700)}"])
)


@given(one=st.tuples(CONSUMERS, IDS), other=st.tuples(CONSUMERS, IDS))
def test_two_messages_never_share_a_key_and_every_key_fits(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (one == other) == (key_of(*one) == key_of(*other))
    assert len(key_of(*one).encode()) <= 2_048


@pytest.mark.parametrize("name", ["a", "place-order", "Orders.v2", "team/orders:place_1", "0", "x" * 128])
def test_a_stable_name_can_name_a_consumer(name: str) -> None:
    assert consumer_name_problem(name) is None


@pytest.mark.parametrize("name", ["a#b", "#", "", " ", "a b", "a\n", "-a", "é", "x" * 129, None, 42, b"a"])
def test_what_would_blur_the_keys_cannot_name_a_consumer(name: object) -> None:
    problem = consumer_name_problem(name)

    assert problem is not None
    assert repr(name) in problem
