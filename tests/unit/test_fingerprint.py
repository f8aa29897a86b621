"""When two bodies count as the same content."""

import hashlib
import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idempotent_consumer.canonical import compiled, select, write_json
from idempotent_consumer.errors import ConfigurationError
from idempotent_consumer.fingerprint import FingerprintSpecification, same_content


def fingerprint(body: str, *paths: str) -> str:
    return FingerprintSpecification(paths or ("@",)).of(body)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a": 1, "b": {"c": 2, "d": 3}}', '{"b": {"d": 3, "c": 2}, "a": 1}'),
        ('{"a":[1,2]}', ' {\n  "a" : [ 1 , 2 ]\n}\n'),
        ('{"a": 42}', '{"a": 42.0}'),
        ('{"a": 42}', '{"a": 4.2e1}'),
        ('{"a": 1.5}', '{"a": 1.50}'),
        ('{"a": 0}', '{"a": -0.0}'),
        ('{"a": 9007199254740993}', '{"a": 9007199254740993.0}'),
        ('{"a": 12345678901234567890}', '{"a": 1.2345678901234567890e19}'),
        ('{"a": 0.10}', '{"a": 1e-1}'),
        ('{"a": "é"}', '{"a": "\\u00e9"}'),
        ('{"a": "🐑"}', '{"a": "\\ud83d\\udc11"}'),
        ('{"a": "/"}', '{"a": "\\/"}'),
    ],
)
def test_the_way_json_is_written_makes_no_difference(one: str, other: str) -> None:
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a": 1}', '{"a": 2}'),
        ('{"a": 42}', '{"a": "42"}'),
        ('{"a": 1}', '{"a": true}'),
        ('{"a": 0}', '{"a": false}'),
        ('{"a": null}', "{}"),
        ('{"a": []}', '{"a": {}}'),
        ('{"a": [1, 2]}', '{"a": [2, 1]}'),
        ('{"a": 0.1}', '{"a": 0.2}'),
        ('{"a": 0.1}', '{"a": 0.10000000000000000001}'),
        ('{"a": 12345678901234567.12}', '{"a": 12345678901234567.13}'),
        ('{"a": 0.5}', '{"a": "0.5"}'),
        ('{"a": "x"}', '{"A": "x"}'),
        ('{"a": "é"}', '{"a": "e\\u0301"}'),
        ('{"a": 1e308}', '{"a": 1e309}'),
        ('{"a": 12345678901234567890}', '{"a": 12345678901234567891}'),
        ('{"a": 9007199254740992}', '{"a": 9007199254740993}'),
        ('{"a": 9007199254740992}', '{"a": 9007199254740993.0}'),
    ],
)
def test_other_content_has_another_fingerprint(one: str, other: str) -> None:
    assert fingerprint(one) != fingerprint(other)


