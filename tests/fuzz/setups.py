"""The consumers under test: every strategy with every envelope, mode, fingerprint and concurrency."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from idempotent_consumer import (
    Eager,
    Lazy,
    Message,
    Natural,
    Transactional,
    all_of,
    attribute,
    body_field,
    content_hash,
    deduplication_id,
    envelopes,
    event_id,
    first_of,
    s3_event_id,
    sns_message_id,
    sqs_message_id,
)
from idempotent_consumer.envelopes import Opener
from idempotent_consumer.identity import MessageIdStrategy
from idempotent_consumer.modes import Mode
from tests.fuzz.unwrapping import LARGEST

PREFIX = "v1:"


def without_prefix(text: str) -> str:
    """Open an envelope of a user's own."""
    if not text.startswith(PREFIX):
        raise ValueError("not in our envelope")
    return text.removeprefix(PREFIX)


def id_of_own(message: Message) -> Any:
    """Find the id as users' functions do, which know nothing of missing places."""
    return message.json()["id"]


STRATEGIES: Mapping[str, MessageIdStrategy] = {
    "attribute": attribute("message-id"),
    "field": body_field("id"),
    "deep field": body_field("payment.id"),
    "fields": body_field("customer", "order"),
    "sqs": sqs_message_id(),
    "deduplication": deduplication_id(),
    "content": content_hash(),
    "chosen content": content_hash("customer", "order"),
    "sns": sns_message_id(),
    "event": event_id(),
    "replayed event": event_id(replay_is_new=True),
    "s3": s3_event_id(),
    "all of": all_of(attribute("message-id"), body_field("order")),
    "first of": first_of(attribute("message-id"), body_field("id"), sqs_message_id()),
    "first envelope": first_of(event_id(), sns_message_id(), s3_event_id(), sqs_message_id()),
    "deduplication and field": all_of(deduplication_id(), body_field("order")),
    "own function": id_of_own,
    "joined": body_field("join('-', [customer, order])"),
}

OPENERS: Mapping[str, Opener] = {
    "sns": envelopes.sns(),
    "sns?": envelopes.sns(optional=True),
    "eventbridge": envelopes.eventbridge(),
    "eventbridge?": envelopes.eventbridge(optional=True),
    "cloudevents": envelopes.cloudevents(),
    "cloudevents?": envelopes.cloudevents(optional=True),
    "s3": envelopes.s3(),
    "base64": envelopes.base64_text(largest=LARGEST),
    "gzip": envelopes.gzip_base64(largest=LARGEST),
    "own": without_prefix,
}
ENVELOPES: Sequence[tuple[str, ...]] = (
    (),
    *((name,) for name in OPENERS),
    ("sns", "s3"),
    ("sns", "gzip"),
    ("sns?", "eventbridge"),
    ("eventbridge", "cloudevents?"),
    ("gzip", "sns", "own"),
)
NATURAL_ENVELOPES: Mapping[str, Sequence[tuple[str, ...]]] = {
    "sns": ((), ("sns",), ("sns?",), ("sns", "s3"), ("gzip", "sns", "own")),
    "event": ((), ("eventbridge",), ("cloudevents",), ("eventbridge", "cloudevents?"), ("sns?", "eventbridge")),
    "replayed event": ((), ("eventbridge",), ("eventbridge?",), ("sns?", "eventbridge")),
    "s3": ((), ("s3",), ("sns", "s3")),
}
"""Where the strategy's place is: elsewhere it finds nothing most of the time."""


@dataclass(frozen=True)
class Setup:
    """
    One way to set a consumer up.

    Attributes:
        strategy: its name in STRATEGIES.
        envelopes: their names in OPENERS, outermost first.
        mode: the consumer's.
        fingerprint: as `IdempotentConsumer` takes it.
        concurrency: how many handlers run at the same time.
    """

    strategy: str = "field"
    envelopes: tuple[str, ...] = ()
    mode: Mode = Lazy()  # noqa: RUF009 - it keeps no state
    fingerprint: tuple[str, ...] | None = ("@",)
    concurrency: int = 1

    def options(self) -> dict[str, Any]:
        """Return what `IdempotentConsumer` takes."""
        return {
            "mode": self.mode,
            "message_id": STRATEGIES[self.strategy] if self.mode.remembers else None,
            "envelope": tuple(OPENERS[name] for name in self.envelopes),
            "fingerprint": self.fingerprint,
            "concurrency": self.concurrency,
        }


REMEMBERING: st.SearchStrategy[Mode] = st.sampled_from([Lazy(), Eager(), Transactional()])
MODES: st.SearchStrategy[Mode] = st.sampled_from([Lazy(), Eager(), Transactional(), Natural()])
FINGERPRINTS: st.SearchStrategy[tuple[str, ...] | None] = st.sampled_from([("@",), None, ("amount",), ("length(id)",)])


@st.composite
def setups(draw: st.DrawFn, modes: st.SearchStrategy[Mode] = REMEMBERING, most_concurrent: int = 3) -> Setup:
    """Generate setups; a strategy gets envelopes in which it can find something, three times out of four."""
    strategy = draw(st.sampled_from(list(STRATEGIES)))
    fitting = NATURAL_ENVELOPES.get(strategy, ENVELOPES)
    chosen = draw(st.sampled_from(fitting if draw(st.integers(0, 3)) else ENVELOPES))
    concurrency = draw(st.sampled_from([1, 1, most_concurrent]))
    return Setup(strategy, chosen, draw(modes), draw(FINGERPRINTS), concurrency)
