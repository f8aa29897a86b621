"""No two different identities share a key, and one identity has one key, however it is written."""

from collections.abc import Hashable, Iterable
from hashlib import sha256
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from idempotent_consumer import IdempotentConsumer, Lazy
from idempotent_consumer.testing import FakeClock, FakeContext, InMemoryStore, sqs_event, sqs_record
from tests.fuzz import documents, python_values
from tests.fuzz.bench import Bench, printed
from tests.fuzz.bodies import is_json
from tests.fuzz.choices import made
from tests.fuzz.oracle import EMPTY, NOTHING, UNSURE, identity_of
from tests.fuzz.profile import fuzzing
from tests.fuzz.records import batches, record
from tests.fuzz.setups import Setup, setups
from tests.fuzz.values import FEW_TEXTS, TEXTS
from tests.fuzz.wrapping import SPELLINGS, written

NAMES = st.sampled_from(["a", "a:b", "a/b", "a.b", "a-b", "A", "orders", "orders:a", "sha256:a"])
SEPARATED = st.text('a|#,:"\\[]', min_size=4, max_size=12)
"""Texts of little but what software puts between parts."""
LONG = ["x" * 3_000, "y" * 3_000]
LOOKALIKES = st.sampled_from(
    [*LONG, *(f"{start}{sha256(text.encode()).hexdigest()}" for text in LONG for start in ("", "sha256:"))]
)
"""Ids that are hashed for their length, and what somebody could send who knows how."""


def assert_that_keys_are_identities(pairs: Iterable[tuple[Hashable, str | None]]) -> None:
    """Fail if two identities have one key, or one identity has two."""
    identity_by_key: dict[str | None, Hashable] = {}
    key_by_identity: dict[Hashable, str | None] = {}
    for identity, key in pairs:
        assert identity_by_key.setdefault(key, identity) == identity, "two identities share a key"
        assert key_by_identity.setdefault(identity, key) == key, "one identity has two keys"


@fuzzing
@given(st.data())
def test_two_messages_share_a_key_exactly_if_they_are_one_message(data: st.DataObject) -> None:
    setup = data.draw(setups())
    batch = data.draw(batches(setup))

    delivered = Bench(setup).deliver(tuple(batch))

    identities = [identity_of(one, setup.envelopes, setup.strategy) for one in batch]
    assert_that_keys_are_identities(
        (identity, key)
        for identity, key in zip(identities, delivered.keys(), strict=True)
        if identity not in (NOTHING, EMPTY, UNSURE)
    )


@fuzzing
@given(st.data())
def test_how_a_body_is_spelled_does_not_change_who_the_message_is(data: st.DataObject) -> None:
    setup = data.draw(setups())
    originals = data.draw(st.lists(made(lambda choose: record(choose, setup, "m")), min_size=1, max_size=8))
    originals = [one for one in originals if isinstance(one, dict) and can_be_respelled(one.get("body"))]
    assume(originals)
    spelling = data.draw(st.sampled_from(SPELLINGS))
    respelled = [{**one, "body": documents.respelled(one["body"], spelling)} for one in originals]
    named = [{**one, "messageId": f"m{place}"} for one in (originals, respelled) for place, one in enumerate(one)]

    keys = Bench(setup).deliver(({"eventSource": "aws:sqs"}, *named)).keys()[1:]

    assert keys[: len(originals)] == keys[len(originals) :]


@fuzzing
@given(st.lists(made(documents.document), min_size=1, max_size=10), st.data())
def test_content_is_one_message_exactly_if_it_is_equal_however_it_is_written(
    contents: list[Any], data: st.DataObject
) -> None:
    spellings = data.draw(st.lists(st.sampled_from(SPELLINGS), min_size=len(contents) * 2, max_size=len(contents) * 2))
    contents += [documents.with_other_numbers(content) for content in contents]
    batch = [sqs_record(written(content, spelling)) for content, spelling in zip(contents, spellings, strict=True)]
    setup = Setup("content", fingerprint=None)

    keys = Bench(setup).deliver(tuple(batch)).keys()

    identities = [identity_of(one, (), "content") for one in batch]
    assert_that_keys_are_identities(
        (identity, key) for identity, key in zip(identities, keys, strict=True) if identity != NOTHING
    )
    assert [key is None for key in keys] == [identity == NOTHING for identity in identities]
    half = len(keys) // 2
    assert keys[:half] == keys[half:]


@fuzzing
@given(st.lists(made(python_values.value), max_size=24))
def test_what_a_strategy_of_ones_own_returns_is_written_by_its_rule_or_refused(values: list[Any]) -> None:
    store = InMemoryStore()
    ids: list[str] = []
    consumer = IdempotentConsumer(
        "own-values",
        mode=Lazy(),
        message_id=lambda message: values[int(message.body)],
        store=store,
        clock=FakeClock(),
        fingerprint=None,
        on_outcome=lambda report: ids.append(report.message._id) if report.message else None,  # type: ignore[arg-type]
    )
    consumer.handler(lambda message, work: None)

    with printed("own-values"):
        for place in range(len(values)):
            consumer.consume(sqs_event(sqs_record(str(place))), FakeContext())

    assert [python_values.written(value) for value in values] == ids


@fuzzing
@given(SEPARATED)
def test_two_parts_never_run_into_one_another(joined: str) -> None:
    """Whatever stood between them: a text is taken apart at each of its characters."""
    pairs = [(joined[:place], joined[place + 1 :]) for place in range(1, len(joined) - 1)]
    batch = [sqs_record({"customer": customer, "order": order}) for customer, order in pairs]

    keys = Bench(Setup("fields", fingerprint=None)).deliver(tuple(batch)).keys()

    assert_that_keys_are_identities(zip(pairs, keys, strict=True))


@fuzzing
@given(st.lists(LOOKALIKES, min_size=2, max_size=12))
def test_no_id_poses_as_the_hash_of_another(ids: list[str]) -> None:
    batch = [sqs_record({"id": message_id}) for message_id in ids]

    keys = Bench(Setup("field", fingerprint=None)).deliver(tuple(batch)).keys()

    assert_that_keys_are_identities(zip(ids, keys, strict=True))


@fuzzing
@given(st.lists(st.tuples(NAMES, st.sampled_from([*FEW_TEXTS, *TEXTS, "b#a", "#", "a#a"])), min_size=2, max_size=12))
def test_what_two_consumers_remember_never_meets(pairs: list[tuple[str, str]]) -> None:
    store = InMemoryStore()
    keys: list[str | None] = []

    for name, message_id in pairs:
        bench = Bench(Setup("field", fingerprint=None), store=store, name=name)
        keys += bench.deliver((sqs_record({"id": message_id}),)).keys()

    assert_that_keys_are_identities(zip(pairs, keys, strict=True))
    assert len(store.items) == len(set(pairs))


def can_be_respelled(body: Any) -> bool:
    """Tell whether a body can be written in another way: not what is nested deep, or no decimal."""
    return isinstance(body, str) and is_json(body) and len(body) < 10_000 and "[[" not in body and "e99" not in body
