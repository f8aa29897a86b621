"""What is stored of a message can be seen, found, and forgotten; nothing is forgotten that somebody did not mean."""

import json
from typing import Any

import pytest

from idempotent_consumer.clock import SystemClock
from idempotent_consumer.identity import key_of
from idempotent_consumer.item import to_item
from idempotent_consumer.settings import CLOCK_MARGIN_MS
from idempotent_consumer.store import ProcessedMessage, Status
from tests.operator.conftest import Account, Command

MINUTE_MS = 60_000


def store(aws: Account, message_id: str = "o-1", consumer: str = "place-order", **changes: Any) -> str:
    """Store a processed message, completed a minute ago unless changes say otherwise, and return its key."""
    now_ms = SystemClock().now_ms()
    fields: dict[str, Any] = {
        "key": key_of(consumer, message_id),
        "status": Status.COMPLETED,
        "owner": "owner token",
        "lease_until_ms": 0,
        "expires_at_s": now_ms // 1_000 + 86_400,
        "fingerprint": "1-abc:def",
        "updated_at_ms": now_ms - MINUTE_MS,
        "source": "arn:aws:sqs:eu-central-1:111122223333:orders sqs-id",
    }
    item = to_item(ProcessedMessage(**fields | changes))
    aws.dynamodb.put_item(TableName=aws.table, Item=item)
    return str(fields["key"])


def claim(aws: Account, message_id: str = "o-1", *, ends_in_ms: int, consumer: str = "place-order") -> str:
    """Store a claim."""
    until_ms = SystemClock().now_ms() + ends_in_ms
    return store(aws, message_id, consumer, status=Status.IN_PROGRESS, lease_until_ms=until_ms)


def is_stored(aws: Account, key: str) -> bool:
    return "Item" in aws.dynamodb.get_item(TableName=aws.table, Key={"id": {"S": key}})


# -- status -------------------------------------------------------------------------------------------


def test_a_person_sees_who_has_processed_a_message_and_what_comes_next(aws: Account, command: Command) -> None:
    store(aws)

    seen = command("status", "place-order", "o-1")

    assert seen.code == 0
    for word in ("place-order#o-1", "COMPLETED", "owner token", "1 min", "orders", "sqs-id", "DUPLICATE"):
        assert word in seen.out


def test_a_script_reads_the_same(aws: Account, command: Command) -> None:
    key = store(aws)
    aws.dynamodb.update_item(
        TableName=aws.table,
        Key={"id": {"S": key}},
        UpdateExpression="SET outbox = :outbox",
        ExpressionAttributeValues={":outbox": {"S": "äb"}},
    )

    document = command("status", "place-order", "o-1", "--json").document

    assert document["found"] is True
    assert (document["key"], document["status"], document["owner"]) == (key, "COMPLETED", "owner token")
    assert (document["queue_arn"], document["sqs_message_id"]) == (
        "arn:aws:sqs:eu-central-1:111122223333:orders",
        "sqs-id",
    )
    assert (document["lease"], document["next_delivery"], document["outbox_bytes"]) == (None, "DUPLICATE", 3)


@pytest.mark.parametrize(
    ("ends_in_ms", "lease", "next_delivery"),
    [
        (MINUTE_MS, "live", "IN_FLIGHT"),
        (-CLOCK_MARGIN_MS // 2, "ending", "IN_FLIGHT"),
        (-MINUTE_MS, "ended", "HANDLED"),
    ],
)
def test_a_claim_tells_whether_its_lease_lives(
    aws: Account, command: Command, ends_in_ms: int, lease: str, next_delivery: str
) -> None:
    claim(aws, ends_in_ms=ends_in_ms)

    document = command("status", "place-order", "o-1", "--json").document

    assert (document["lease"], document["next_delivery"]) == (lease, next_delivery)


def test_an_expired_message_would_be_handled_again(aws: Account, command: Command) -> None:
    store(aws, expires_at_s=SystemClock().now_ms() // 1_000 - 100)

    assert command("status", "place-order", "o-1", "--json").document["next_delivery"] == "HANDLED"


def test_what_is_not_stored_is_said_plainly_and_has_its_own_code(command: Command) -> None:
    seen = command("status", "place-order", "o-2")

    assert seen.code == 3
    assert "place-order#o-2 is not stored in any-table" in seen.err
    document = command("status", "place-order", "o-2", "--json").document
    assert document == {"key": "place-order#o-2", "found": False}


def test_an_id_that_is_too_long_for_a_key_is_found_by_the_rule_of_the_layer(aws: Account, command: Command) -> None:
    key = store(aws, "x" * 3_000)

    assert key.startswith("place-order#sha256:")
    assert command("status", "place-order", "x" * 3_000, "--json").document["key"] == key


def test_a_composite_id_is_found_by_its_key(aws: Account, command: Command) -> None:
    key = store(aws, '["a","b"]')

    assert command("status", "place-order", "--key", key, "--json").document["found"] is True


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give the message id, or --key"),
        (["o-1", "--key", "place-order#o-1"], "give the message id, or --key"),
        (["--key", "charge-payment#o-1"], "does not begin with place-order#"),
        ([" "], "blank"),
    ],
)
def test_what_cannot_be_meant_is_refused(command: Command, arguments: list[str], words: str) -> None:
    seen = command("status", "place-order", *arguments)

    assert seen.code == 2
    assert words in seen.err


