"""A message's body is what its producer sent, letter by letter, whatever it travelled in."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from idempotent_consumer import Natural
from idempotent_consumer.testing import sqs_record
from tests.fuzz import wrapping
from tests.fuzz.bench import Bench
from tests.fuzz.bodies import is_json, is_unicode
from tests.fuzz.choices import Choices, made
from tests.fuzz.documents import document
from tests.fuzz.profile import fuzzing
from tests.fuzz.setups import PREFIX, Setup
from tests.fuzz.values import LETTERS, TEXTS
from tests.fuzz.wrapping import PLAIN, SPELLINGS, Raw, Spelling, written

KINDS = {"own": "without_prefix"}
ENCODED = ("base64", "gzip")


def is_possible(stack: Sequence[str]) -> bool:
    """Tell whether envelopes go into each other: EventBridge takes nothing but JSON."""
    inside_eventbridge = [inner for outer, inner in pairwise(stack) if outer == "eventbridge"]
    return not {*ENCODED, "own"} & set(inside_eventbridge)


NAMES = st.sampled_from(["sns", "eventbridge", "cloudevents", "base64", "gzip", "own"])
STACKS = st.lists(NAMES, max_size=3).filter(is_possible)


@fuzzing
@given(STACKS, st.data())
def test_a_body_is_what_its_producer_sent_to_the_letter_whatever_it_travelled_in(
    stack: list[str], data: st.DataObject
) -> None:
    sent = data.draw(st.lists(made(lambda choose: sent_in(choose, stack)), min_size=1, max_size=16))
    bench = Bench(Setup(envelopes=tuple(stack), mode=Natural()))

    bench.deliver(tuple(sqs_record(arriving) for _, arriving in sent))

    assert sorted(text for text, _ in sent) == sorted(message.body for message in bench.seen)
    kinds = [KINDS.get(name, name) for name in stack]
    assert all([envelope.kind for envelope in message.envelopes] == kinds for message in bench.seen)


@fuzzing
@given(STACKS, st.data())
def test_what_nobody_asked_to_open_stays_closed(stack: list[str], data: st.DataObject) -> None:
    sent = data.draw(st.lists(made(lambda choose: sent_in(choose, stack)), min_size=1, max_size=16))
    bench = Bench(Setup(mode=Natural()))

    bench.deliver(tuple(sqs_record(arriving) for _, arriving in sent))

    assert sorted(arriving for _, arriving in sent) == sorted(message.body for message in bench.seen)
    assert all(message.envelopes == () for message in bench.seen)


def sent_in(choose: Choices, stack: Sequence[str]) -> tuple[str, str]:
    """Make a text, and what arrives of it in a stack of envelopes, the first of which is the outermost."""
    text = arriving = _text(choose, stack)
    for name in reversed(stack):
        # Blanks around are not part of the JSON in it, and surrogates travel as escapes only.
        spelling = choose.of(SPELLINGS) if is_unicode(arriving) else PLAIN
        arriving = WRAPPERS[name](choose, arriving, spelling)
    return text, arriving


def _text(choose: Choices, stack: Sequence[str]) -> str:
    said = written({"content": document(choose)}, choose.of(SPELLINGS))
    if stack[-1:] != ["eventbridge"]:
        kind = choose.below(4)
        if kind == 1:
            said = written(wrapping.sns_members(said))  # what looks like an envelope may be what a producer sends
        elif kind == 2:
            said = choose.of(TEXTS)
        elif kind == 3:
            said = "".join(choose.of(LETTERS) for _ in range(choose.below(12)))
    return said if not {*ENCODED} & {*stack} else said.encode(errors="replace").decode()


def _in_sns(choose: Choices, text: str, spelling: Spelling) -> str:
    return written(wrapping.sns_members(text, Subject=choose.of([None, '"Message":', "a"])), spelling)


def _in_eventbridge(choose: Choices, text: str, spelling: Spelling) -> str:
    return written(wrapping.eventbridge_members(Raw(text), **{"detail-type": choose.of(['"detail":', "a"])}), spelling)


def _in_cloudevents(choose: Choices, text: str, spelling: Spelling) -> str:
    form = choose.below(3)
    if form == 0 and text.startswith("{") and is_json(text):
        return written(wrapping.cloudevent_members(Raw(text)), spelling)
    envelope = wrapping.cloudevent_members(text)
    if form == 1 and is_unicode(text):
        del envelope["data"]
        envelope["data_base64"] = wrapping.base64_of(text)
    return written(envelope, spelling)


WRAPPERS: Mapping[str, Callable[[Choices, str, Spelling], str]] = {
    "sns": _in_sns,
    "eventbridge": _in_eventbridge,
    "cloudevents": _in_cloudevents,
    "base64": lambda choose, text, spelling: wrapping.base64_of(text),
    "gzip": lambda choose, text, spelling: choose.of([wrapping.gzip_of, wrapping.zlib_of])(text),
    "own": lambda choose, text, spelling: PREFIX + text,
}
