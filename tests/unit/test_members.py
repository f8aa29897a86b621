"""The members of a JSON object are found as json.loads finds them, and each keeps the text that it was sent as."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idempotent_consumer.errors import UnreadableMessageError
from idempotent_consumer.members import Members

NAMES = st.text(max_size=5) | st.sampled_from(["detail", "id", "source", "a"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
BLANKS = st.text(" \t\r\n", max_size=3)
NUMBERS = ["0.1234567890123456789012345", "1.10", "1e400", "-0", "12345678901234567890", "1E-7", "9" * 5_000]


def members(body: str) -> Members:
    found = Members.of(body)
    assert found is not None
    return found


@st.composite
def objects(draw: st.DrawFn) -> tuple[str, list[tuple[str, Any]]]:
    """Draw an object's JSON with blanks in all places, and its members in order, names twice included."""
    content = draw(st.lists(st.tuples(NAMES, VALUES), max_size=6))
    written = []
    for name, value in content:
        layout = {"ensure_ascii": draw(st.booleans()), "indent": draw(st.none() | st.just(1))}
        parts = [json.dumps(name, ensure_ascii=draw(st.booleans())), ":", json.dumps(value, **layout)]
        written.append("".join(draw(BLANKS) + part for part in parts) + draw(BLANKS))
    return draw(BLANKS) + "{" + (",".join(written) or draw(BLANKS)) + "}" + draw(BLANKS), content


@given(objects())
def test_every_member_is_found_whatever_stands_around_it_and_of_two_with_one_name_the_last(
    drawn: tuple[str, list[tuple[str, Any]]],
) -> None:
    body, content = drawn

    found = members(body)

    assert {name: json.loads(found.json(name)) for name, _ in content} == dict(content) == found.without()


@given(
    drawn=objects(), place=st.integers(0, 200), put=st.sampled_from(["", *'{}[]",:\\\x00 0-.eE\ufeff', "null", "NaN"])
)
def test_an_object_is_what_the_json_module_takes_for_one(drawn: Any, place: int, put: str) -> None:
    place %= len(drawn[0])
    body = drawn[0][:place] + put + drawn[0][place + 1 :]
    try:
        expected = json.loads(body)
    except ValueError:
        expected = None

    found = Members.of(body)

    assert (found is not None) == isinstance(expected, dict)
    if found is not None:
        assert repr(dict(found.without())) == repr(expected)  # NaN equals nothing, not even itself


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_keeps_its_digits(number: str) -> None:
    body = f'{{"detail": {{"n": [{number}]}}, "n":{number} }}'

    assert members(body).json("detail") == f'{{"n": [{number}]}}'
    assert members(body).json("n") == number


def test_a_name_written_with_escapes_is_the_same_name() -> None:
    assert members(r'{"\u0064etail": 1, "id": "\u00e9"}').json("detail") == "1"


def test_a_text_is_what_the_string_holds_and_nothing_else_is_a_text() -> None:
    found = members(r'{"a": "\"\ud83d\ude00\ud800", "b": 1, "c": null, "d": ["x"]}')

    assert [found.text(name) for name in "abcde"] == ['"😀\ud800', None, None, None, None]


def test_a_member_that_is_missing_is_null_but_not_there() -> None:
    assert (members("{}").json("a"), "a" in members("{}"), "a" in members('{"a": null}')) == ("null", False, True)


@pytest.mark.parametrize(
    "body", ["", " ", "{", "}", "[]", "null", '"{}"', "{}{}", "{} x", '{"a":1,}', "{,}", "{a:1}", "\ufeff{}", "{'a':1}"]
)
def test_what_is_no_object_has_no_members(body: str) -> None:
    assert Members.of(body) is None


@pytest.mark.parametrize("deep", ["[" * 100_000, '{"a":' * 100_000, '{"a":' + "[" * 100_000 + "]" * 100_000 + "}"])
def test_what_is_nested_deeper_than_can_be_read_has_no_members(deep: str) -> None:
    assert Members.of(deep) is None


def test_the_members_besides_the_content_are_read_only_and_do_not_ask_what_the_content_is() -> None:
    found = members('{"detail": ' + "9" * 5_000 + ', "id": "a", "n": 1.5}').without("detail")

    assert found == {"id": "a", "n": 1.5}
    with pytest.raises(TypeError):
        found["id"] = "b"  # type: ignore[index]


def test_a_number_that_the_interpreter_does_not_read_makes_the_members_unreadable() -> None:
    with pytest.raises(UnreadableMessageError, match="cannot be read"):
        members('{"n": ' + "9" * 5_000 + "}").without()
