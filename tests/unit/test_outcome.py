"""Which outcomes let SQS forget a delivery."""

import asyncio

import pytest

from idempotent_consumer.outcome import Outcome, describe


@pytest.mark.parametrize("outcome", Outcome)
def test_only_work_that_is_known_to_be_done_is_acknowledged(outcome: Outcome) -> None:
    assert outcome.acknowledged == (outcome in {Outcome.PROCESSED, Outcome.DUPLICATE})


def test_outcomes_are_written_as_they_are_named() -> None:
    assert [str(outcome) for outcome in Outcome] == [
        "PROCESSED",
        "DUPLICATE",
        "IN_FLIGHT",
        "FAILED",
        "UNRECORDED",
        "REJECTED",
        "DEFERRED",
        "LEASE_LOST",
    ]


class Mute(Exception):  # noqa: N818 - it says nothing
    """An exception whose text cannot be read."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("out of stock"), "ValueError: out of stock"),
        (KeyError("sku"), "KeyError: 'sku'"),
        (ValueError(), "ValueError:"),
        (ValueError("one\n  two\r\n\tthree"), "ValueError: one two three"),
        (ValueError("é🐑"), "ValueError: é🐑"),
        (ValueError("\ud800"), "ValueError: \\ud800"),
        (SystemExit(3), "SystemExit: 3"),
        (Mute(), "Mute: its text cannot be read (RuntimeError)"),
    ],
)
def test_an_exception_is_described_in_one_printable_line(error: BaseException, expected: str) -> None:
    assert describe(error) == expected


@pytest.mark.parametrize("instead", [SystemExit(1), GeneratorExit(), asyncio.CancelledError()])
def test_an_exception_is_described_even_if_its_text_would_end_the_process(instead: BaseException) -> None:
    class Fatal(Exception):  # noqa: N818 - not an error of ours
        def __str__(self) -> str:
            raise instead

    assert describe(Fatal()) == f"Fatal: its text cannot be read ({type(instead).__name__})"


@pytest.mark.parametrize("text", ["x" * 10_000_000, "\n" * 10_000_000, "\ud800" * 10_000])
def test_a_description_has_a_bounded_length(text: str) -> None:
    assert len(describe(ValueError(text)).encode()) <= 500 * len("\\ud800")


def test_a_long_description_is_cut_and_not_lost() -> None:
    assert describe(ValueError("x" * 1_000)) == "ValueError: " + "x" * 488
