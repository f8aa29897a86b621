"""SQS records and events: as Lambda delivers them, and as people and emulators write them."""

import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import strategies as st

from tests.fuzz.bodies import SAMPLES, body
from tests.fuzz.choices import Choices, made
from tests.fuzz.setups import Setup
from tests.fuzz.values import ABSENT, ANY, FEW, made_of, member, value
from tests.fuzz.wrapping import Raw

ARNS: Sequence[Any] = (
    "arn:aws:sqs:eu-central-1:111122223333:orders",
    "arn:aws:sqs:eu-central-1:111122223333:orders",
    *["arn:aws:sqs:eu-central-1:111122223333:orders.fifo"] * 4,
    "arn:aws-cn:sqs:cn-north-1:111122223333:orders",
    "arn:aws-us-gov:sqs:us-gov-west-1:111122223333:orders.fifo",
    "arn:aws-eusc:sqs:eusc-de-east-1:111122223333:orders",
    "arn:{partition}:sqs:{region}:000000000000:orders",
    "",
    " ",
    None,
    7,
    ABSENT,
)
TIMES: Sequence[Any] = ("1767603600000", "1767603600", 1767603600000, None, "soon", "9" * 40, "9" * 5_000, "-1", ABSENT)
COUNTS: Sequence[Any] = ("1", "1", "2", "3", 1, 2.5, None, "", "0", "many", "9" * 5_000, True, ABSENT)
NO_RECORDS: Sequence[Any] = (
    None,
    7,
    "text",
    [],
    {},
    ["a"],
    {"messageId": "x"},
    {"body": "x"},
    {"MessageId": "x", "Body": "x"},
)


def record(choose: Choices, setup: Setup, name: str) -> Any:
    """
    Make a record.

    Args:
        choose: what it is like.
        setup: of the consumer that it is for.
        name: an SQS message id that no other record has.
    """
    kind = choose.below(20)
    if kind == 19:
        return choose.of(NO_RECORDS)
    if kind in (17, 18):
        return _mutated_sample(choose, name, is_text=kind == 17)
    sound = plain(
        made_of(
            messageId=choose.of([*ANY, ABSENT]) if kind == 16 else "same" if kind == 15 else name,
            receiptHandle="receipt-handle",
            body=body(choose, setup.envelopes, setup.strategy),
            attributes=_system_attributes(choose),
            messageAttributes=_message_attributes(choose),
            md5OfBody="0" * 32,
            eventSource="aws:sqs",
            eventSourceARN=choose.of(ARNS),
            awsRegion="eu-central-1",
        )
    )
    if kind == 14:
        _mutate(choose, sound)
    return sound


def _system_attributes(choose: Choices) -> dict[str, Any]:
    attributes = made_of(ApproximateReceiveCount=choose.of(COUNTS), SentTimestamp=choose.of(TIMES))
    if choose.below(2):
        attributes |= made_of(
            MessageGroupId=choose.of([*FEW, ABSENT, None, "", " "]),
            MessageDeduplicationId=choose.of([*FEW, ABSENT, None, "", " ", "\ud83d"]),
            SequenceNumber="18849496460467696128",
        )
    return attributes


def _message_attributes(choose: Choices) -> Any:
    kind = choose.below(12)
    if kind >= 9:
        return choose.of([{}, None, ABSENT, [], "text"])
    name = "Message-Id" if kind == 8 else "message-id"
    if kind == 7:
        return {name: value(choose)}
    attribute = made_of(
        stringValue=None if kind == 6 else member(choose),
        binaryValue=choose.of(["YQ==", "not base64", "Yg=="]) if kind >= 5 else None,
        stringListValues=[],
        dataType=choose.of(["String", "Number", "Binary", "String.uuid", None, ABSENT]),
    )
    return {name: attribute}


def batches(setup: Setup, *, most: int = 24, prefix: str = "m") -> st.SearchStrategy[list[Any]]:
    """Generate the records of one event, the first of them sound; SQS message ids begin with the prefix, or are odd."""
    sound = {"messageId": f"{prefix}-sound", "body": "{}", "eventSource": "aws:sqs"}

    @st.composite
    def batch(draw: st.DrawFn) -> list[Any]:
        numbers = range(draw(st.integers(0, most)))
        return [sound, *(draw(made(lambda choose, n=n: record(choose, setup, f"{prefix}{n}"))) for n in numbers)]  # type: ignore[misc]

    return batch()


def events(setup: Setup) -> st.SearchStrategy[Any]:
    """Generate events: most of SQS, some of nobody."""
    odd = st.sampled_from(
        [None, 7, "text", [], {}, {"Records": None}, {"Records": {}}, {"Records": []}, {"detail": {}}]
    )
    no_sound_one = made(lambda choose: {"Records": [record(choose, setup, "m0"), record(choose, setup, "m1")]})
    of_sqs = batches(setup).map(lambda batch: {"Records": batch})
    return st.one_of(of_sqs, of_sqs, of_sqs, no_sound_one, made(lambda choose: [record(choose, setup, "m0")]), odd)


# -- mutations -----------------------------------------------------------------------------------------------


def _mutated_sample(choose: Choices, name: str, *, is_text: bool) -> Any:
    sample = copy.deepcopy(dict(choose.of(SAMPLES)))
    sample |= {"messageId": name, "body": json.loads(sample["body"])}
    for _ in range(1 + choose.below(2)):
        _mutate(choose, sample)
    if is_text and isinstance(sample.get("body"), (dict, list)):
        sample["body"] = json.dumps(sample["body"])
    return sample


def _mutate(choose: Choices, record: dict[str, Any]) -> None:
    """Drop, null, retype, double, rename or nest one member, wherever it is."""
    places = list(_places(record))
    parent, name = places[choose.below(len(places))]
    change = choose.below(6)
    if change == 0:
        del parent[name]
    elif change == 1:
        parent[name] = None
    elif change == 2:
        parent[name] = plain(choose.of(ANY))
    elif change == 3:
        parent[name] = [parent[name], parent[name]]
    elif change == 4 and isinstance(parent, dict):
        parent[name[:1].upper() + name[1:]] = parent.pop(name)
    else:
        parent[name] = {"nested": parent[name]}


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for name, inner in list(value.items()) if isinstance(value, dict) else list(enumerate(value)):
        yield value, name
        if isinstance(inner, (dict, list)):
            yield from _places(inner)


def plain(value: Any) -> Any:
    """Return what Lambda makes of JSON that is written in its own way; text where Python makes nothing of it."""
    if isinstance(value, Raw):
        return value.text if len(value.text) > 1_000 or value.text[0] in "[{" else float(value.text)
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value
