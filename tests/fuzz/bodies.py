"""Bodies: what producers write, in the envelopes that a consumer opens, in others, in halves of them, in none."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.fuzz import wrapping
from tests.fuzz.choices import Choices
from tests.fuzz.setups import PREFIX
from tests.fuzz.values import ABSENT, ANY, FEW_TEXTS, MARKER, TEXTS, made_of, member, text, value
from tests.fuzz.wrapping import SPELLINGS, Raw, Spelling, written


def _is_json(body: object) -> bool:
    try:
        return isinstance(body, str) and json.loads(body) is not None
    except ValueError:
        return False


SAMPLES: Sequence[Mapping[str, Any]] = [
    record
    for path in sorted((Path(__file__).parents[2] / "events").glob("*.json"))
    for record in json.loads(path.read_text(encoding="utf-8"))["Records"]
    if _is_json(record.get("body"))
]
"""Records of the project's own sample events; of the odd ones those whose bodies are JSON."""

PLACES: Mapping[str, Sequence[str]] = {
    "sns": ("sns",),
    "event": ("eventbridge", "cloudevents"),
    "replayed event": ("eventbridge",),
    "s3": ("s3",),
    "first envelope": ("sns", "eventbridge", "cloudevents", "s3"),
}
"""Envelopes that a strategy reads whether or not the consumer opens them."""


def content(choose: Choices) -> Any:
    """Make what a producer means to say: JSON, most of the time an object with the fields that strategies read."""
    kind = choose.below(16)
    if kind == 15:
        return choose.of(ANY)
    if kind == 14:
        return json.loads(choose.of(SAMPLES)["body"])
    if kind == 13:
        return wrapping.pointer_to("order-1")
    return made_of(
        id=member(choose),
        customer=member(choose),
        order=member(choose),
        payment={"id": value(choose)} if kind % 4 == 0 else value(choose) if kind % 4 == 1 else ABSENT,
        amount=choose.of([1, 2, Raw("1.0"), Raw("0.1"), ABSENT]),
        note=MARKER,
    )


def body(choose: Choices, envelopes: Sequence[str], strategy: str) -> Any:
    """Make a body; most are in the envelopes named, outermost first."""
    inner = _innermost(choose, strategy)
    fit = choose.below(24)
    names = [name.removesuffix("?") for name in envelopes]
    if fit == 15:
        names = names[1:]
    elif fit == 14:
        names = [choose.of(list(WRAPPERS)), *names]
    elif fit == 13:
        names = [*names[:1], *names]
    for name in reversed(names):
        inner = WRAPPERS[name](choose, inner, choose.of(SPELLINGS), half=fit == 12)
    if fit == 11 and inner[:1] in ("{", "[") and is_json(inner):
        return json.loads(inner)
    if fit == 10:
        return choose.of([" " + inner + "\n", inner[:-1], inner + "}", "", " ", None, 7, MARKER, "\ud83d", True])
    return inner


def _innermost(choose: Choices, strategy: str) -> str:
    """Make what is inside all envelopes; for strategies that read an envelope, most often that one, unopened."""
    kind, places, spelling = choose.below(8), PLACES.get(strategy), choose.of(SPELLINGS)
    if kind == 7:
        return choose.of([MARKER, MARKER + "\udc00", "", " \n", *TEXTS])
    said = written(content(choose), spelling)
    return WRAPPERS[choose.of(places)](choose, said, spelling, half=False) if places and kind < 5 else said


# -- envelopes -----------------------------------------------------------------------------------------------


def _spelled(choose: Choices, envelope: Mapping[str, Any], spelling: Spelling, *, half: bool) -> str:
    """Write an envelope; of half an envelope one member is missing, or something else than it should be."""
    if half:
        envelope = made_of(**{**envelope, choose.of(list(envelope)): choose.of([ABSENT, None, *ANY])})
    return written(envelope, spelling)


def in_sns(choose: Choices, inner: str, spelling: Spelling, *, half: bool) -> str:
    """Make an SNS envelope around a text."""
    kind = choose.of(["String", "Number", "Binary", "String.Array", None])
    attributes = {"message-id": {"Type": kind, "Value": value(choose)}}
    envelope = wrapping.sns_members(
        inner,
        MessageId=text(choose),
        Type="SubscriptionConfirmation" if choose.one_in(20) else "Notification",
        MessageAttributes=choose.of([{}, attributes, attributes, None]),
    )
    return _spelled(choose, envelope, spelling, half=half)


