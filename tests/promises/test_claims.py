"""What eager mode promises: one live holder, and a late one that harms nobody."""

import contextlib
from typing import Any

import pytest

from idempotent_consumer import Eager, Lazy, Message, Outcome, Transactional, UnitOfWork
from idempotent_consumer.dynamodb import DynamoDBStore
from idempotent_consumer.settings import CLOCK_MARGIN_MS
from idempotent_consumer.store import Status
from idempotent_consumer.testing import InMemoryStore, sqs_event, sqs_record
from tests.promises.faults import FaultyStore, Wire
from tests.promises.world import TIMEOUT_MS, World

LEASE_OVER_MS = TIMEOUT_MS + CLOCK_MARGIN_MS + 1


def arrival(id_: str = "1", **options: Any) -> dict[str, Any]:
    return sqs_record({"id": id_}, **options)


def fail(message: Message, work: UnitOfWork) -> None:
    raise ConnectionError("no luck")


# -- one holder ----------------------------------------------------------------------------------------------


def test_of_two_workers_at_once_exactly_one_handles_the_message(world: World) -> None:
    other = world.worker(Eager())
    worker = world.worker(Eager(), lambda message, work: other.deliver(arrival()))

    worker.deliver(arrival())

    assert worker.handled + other.handled == ["1"]
    assert (worker.outcomes, other.outcomes) == ([Outcome.PROCESSED], [Outcome.IN_FLIGHT])


def test_a_duplicate_in_flight_comes_back_without_an_error_even_if_it_is_all_there_is(world: World) -> None:
    came_back: list[str] = []
    other = world.worker(Eager())
    worker = world.worker(
        Eager(), lambda message, work: came_back.extend(other.deliver(arrival(sqs_message_id="again")))
    )

    worker.deliver(arrival())

    assert came_back == ["again"]


def test_a_claim_left_by_a_crash_holds_until_its_lease_ends_and_no_longer(world: World) -> None:
    world.dying_worker(Eager()).deliver(arrival())
    worker = world.worker(Eager())

    world.pass_ms(LEASE_OVER_MS - 1)
    assert worker.deliver(arrival(sqs_message_id="m")) == ["m"]
    assert worker.handled == []

    world.pass_ms(1)
    assert worker.deliver(arrival()) == []
    assert worker.handled == ["1"]


def test_without_a_context_the_lease_is_bounded_all_the_same(world: World) -> None:
    leases_ms: list[int] = []

    def look(message: Message, work: UnitOfWork) -> None:
        leases_ms.append(world.items("consumer#1")["consumer#1"].lease_until_ms - worker.clock.now_ms())

    worker = world.worker(Eager(), look)
    worker.consumer.consume(sqs_event(arrival()))

    assert leases_ms == [15 * 60 * 1000]