# -- stuck --------------------------------------------------------------------------------------------


def test_only_claims_whose_lease_has_ended_on_every_clock_are_stuck(aws: Account, command: Command) -> None:
    store(aws, "completed")
    claim(aws, "live", ends_in_ms=MINUTE_MS)
    claim(aws, "ending", ends_in_ms=-CLOCK_MARGIN_MS // 2)
    stuck = claim(aws, "ended", ends_in_ms=-MINUTE_MS)
    other = claim(aws, "other", ends_in_ms=-2 * MINUTE_MS, consumer="charge-payment")

    seen = command("stuck", "--yes", "--json")

    assert seen.code == 0
    assert [each["key"] for each in seen.document["stuck"]] == [other, stuck]
    assert seen.document["scanned"] == 5
    only = command("stuck", "--yes", "--json", "--consumer", "place-order").document
    assert [each["key"] for each in only["stuck"]] == [stuck]


def test_a_scan_says_what_it_will_cost_and_is_made_only_on_a_yes(aws: Account, command: Command) -> None:
    claim(aws, ends_in_ms=-MINUTE_MS)

    refused = command("stuck", answer="\n")
    made = command("stuck", answer="y\n")

    assert (refused.code, refused.out) == (1, "")
    assert "read units" in refused.err
    assert made.code == 0
    assert "place-order#o-1" in made.out


def test_where_nobody_answers_nothing_is_scanned(command: Command) -> None:
    seen = command("stuck", answer="")

    assert seen.code == 2
    assert "--yes" in seen.err


# -- forget -------------------------------------------------------------------------------------------


def test_a_forgotten_message_is_gone_and_a_line_says_who_and_why(aws: Account, command: Command) -> None:
    key = store(aws)

    seen = command("forget", "place-order", "o-1", "--reason", "ticket 4711", answer="y\n")

    assert seen.code == 0
    assert not is_stored(aws, key)
    (line,) = [line for line in seen.err.splitlines() if line.startswith("{")]
    logged = json.loads(line)
    assert (logged["event"], logged["key"], logged["reason"]) == ("forgotten", key, "ticket 4711")
    assert logged["who"].startswith("arn:aws:sts::")
    assert "handled like a new one" in seen.err


def test_nothing_is_forgotten_without_a_yes(aws: Account, command: Command) -> None:
    key = store(aws)

    assert command("forget", "place-order", "o-1", "--reason", "ticket", answer="n\n").code == 1
    assert command("forget", "place-order", "o-1", "--reason", "ticket", answer="").code == 2
    assert is_stored(aws, key)


@pytest.mark.parametrize("reason", [[], ["--reason", " "]])
def test_nothing_is_forgotten_without_a_reason(aws: Account, command: Command, reason: list[str]) -> None:
    key = store(aws)

    assert command("forget", "place-order", "o-1", "--yes", *reason).code == 2
    assert is_stored(aws, key)


@pytest.mark.parametrize("ends_in_ms", [MINUTE_MS, -CLOCK_MARGIN_MS // 2])
def test_a_message_that_somebody_may_be_handling_is_forgotten_only_by_force(
    aws: Account, command: Command, ends_in_ms: int
) -> None:
    key = claim(aws, ends_in_ms=ends_in_ms)

    seen = command("forget", "place-order", "o-1", "--reason", "ticket", "--yes")

    assert seen.code == 1
    assert "--force" in seen.err
    assert is_stored(aws, key)
    assert command("forget", "place-order", "o-1", "--reason", "ticket", "--yes", "--force", "--json").code == 0
    assert not is_stored(aws, key)


@pytest.mark.parametrize("change", [{"owner": "another"}, {"status": Status.IN_PROGRESS}, {"updated_at_ms": 1}])
def test_a_message_that_changes_between_the_look_and_the_answer_is_not_forgotten(
    aws: Account, command: Command, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    key = store(aws)

    def answer_late() -> str:
        store(aws, **change)
        return "y"

    monkeypatch.setattr("builtins.input", answer_late)
    seen = command("forget", "place-order", "o-1", "--reason", "ticket")

    assert seen.code == 1
    assert "has changed since it was shown" in seen.err
    assert is_stored(aws, key)


def test_what_is_not_stored_cannot_be_forgotten(command: Command) -> None:
    assert command("forget", "place-order", "o-1", "--reason", "ticket", "--yes").code == 3


def test_an_item_that_the_layer_does_not_understand_is_shown_and_forgotten_only_by_force(
    aws: Account, command: Command
) -> None:
    aws.dynamodb.put_item(TableName=aws.table, Item={"id": {"S": "place-order#o-1"}, "status": {"S": "ODD"}})

    assert command("status", "place-order", "o-1", "--json").document["status"] == "ODD"
    assert command("forget", "place-order", "o-1", "--reason", "ticket", "--yes").code == 1
    assert command("forget", "place-order", "o-1", "--reason", "ticket", "--yes", "--force").code == 0