def in_eventbridge(choose: Choices, inner: str, spelling: Spelling, *, half: bool) -> str:
    """Make an EventBridge event whose detail is the text if that is JSON."""
    detail = Raw(inner) if is_json(inner) else inner
    envelope = wrapping.eventbridge_members(detail, id=text(choose), source=text(choose))
    replay = choose.of([ABSENT, ABSENT, "replay-1", "replay-2", "b", None, "", 7])
    decoy = "1.0" if choose.one_in(12) else ABSENT
    return _spelled(choose, made_of(**envelope, **{"replay-name": replay, "specversion": decoy}), spelling, half=half)


def in_cloudevents(choose: Choices, inner: str, spelling: Spelling, *, half: bool) -> str:
    """Make a CloudEvent: with the text as JSON, as a string, or in base64."""
    form = choose.below(4)
    data = Raw(inner) if form and is_json(inner) else inner
    envelope = wrapping.cloudevent_members(data, id=text(choose), source=text(choose))
    if form == 1 and is_unicode(inner):
        del envelope["data"]
        envelope["data_base64"] = wrapping.base64_of(inner)
    return _spelled(choose, envelope, spelling, half=half)


def in_s3(choose: Choices, inner: str, spelling: Spelling, *, half: bool) -> str:
    """Make a notification by S3, which has no room for a text."""
    del inner
    kind = choose.below(10)
    if kind == 9:
        variation = choose.of([{}, {}, {"Records": []}, {"Service": "S3"}])
        return written({**wrapping.S3_TEST, **variation}, spelling)
    records = [_s3_record(choose) for _ in range((1, 1, 1, 1, 1, 2, 2, 2, 0)[kind])]
    return _spelled(choose, wrapping.s3_members(records), spelling, half=half)


def _s3_record(choose: Choices) -> Any:
    odd = choose.below(10)
    record = wrapping.s3_record(
        eventName=choose.of(ANY if odd == 9 else FEW_TEXTS),
        key=choose.of(["a", "red+flower.jpg", "red%20flower.jpg", "red%2Bflower.jpg", "%FF", "%FE", "%4", ""]),
        sequencer=choose.of(ANY if odd == 8 else ["0A", "0B", "0A ", None, ""]),
        bucket=choose.of(ANY if odd == 7 else FEW_TEXTS),
    )
    if odd == 6:
        record["s3"] = choose.of(ANY)
    if odd == 5:
        record["eventSource"] = choose.of(["minio:s3", "aws:sqs", None])
    return record


def _encoded(encode: Callable[[str], str]) -> Callable[..., str]:
    def wrap(choose: Choices, inner: str, spelling: Spelling, *, half: bool) -> str:
        del spelling
        code = encode(inner) if is_unicode(inner) else inner
        ends = (code[:-4], code + "AAAA", "!" + code, code[:8] + "\n" + code[8:], code[:-1], "/////w==", code + "=")
        return choose.of(ends) if half else code

    return wrap


def in_own(choose: Choices, inner: str, spelling: Spelling, *, half: bool) -> str:
    """Make what the user's own function opens."""
    del spelling
    return (choose.of([PREFIX.upper(), ""]) if half else PREFIX) + inner


WRAPPERS: Mapping[str, Callable[..., str]] = {
    "sns": in_sns,
    "eventbridge": in_eventbridge,
    "cloudevents": in_cloudevents,
    "s3": in_s3,
    "base64": _encoded(wrapping.base64_of),
    "gzip": _encoded(wrapping.gzip_of),
    "own": in_own,
}


def is_json(inner: str) -> bool:
    """Tell whether a text is JSON that this interpreter reads."""
    try:
        json.loads(inner)
    except (ValueError, RecursionError):
        return False
    return True


def is_unicode(inner: str) -> bool:
    """Tell whether a text can be sent at all, which lone surrogates cannot."""
    return not any("\ud800" <= letter <= "\udfff" for letter in inner)
