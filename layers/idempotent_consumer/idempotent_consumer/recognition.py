"""What a body is. Its members tell, strictly and by themselves: nothing is guessed, and nothing inside is looked at."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from idempotent_consumer.errors import EmptyEnvelope, UnreadableMessageError
from idempotent_consumer.members import Members
from idempotent_consumer.message import Envelope
from idempotent_consumer.s3_events import s3_objects

RELAYED_ID = "message-id"
"""Member of an event's detail in which the relay of an outbox sends the id along."""

_RELAYED_MEMBER = f'"{RELAYED_ID}"'
_RELAYED = re.compile(r"(?:[^#]+#.+|[0-9a-f]{64})/[1-9][0-9]*", re.DOTALL)
"""Its form, `<key>/<n>`: another producer's member of that name is something else."""

GZIP_IN_BASE64 = "H4sI"
"""What the first three bytes of every gzip are in base64."""

_POINTERS = frozenset(
    {"software.amazon.payloadoffloading.PayloadS3Pointer", "com.amazon.sqs.javamessaging.MessageS3Pointer"}
)
_LONGEST_POINTER = 16_384  # characters: a key has 1,024 bytes at most, and an escape six characters
_LONGEST_SHOWN = 200
_MARKS = ('"TopicArn"', '"detail-type"', '"specversion"', '"aws:s3"', '"s3:TestEvent"')


@dataclass(frozen=True, slots=True)
class Shape:
    """
    Say what makes a JSON object an envelope.

    Attributes:
        kind: of the `Envelope`; the function of `envelopes` that opens it has the same name.
        name: what it is called, with its article.
        content: names of the members that are the content.
        problem_of: says why members are not an envelope of this kind; None if they are.
        relayed_id_of: finds the message id that the relay of an outbox has put into the content; None if there is none.
    """

    kind: str
    name: str
    content: tuple[str, ...]
    problem_of: Callable[[Members], str | None]
    relayed_id_of: Callable[[Members], str | None] = lambda members: None

    def problem(self, members: Members | None) -> str | None:
        """Say why a body is not an envelope of this kind; None if it is."""
        return "it is no JSON object" if members is None else self.problem_of(members)

    def envelope(self, members: Members) -> Envelope:
        """
        Return what an envelope of this kind says besides its content.

        Raises:
            UnreadableMessageError: one of its members cannot be read.
        """
        return Envelope(self.kind, members.without(*self.content), self.relayed_id_of(members))


def _sns_problem(members: Members) -> str | None:
    if problem := _blank(members, "Type", "MessageId", "TopicArn"):
        return problem
    if members.text("Type") != "Notification":
        return "its Type is not Notification"
    return None if members.text("Message") is not None else "its Message is missing or no text"


def _eventbridge_problem(members: Members) -> str | None:
    if problem := _blank(members, "detail-type", "source", "id"):
        return problem
    return None if "detail" in members else "its detail is missing"


def _cloudevents_problem(members: Members) -> str | None:
    if problem := _blank(members, "specversion", "id", "source", "type"):
        return problem
    return None if (members.text("specversion") or "").startswith("1.") else "its specversion is not 1.x"


def _blank(members: Members, *names: str) -> str | None:
    for name in names:
        if not (members.text(name) or "").strip():
            return f"its {name} is missing, blank or no text"
    return None


def _relayed_id(members: Members) -> str | None:
    """Return the id that the relay has put into an event's detail: EventBridge's own is new each time it is sent."""
    written = members.json("detail")
    detail = Members.of(written) if _RELAYED_MEMBER in written else None
    message_id = detail and detail.text(RELAYED_ID)
    return message_id if message_id and _RELAYED.fullmatch(message_id) else None


SNS = Shape("sns", "an SNS envelope", ("Message",), _sns_problem)
EVENTBRIDGE = Shape("eventbridge", "an EventBridge event", ("detail",), _eventbridge_problem, _relayed_id)
CLOUDEVENTS = Shape("cloudevents", "a CloudEvent", ("data", "data_base64"), _cloudevents_problem)