@pytest.mark.parametrize("digit", range(10))
def test_big_integers_differ_by_their_last_digit(digit: int) -> None:
    assert (digit == 7) == (fingerprint(f"[98765432109876543210{digit}]") == fingerprint("[987654321098765432107]"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(string.printable, max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(one=JSON, other=JSON)
def test_fingerprints_are_equal_exactly_when_the_content_is(one: object, other: object) -> None:
    # repr tells 1 from True, which == does not; sorting makes the order of keys irrelevant
    def content(value: object) -> str:
        if isinstance(value, dict):
            return f"object {sorted((key, content(item)) for key, item in value.items())}"
        return repr([content(item) for item in value]) if isinstance(value, list) else repr((value,))

    specification = FingerprintSpecification(("@",))

    assert (content(one) == content(other)) == (
        specification.of(json.dumps([one])) == specification.of(json.dumps([other]))
    )


# -- Bodies that are not JSON ---------------------------------------------------------------------

ODD_BODIES = [
    "",
    " ",
    "text",
    "'text'",
    '"text"',
    "<order/>",
    "{",
    "\ufeff{}",
    "[" * 100_000,
    "[" + "9" * 5_000 + "]",
    "\ud800",
    "\udc00",
    '"\\ud800"',
    '"\\udc00"',
    "NaN",
    "Infinity",
    "null",
    "json[]",
]


@pytest.mark.parametrize("body", ODD_BODIES, ids=range(len(ODD_BODIES)))
def test_every_body_has_a_fingerprint_and_always_the_same(body: str) -> None:
    assert fingerprint(body) == fingerprint(body)


def test_every_odd_body_has_a_fingerprint_of_its_own() -> None:
    assert len({fingerprint(body) for body in ODD_BODIES}) == len(ODD_BODIES)


@pytest.mark.parametrize("number", ["1e999999999", "1e-999999999", "1." + "0" * 100_000, "9" * 4_300 + ".5"])
def test_a_number_of_any_size_has_a_fingerprint_at_no_great_cost(number: str) -> None:
    assert fingerprint(f"[{number}]") == fingerprint(f"[ {number} ]")


@pytest.mark.parametrize(("depth", "is_compared_as_json"), [(200, True), (201, False), (100_000, False)])
def test_json_is_compared_as_its_text_where_it_is_too_deep_for_some_interpreters(
    depth: int, is_compared_as_json: bool
) -> None:
    body, with_blanks = "[" * depth + "]" * depth, "[ " * depth + "]" * depth

    assert (fingerprint(body) == fingerprint(with_blanks)) == is_compared_as_json


def test_brackets_within_texts_make_nothing_deep() -> None:
    texts = ['[\\"{' * 10] * 1_000

    assert fingerprint(json.dumps(texts)) == fingerprint(json.dumps(texts, indent=1))


# -- What counts ----------------------------------------------------------------------------------


def test_only_what_the_paths_name_counts() -> None:
    paths = ("amount", "line.sku")

    assert fingerprint('{"amount": 1, "line": {"sku": "s", "at": 1}, "at": "09:00"}', *paths) == fingerprint(
        '{"at": "10:00", "amount": 1.0, "line": {"sku": "s", "at": 2}}', *paths
    )


@pytest.mark.parametrize("other", ['{"amount": 2, "sku": "s"}', '{"amount": 1, "sku": "t"}', '{"amount": 1}'])
def test_each_path_counts(other: str) -> None:
    assert fingerprint('{"amount": 1, "sku": "s"}', "amount", "sku") != fingerprint(other, "amount", "sku")


def test_values_do_not_move_from_one_path_to_another_unseen() -> None:
    assert fingerprint('{"a": 1}', "a", "b") != fingerprint('{"b": 1}', "a", "b")


NUMERIC_PATHS = [
    "sum(p)",
    "max(p)",
    "avg(p)",
    "sort(p)",
    "p[0]",
    "p[?@ < `1`]",
    "p[?@ == `0.1`]",
    "to_number(p[0])",
    "to_string(p[0])",
    "abs(p[0])",
    "contains(p, `0.1`)",
]


@pytest.mark.parametrize("path", NUMERIC_PATHS)
def test_a_path_works_on_numbers_with_a_fraction_as_on_any(path: str) -> None:
    one, again, other = ('{"p": [0.1, 2.0], "at": 1}', '{"p": [1e-1, 2], "at": 2}', '{"p": [0.3, 2.5], "at": 1}')

    assert fingerprint(one, path) == fingerprint(again, path)
    assert fingerprint(one, path) != fingerprint(other, path)


def test_a_body_that_a_path_does_not_fit_counts_as_its_text() -> None:
    assert fingerprint("[1]", "keys(@)") != fingerprint("[2]", "keys(@)")


def test_a_fingerprint_is_its_specification_and_a_hash() -> None:
    specification = FingerprintSpecification(("@",))

    assert specification.of("1") == f"{specification.id}:{hashlib.sha256(b'json[1]').hexdigest()}"


@pytest.mark.parametrize("paths", [("a",), ("a", "b"), ("b", "a"), ("[a, b]",)])
def test_every_specification_has_an_id_of_its_own(paths: tuple[str, ...]) -> None:
    others = {("@",), ("a",), ("a", "b"), ("b", "a")} - {paths}

    assert FingerprintSpecification(paths).id not in {FingerprintSpecification(other).id for other in others}


@pytest.mark.parametrize("paths", ["@", "", (), [], ("a[",), ("",), (None,), (1,)])
def test_what_is_no_sequence_of_paths_is_a_configuration_error(paths: object) -> None:
    with pytest.raises(ConfigurationError):
        FingerprintSpecification(paths)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("1-a:x", "1-a:x", True),
        ("1-a:x", "1-a:y", False),
        ("1-a:x", "1-b:x", True),
        ("1-a:x", "1-b:y", True),
        ("1-a:x", "2-a:y", True),
        (None, "1-a:x", True),
        ("1-a:x", None, True),
        (None, None, True),
    ],
)
def test_only_fingerprints_of_one_specification_can_contradict_each_other(
    one: str | None, other: str | None, expected: bool
) -> None:
    assert same_content(one, other) == expected


@pytest.mark.parametrize("number", ["1e3999", "1e-3999", "9" * 4_000])
def test_what_is_hashed_is_no_longer_than_what_was_sent(number: str) -> None:
    """A short body of numbers that would be long if they were written out must not take the function's memory."""
    body = f"[{','.join([number] * 1_000)}]"

    assert len(write_json(select(body, [compiled("@")]))) < 5 * len(body)


def test_a_number_is_never_taken_for_an_object_that_looks_like_one_written_down() -> None:
    assert fingerprint('{"x": 1.5}') != fingerprint(r'{"x": {"\u0000number": "1.5"}}')


@pytest.mark.parametrize(("one", "other"), [("1e100", "1" + 100 * "0"), ("0.5e1", "5"), ("1.50", "15e-1")])
def test_a_number_of_any_size_is_the_same_however_it_is_written(one: str, other: str) -> None:
    assert fingerprint(f"[{one}]") == fingerprint(f"[{other}]")


def test_every_digit_of_a_long_number_counts() -> None:
    assert fingerprint(f"[0.{5_000 * '1'}1]") != fingerprint(f"[0.{5_000 * '1'}2]")


@pytest.mark.parametrize("number", ["1e99999999999999999999", "-1E+99999999999999999999", "1e-99999999999999999999"])
def test_a_number_that_no_software_could_hold_is_content_all_the_same(number: str) -> None:
    specification = FingerprintSpecification(["@"])

    assert specification.of(f"[{number}]") == specification.of(f"[ {number.lower()} ]")
    assert specification.of(f"[{number}]") != specification.of(f"[{number}9]")
