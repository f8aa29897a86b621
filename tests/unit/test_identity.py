"""What may identify a message, where it is looked for, and the key that is made of it."""

import hashlib
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idempotent_consumer.clock import Deadline
from idempotent_consumer.errors import (
    ConfigurationError,
    MissingMessageIdError,
    PermanentError,
    UnreadableMessageError,
    UnusableMessageIdError,
)
from idempotent_consumer.identity import (
    MessageIdStrategy,
    attribute,
    body_field,
    consumer_name_problem,
    first_of,
    key_of,
    message_id_of,
    sqs_message_id,
)
from idempotent_consumer.message import read_message
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
    with pytest.raises(UnusableMessageIdError, match=f"({type(value).__name__})"):
        found(body_field("id"), {"id": value})


@pytest.mark.parametrize("value", [b"bytes", bytearray(b"bytes"), Decimal(42), ("a",), object()])
def test_what_a_strategy_of_ones_own_returns_is_no_id_either_unless_text_or_a_whole_number(value: object) -> None:
    with pytest.raises(UnusableMessageIdError, match="only text and whole numbers"):
        found(lambda message: value)


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


# -- Where it is looked for -----------------------------------------------------------------------


def test_an_attribute_gives_the_id() -> None:
    assert found(attribute("message-id"), attributes={"message-id": "m-1"}) == "m-1"


def test_a_number_attribute_gives_the_digits_that_were_sent() -> None:
    record = sqs_record("{}") | {"messageAttributes": {"n": {"stringValue": "0042.0", "dataType": "Number"}}}

    assert message_id_of(read_message(record, Deadline(FakeClock())), attribute("n")) == "0042.0"


@pytest.mark.parametrize("name", ["message-id", "Message-Id ", "message_id"])
def test_only_the_exact_name_of_an_attribute_counts(name: str) -> None:
    with pytest.raises(MissingMessageIdError, match=name):
        found(attribute(name), attributes={"Message-Id": "m-1"})


@pytest.mark.parametrize("value", ["", "  ", b"m-1"])
def test_a_blank_or_binary_attribute_is_unusable(value: str | bytes) -> None:
    with pytest.raises(UnusableMessageIdError) as refusal:
        found(attribute("message-id"), attributes={"message-id": value})

    assert not isinstance(refusal.value, MissingMessageIdError)


@pytest.mark.parametrize(
    ("path", "expected"), [("order.id", "o-1"), ("lines[0].sku", "s-1"), ('"a-b"', "x"), ("lines[].n | [0]", "7")]
)
def test_a_path_into_the_body_gives_the_id(path: str, expected: str) -> None:
    body = {"order": {"id": "o-1"}, "lines": [{"sku": "s-1", "n": 7}], "a-b": "x"}

    assert found(body_field(path), body) == expected


@pytest.mark.parametrize("body", ["", "text", "{", "\ufeff{}", "[" * 100_000, '{"id": ' + "9" * 5_000 + "}"])
def test_a_body_that_is_not_json_has_no_field(body: str) -> None:
    with pytest.raises(UnreadableMessageError):
        found(body_field("id"), body)


def test_a_path_that_a_body_does_not_fit_makes_the_message_unusable() -> None:
    with pytest.raises(UnusableMessageIdError):
        found(body_field("length(id)"), {"id": 42})


def test_the_sqs_message_id_is_the_id_only_where_asked_for() -> None:
    assert found(sqs_message_id(), sqs_message_id="s-1") == "s-1"


def test_a_record_without_sqs_message_id_has_none_to_give() -> None:
    record = sqs_record("{}") | {"messageId": None}

    with pytest.raises(MissingMessageIdError):
        message_id_of(read_message(record, Deadline(FakeClock())), sqs_message_id())


def test_an_id_strategy_may_not_ask_for_the_id() -> None:
    with pytest.raises(ConfigurationError, match="must not ask for the id"):
        found(lambda message: message.id)


# -- first_of -------------------------------------------------------------------------------------

EITHER = first_of(attribute("message-id"), body_field("id"))


def test_the_first_place_that_holds_an_id_wins() -> None:
    assert found(EITHER, {"id": "body"}, attributes={"message-id": "attribute"}) == "attribute"


def test_an_empty_place_sends_first_of_on_to_the_next() -> None:
    assert found(EITHER, {"id": "body"}) == "body"


@pytest.mark.parametrize("unusable", ["", " ", b"bytes"])
def test_an_unusable_place_refuses_the_message_and_does_not_go_on(unusable: str | bytes) -> None:
    with pytest.raises(UnusableMessageIdError):
        found(EITHER, {"id": "body"}, attributes={"message-id": unusable})


@pytest.mark.parametrize("unusable", [False, 0.0, [], {}])
def test_a_falsy_value_is_unusable_and_not_missing(unusable: object) -> None:
    with pytest.raises(UnusableMessageIdError):
        found(first_of(body_field("id"), attribute("message-id")), {"id": unusable}, attributes={"message-id": "m"})


def test_a_strategy_that_refuses_what_it_found_is_not_passed_over() -> None:
    def refuse(_: object) -> str:
        raise UnusableMessageIdError("two ids that contradict each other")

    with pytest.raises(UnusableMessageIdError, match="contradict"):
        found(first_of(refuse, attribute("message-id")), attributes={"message-id": "m"})


def test_a_strategy_that_returns_none_has_found_nothing() -> None:
    assert found(first_of(lambda message: None, attribute("message-id")), attributes={"message-id": "m"}) == "m"


def test_where_no_place_holds_an_id_every_place_is_named() -> None:
    with pytest.raises(MissingMessageIdError, match=r"'message-id'.*'id'"):
        found(EITHER, {})


def test_first_of_may_stand_within_first_of() -> None:
    assert found(first_of(EITHER, sqs_message_id()), {}, sqs_message_id="s-1") == "s-1"


@pytest.mark.parametrize("make", [first_of, lambda: attribute(""), lambda: body_field(""), lambda: body_field("a[")])
def test_a_strategy_that_could_never_find_anything_is_a_configuration_error(make: Any) -> None:
    with pytest.raises(ConfigurationError):
        make()


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