def sns_envelope(body: str) -> Envelope | None:
    """Return what the SNS envelope says that a body is; None if it is none."""
    return _envelope_of(SNS, Members.of(body))


def event_envelope(body: str) -> Envelope | None:
    """Return what the EventBridge event or the CloudEvent says that a body is; None if it is neither."""
    members = Members.of(body)
    if members is None or ("detail-type" in members and "specversion" in members):
        return None  # neither kind has the other's member: of who wrote both, it is not known which the id is of
    return _envelope_of(EVENTBRIDGE, members) or _envelope_of(CLOUDEVENTS, members)


def content_of(body: str) -> str:
    """
    Return what of a body is compared: that of a relayed event without what EventBridge makes anew each time it is sent.

    Opened or not, two copies of it then have the same content. Any other body is its own content.
    """
    if _RELAYED_MEMBER not in body or '"detail-type"' not in body:
        return body
    members = Members.of(body)
    if members is None or EVENTBRIDGE.problem(members) or not EVENTBRIDGE.relayed_id_of(members):
        return body
    return members.json_without("id", "time")


def is_confirmation(members: Members | None) -> bool:
    """Tell whether SNS asks to confirm a subscription, or the end of one, instead of sending a message."""
    return (
        members is not None
        and members.text("Type") in {"SubscriptionConfirmation", "UnsubscribeConfirmation"}
        and not _blank(members, "MessageId", "TopicArn")
    )


def pointer_in(body: str) -> tuple[str, str] | None:
    """
    Return bucket and key of what an extended client of SQS left in S3; None if a body is no pointer to that.

    Source: https://github.com/awslabs/amazon-sqs-java-extended-client-lib
    """
    if len(body) > _LONGEST_POINTER or not body.lstrip().startswith("["):
        return None
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return None
    match content:
        case [str(name), {"s3BucketName": str(bucket), "s3Key": str(key)}] if name in _POINTERS and bucket and key:
            return bucket, key
    return None


def hint_for(body: str) -> str | None:
    """
    Say what a body looks like that something else was expected of, and what opens it.

    Args:
        body: any text. One that is none of these costs no more than a search for a few words.

    Returns:
        A clause for an error; None if the body looks like nothing that is known.
    """
    if pointer := pointer_in(body):
        bucket, key = (f"{part!r:.{_LONGEST_SHOWN}}" for part in pointer)
        return (
            "the body is a pointer to a large message: the content is in S3, "
            f"in bucket {bucket} under key {key}, and an envelope function of your own has to fetch it"
        )
    if body.startswith(GZIP_IN_BASE64):
        return "the body looks like gzip in base64, which envelopes.gzip_base64() opens"
    if not any(mark in body for mark in _MARKS):
        return None
    return _hint_for_members(Members.of(body)) or _hint_for_s3(body)


def hinted(problem: str, body: str, otherwise: str = "") -> str:
    """Return the text of an error: what is wrong with a body, and what it looks like instead, or other advice."""
    hint = hint_for(body) or otherwise
    return f"{problem}; {hint}" if hint else problem


def _hint_for_members(members: Members | None) -> str | None:
    if is_confirmation(members):
        return "SNS asks to confirm a subscription, or its end: someone has to, with its Token or SubscribeURL"
    for shape in (SNS, EVENTBRIDGE, CLOUDEVENTS):
        if not shape.problem(members):
            return f"the body is {shape.name}, which envelopes.{shape.kind}() opens"
    return None


def _hint_for_s3(body: str) -> str | None:
    try:
        s3_objects(body)
    except UnreadableMessageError:
        return None
    except EmptyEnvelope:
        return "the body is the event by which S3 tests a new notification, which envelopes.s3() acknowledges"
    return "the body is an S3 notification, which envelopes.s3() takes and parse=s3_objects reads"


def _envelope_of(shape: Shape, members: Members | None) -> Envelope | None:
    if members is None or shape.problem(members):
        return None
    try:
        return shape.envelope(members)
    except UnreadableMessageError:
        return None