@pytest.mark.parametrize("ahead_ms", [-CLOCK_MARGIN_MS, -1_000, 1_000, CLOCK_MARGIN_MS])
def test_clocks_that_differ_by_no_more_than_the_margin_never_make_two_holders(world: World, ahead_ms: int) -> None:
    """The second worker's clock is off; it tries all the time until the first one's invocation must have ended."""
    during: list[Outcome] = []

    def slow(message: Message, work: UnitOfWork) -> None:
        for _ in range(TIMEOUT_MS // 1_000):
            other.deliver(arrival())
            during.extend(other.outcomes)
            world.pass_ms(1_000)

    holder = world.worker(Eager(), slow)
    other = world.worker(Eager(), clock_ahead_ms=ahead_ms)
    holder.deliver(arrival())

    assert set(during) == {Outcome.IN_FLIGHT}
    assert other.handled == []


# -- a late holder -------------------------------------------------------------------------------------------


def test_a_slow_holder_whose_lease_was_taken_over_does_not_overwrite_the_newer_result(world: World) -> None:
    other = world.worker(Eager())

    def too_slow(message: Message, work: UnitOfWork) -> None:
        world.pass_ms(LEASE_OVER_MS)
        other.deliver(arrival())

    worker = world.worker(Eager(), too_slow)
    came_back = worker.deliver(arrival(sqs_message_id="late"))

    item = world.items("consumer#1")["consumer#1"]
    assert (came_back, worker.outcomes) == (["late"], [Outcome.LEASE_LOST])
    assert item.status is Status.COMPLETED
    assert item.updated_at_ms == other.clock.now_ms()
    assert "late" not in item.source


def test_a_slow_holder_that_fails_does_not_delete_the_newer_result_and_a_third_delivery_is_skipped(
    world: World,
) -> None:
    other = world.worker(Eager())

    def too_slow(message: Message, work: UnitOfWork) -> None:
        world.pass_ms(LEASE_OVER_MS)
        other.deliver(arrival())
        raise ConnectionError("and in vain")

    worker = world.worker(Eager(), too_slow)
    worker.deliver(arrival())
    third = world.worker(Eager())
    third.deliver(arrival())

    assert third.outcomes == [Outcome.DUPLICATE]


def test_a_slow_holder_that_fails_does_not_delete_the_claim_of_who_took_over(world: World) -> None:
    def too_slow(message: Message, work: UnitOfWork) -> None:
        world.pass_ms(LEASE_OVER_MS)
        world.dying_worker(Eager()).deliver(arrival())
        raise ConnectionError

    world.worker(Eager(), too_slow).deliver(arrival())
    third = world.worker(Eager())
    third.deliver(arrival())

    assert third.outcomes == [Outcome.IN_FLIGHT]


def test_a_completion_that_finds_no_item_is_stored_so_that_the_effect_is_not_repeated(world: World) -> None:
    """Who took over has failed and released; the effect of the first holder stands."""
    other = world.worker(Eager(), fail)

    def too_slow(message: Message, work: UnitOfWork) -> None:
        world.pass_ms(LEASE_OVER_MS)
        other.deliver(arrival())

    worker = world.worker(Eager(), too_slow)
    worker.deliver(arrival())
    third = world.worker(Eager())
    third.deliver(arrival())

    assert worker.outcomes == [Outcome.PROCESSED]
    assert third.outcomes == [Outcome.DUPLICATE]


# -- answers that are lost -----------------------------------------------------------------------------------


def test_a_claim_whose_answer_was_lost_is_a_claim_and_the_handler_runs_once(table: DynamoDBStore, wire: Wire) -> None:
    wire.lose_answers("PutItem")
    worker = World(table).worker(Eager())

    assert worker.deliver(arrival()) == []
    assert worker.handled == ["1"]
    assert wire.operations == ["PutItem"] * 3


def test_a_completion_whose_answer_was_lost_is_a_completion(table: DynamoDBStore, wire: Wire) -> None:
    world = World(table)
    worker = world.worker(Eager(), lambda message, work: wire.lose_answers("PutItem"))

    assert worker.deliver(arrival()) == []
    assert worker.outcomes == [Outcome.PROCESSED]
    assert wire.operations == ["PutItem"] * 3


@pytest.mark.parametrize("mode", [Lazy(), Transactional()])
def test_a_record_whose_answer_was_lost_is_ones_own_and_no_duplicate(
    table: DynamoDBStore, wire: Wire, mode: Any
) -> None:
    for operation in ("PutItem", "TransactWriteItems"):
        wire.lose_answers(operation)
    worker = World(table).worker(mode)

    worker.deliver(arrival())

    assert worker.outcomes == [Outcome.PROCESSED]


def test_a_completion_that_was_applied_survives_though_every_answer_was_lost(world: World) -> None:
    store = FaultyStore(world.store)
    store.fail("complete", applied=True)
    worker = world.worker(Eager(), store=store)

    assert worker.deliver(arrival(sqs_message_id="m")) == ["m"]
    assert worker.outcomes == [Outcome.UNRECORDED]

    next_worker = world.worker(Eager())
    next_worker.deliver(arrival())
    assert next_worker.outcomes == [Outcome.DUPLICATE]


def test_a_completion_that_failed_keeps_the_claim_and_the_repetition_has_the_same_idempotency_key(
    world: World,
) -> None:
    keys: list[str] = []
    store = FaultyStore(world.store)
    store.fail("complete")
    worker = world.worker(Eager(), lambda message, work: keys.append(message.idempotency_key), store=store)

    worker.deliver(arrival())
    assert worker.outcomes == [Outcome.UNRECORDED]
    assert "release" not in store.calls

    store.heal()
    worker.deliver(arrival())
    assert worker.outcomes == [Outcome.IN_FLIGHT]

    world.pass_ms(LEASE_OVER_MS)
    worker.deliver(arrival())
    assert worker.outcomes == [Outcome.PROCESSED]
    assert len(keys) == 2
    assert len(set(keys)) == 1


def test_a_lazy_record_that_could_not_be_stored_is_counted_as_unrecorded_and_comes_back(world: World) -> None:
    store = FaultyStore(world.store)
    store.fail("remember")
    worker = world.worker(Lazy(), store=store)

    assert worker.deliver(arrival(sqs_message_id="m")) == ["m"]
    assert worker.outcomes == [Outcome.UNRECORDED]


def test_a_release_that_fails_hides_nothing_and_the_claim_ends_with_its_lease(world: World) -> None:
    store = FaultyStore(world.store)
    store.fail("release")
    worker = world.worker(Eager(), fail, store=store)

    worker.deliver(arrival())

    assert worker.reports[0].reason == "ConnectionError: no luck"
    world.pass_ms(LEASE_OVER_MS)
    assert world.worker(Eager()).deliver(arrival()) == []


# -- a store out of reach ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "method"), [(Lazy(), "look_up"), (Eager(), "claim"), (Transactional(), "look_up")])
def test_with_the_store_down_no_handler_runs_and_every_message_comes_back_with_the_cause(
    world: World, mode: Any, method: str
) -> None:
    store = FaultyStore(world.store)
    store.fail(method)
    worker = world.worker(mode, store=store)

    came_back = worker.deliver(arrival("1"), arrival("2"))

    assert len(came_back) == 2
    assert worker.handled == []
    assert worker.outcomes == [Outcome.FAILED] * 2
    assert f"no answer to {method}" in worker.reports[0].reason


@pytest.mark.parametrize(
    "code", ["ProvisionedThroughputExceededException", "ThrottlingException", "InternalServerError"]
)
def test_a_throttle_is_waited_out(table: DynamoDBStore, wire: Wire, code: str) -> None:
    wire.refuse("PutItem", code, times=2)
    worker = World(table).worker(Eager())

    assert worker.deliver(arrival()) == []


def test_a_store_that_throttles_for_ever_leaves_the_neighbours_time_to_be_told(
    table: DynamoDBStore, wire: Wire
) -> None:
    wire.refuse("PutItem", "ThrottlingException", times=10_000)
    worker = World(table).worker(Eager())
    began_ms = worker.clock.now_ms()

    came_back = worker.deliver(*(arrival(str(number)) for number in range(10)))

    assert len(came_back) == 10
    assert worker.clock.now_ms() - began_ms < TIMEOUT_MS


@pytest.mark.parametrize("remaining_ms", [3_500, 4_500, 6_000])
def test_a_short_invocation_with_a_store_that_never_answers_is_not_cut_off(
    table: DynamoDBStore, wire: Wire, remaining_ms: int
) -> None:
    worker = World(table).worker(Eager())
    for operation in ("PutItem", "DeleteItem"):
        wire.never_answer(operation, lambda: worker.clock.sleep_ms(3_000))
    ends_ms = worker.clock.now_ms() + remaining_ms

    worker.deliver(arrival("1"), arrival("2"), remaining_ms=remaining_ms)

    assert worker.clock.now_ms() < ends_ms


@pytest.mark.parametrize("count", [10, 100])
def test_a_store_that_never_answers_leaves_time_to_say_so(table: DynamoDBStore, wire: Wire, count: int) -> None:
    """Every try lasts its three seconds."""
    worker = World(table).worker(Eager())
    wire.never_answer("PutItem", lambda: worker.clock.sleep_ms(3_000))
    wire.never_answer("DeleteItem", lambda: worker.clock.sleep_ms(3_000))
    ends_ms = worker.clock.now_ms() + TIMEOUT_MS

    came_back = worker.deliver(*(arrival(str(number)) for number in range(count)))

    assert len(came_back) == count
    assert worker.clock.now_ms() < ends_ms


def test_a_completion_that_is_never_answered_leaves_time_to_acknowledge_the_neighbours(
    table: DynamoDBStore, wire: Wire
) -> None:
    worker = World(table).worker(Lazy(), lambda message, work: worker.clock.sleep_ms(2_000))
    worker.deliver(arrival("0"))
    ends_ms = worker.clock.now_ms() + 15_000
    wire.never_answer("PutItem", lambda: worker.clock.sleep_ms(3_000), after=3)

    worker.deliver(*(arrival(str(number)) for number in range(1, 9)), remaining_ms=15_000)

    assert worker.clock.now_ms() < ends_ms
    assert worker.outcomes.count(Outcome.PROCESSED) == 3
    assert Outcome.UNRECORDED in worker.outcomes


def test_a_clock_that_steps_back_does_not_make_the_tries_endless(table: DynamoDBStore, wire: Wire) -> None:
    wire.refuse("PutItem", "ThrottlingException", times=10_000)
    worker = World(table).worker(Eager())
    wire.on_request = lambda: worker.clock.sleep_ms(-60_000)

    worker.deliver(arrival())

    assert worker.outcomes == [Outcome.FAILED]
    assert len(wire.requests) <= 200


@pytest.mark.parametrize("code", ["AccessDeniedException", "ResourceNotFoundException", "ValidationException"])
def test_a_refusal_is_told_at_once_and_not_tried_again(table: DynamoDBStore, wire: Wire, code: str) -> None:
    wire.refuse("PutItem", code, times=100)
    worker = World(table).worker(Eager())

    worker.deliver(arrival())

    assert worker.outcomes == [Outcome.FAILED]
    assert code in worker.reports[0].reason
    assert wire.operations == ["PutItem"]


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), GeneratorExit()])
def test_an_exit_or_a_cancellation_leaves_no_lock(error: BaseException) -> None:
    store = InMemoryStore()

    def stop(message: Message, work: UnitOfWork) -> None:
        raise error

    worker = World(store).worker(Eager(), stop)
    with contextlib.suppress(KeyboardInterrupt):  # the only one that goes on, to stop the process
        worker.consumer.consume(sqs_event(arrival()))

    assert store.items == {}


# -- one after the other -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [Lazy(), Eager(), Transactional()])
@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_worker_starts_its_next_handler_only_when_its_last_completion_is_durable(mode: Any, concurrency: int) -> None:
    """Otherwise a message that kills the process would undo the record of the one before it, at each redelivery."""
    store = FaultyStore(InMemoryStore())
    world = World(store)
    begun: list[int] = []

    def handle(message: Message, work: UnitOfWork) -> None:
        begun.append(sum(call in ("remember", "complete", "commit") for call in store.calls))

    world.worker(mode, handle, concurrency=concurrency).deliver(*(arrival(str(number)) for number in range(9)))

    assert all(durable >= started - concurrency + 1 for started, durable in enumerate(begun))


def test_a_message_that_kills_the_process_does_not_undo_the_one_before_it(world: World) -> None:
    """m1 is charged once, and not once for each time that m2 takes the process down."""
    charges: list[str] = []
    store = FaultyStore(world.store)

    def handle(message: Message, work: UnitOfWork) -> None:
        if message.id == "poison":
            store.is_dead = True
            raise KeyboardInterrupt
        charges.append(message.id)

    for receive in range(1, 4):
        store.is_dead = False
        worker = world.worker(Eager(), handle, store=store)
        first = arrival("m1", sqs_message_id="a", receive_count=receive + 1)
        with pytest.raises(KeyboardInterrupt):
            worker.deliver(first, arrival("poison", sqs_message_id="b", receive_count=receive))
        world.pass_ms(LEASE_OVER_MS)

    assert charges == ["m1"]
