"""What is not acknowledged comes back when that can be of use, and never spends a receive for nothing."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError

from idempotent_consumer import (
    Backoff,
    ConfigurationError,
    Eager,
    Lazy,
    Message,
    Natural,
    Outcome,
    Reject,
    RetryLater,
    Settings,
    Transactional,
    UnitOfWork,
)
from idempotent_consumer.modes import Mode
from idempotent_consumer.settings import CLOCK_MARGIN_MS, LONGEST_SHAPING_MS
from idempotent_consumer.testing import FakeClock, InMemoryStore, sqs_record
from tests.promises.faults import FaultyStore
from tests.promises.world import TIMEOUT_MS, Worker, World, do_nothing

URL = "https://sqs.eu-central-1.amazonaws.com/111122223333/orders"
ARN = "arn:aws:sqs:eu-central-1:111122223333:orders"
SETTINGS = Settings(queue_urls=(URL, f"{URL}.fifo"))
MODES = [Lazy(), Eager(), Transactional(), Natural()]
REMEMBERING = [Lazy(), Eager(), Transactional()]
NOBODY_THERE = EndpointConnectionError(endpoint_url=URL)
DENIED = ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "ChangeMessageVisibilityBatch")

Answer = Callable[[Sequence[dict[str, Any]]], dict[str, Any]]


class Queues:
    """
    Stand in for boto3's client of SQS, and write down when each delivery is to come back.

    Args:
        script: what becomes of the first requests: an error, or a function that answers. The last counts for ever.
    """

    def __init__(self, *script: Exception | Answer) -> None:
        self._script = list(script)
        self.requests: list[list[dict[str, Any]]] = []
        self.urls: list[str] = []
        self.waits_s: dict[str, int] = {}

    def change_message_visibility_batch(self, *, QueueUrl: str, Entries: Sequence[Any]) -> Any:  # noqa: N803 - boto3's
        """Change them, or do what the script says."""
        self.urls.append(QueueUrl)
        self.requests.append(list(Entries))
        happening = self._script.pop(0) if len(self._script) > 1 else next(iter(self._script), None)
        if isinstance(happening, Exception):
            raise happening
        answer = happening(Entries) if happening else {}
        failed = {each["Id"] for each in answer.get("Failed", [])}
        self.waits_s |= {
            entry["ReceiptHandle"]: entry["VisibilityTimeout"] for entry in Entries if entry["Id"] not in failed
        }
        return answer

    def worker(self, mode: Mode, handler: Any = do_nothing, world: World | None = None, **options: Any) -> Worker:
        """Start a worker that shapes the redelivery of these queues."""
        options = {"settings": SETTINGS, "sqs": self, "backoff": BACKOFF} | options
        return (world or World(InMemoryStore())).worker(mode, handler, **options)


class SlowQueues(Queues):
    """Take some time for each request, and write down when each delivery comes back by that."""

    def __init__(self, took_ms: int, *script: Exception | Answer) -> None:
        super().__init__(*script)
        self._took_ms = took_ms
        self.clock = FakeClock()
        self.back_ms: dict[str, int] = {}

    def change_message_visibility_batch(self, *, QueueUrl: str, Entries: Sequence[Any]) -> Any:  # noqa: N803 - boto3's
        self.clock.sleep_ms(self._took_ms)
        answer = super().change_message_visibility_batch(QueueUrl=QueueUrl, Entries=Entries)
        self.back_ms |= {
            entry["ReceiptHandle"]: self.clock.now_ms() + 1_000 * entry["VisibilityTimeout"] for entry in Entries
        }
        return answer

    def worker(self, *arguments: Any, **options: Any) -> Worker:
        worker = super().worker(*arguments, **options)
        self.clock = worker.clock
        return worker


BACKOFF = Backoff(base=timedelta(seconds=10), cap=timedelta(seconds=60))


def refusing(code: str, *, sender_fault: bool = True) -> Answer:
    """Refuse the first entry of a request."""
    return lambda entries: {
        "Failed": [{"Id": entries[0]["Id"], "Code": code, "Message": "no", "SenderFault": sender_fault}]
    }


def accepting(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Take all."""
    return {"Successful": [{"Id": entry["Id"]} for entry in entries]}


def record(name: str, *, message_id: str = "", **options: Any) -> dict[str, Any]:
    """Return a record whose SQS message id and receipt handle are one name; its message id is that or another."""
    return sqs_record({"id": message_id or name}, sqs_message_id=name, **options) | {"receiptHandle": name}


def raising(error: Exception, only: str = "") -> Any:
    def handle(message: Message, work: UnitOfWork) -> None:
        if not only or message.json()["id"] in only:
            raise error.with_traceback(None)

    return handle


def lasting(worker_of: Callable[[], Worker], duration_ms: int) -> Any:
    def handle(message: Message, work: UnitOfWork) -> None:
        worker_of().clock.sleep_ms(duration_ms)

    return handle


def after_s(lease_ms: int) -> int:
    """Return the first whole second at which a lease that still has so long to go may be taken over."""
    return (lease_ms + CLOCK_MARGIN_MS) // 1_000 + 1


# -- the backoff ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_a_message_whose_handler_raises_waits_twice_as_long_after_each_receive(mode: Mode) -> None:
    queues = Queues()
    worker = queues.worker(mode, raising(ValueError("no")))
    bounds_s: list[tuple[int, int]] = []
    for receive_count in (1, 2, 3, 4, 30):
        waits = set()
        for attempt in range(40):
            name = f"{receive_count}-{attempt}"
            worker.deliver(record(name, receive_count=receive_count))
            waits.add(queues.waits_s[name])
        bounds_s.append((min(waits), max(waits)))

    for (low, high), longest in zip(bounds_s, [10, 20, 40, 60, 60], strict=True):
        assert longest / 2 <= low < high <= longest


def test_what_is_acknowledged_is_left_alone() -> None:
    queues = Queues()
    queues.worker(Lazy(), raising(ValueError("no"), only="b")).deliver(record("a"), record("b"), record("c"))

    assert list(queues.waits_s) == ["b"]


def test_a_batch_without_failures_makes_no_request() -> None:
    queues = Queues()
    queues.worker(Lazy()).deliver(record("a"), record("b"))

    assert queues.requests == []


@pytest.mark.parametrize(("delay", "seconds"), [(0, 0), (1, 1), (90.2, 91), (3_600, 3_600), (12 * 3_600, 41_400)])
def test_a_handler_says_when_to_try_again_within_what_sqs_allows(delay: float, seconds: int) -> None:
    queues = Queues()
    queues.worker(Eager(), raising(RetryLater(timedelta(seconds=delay)))).deliver(record("a"))

    assert queues.waits_s == {"a": seconds}


@pytest.mark.parametrize(
    ("errors", "seconds"),
    [
        ([RetryLater(timedelta(minutes=10))], 600),
        ([RetryLater(timedelta(minutes=10)), RetryLater(timedelta(hours=1)), RetryLater(timedelta(0))], 3_600),
        ([ValueError("no"), RetryLater(timedelta(minutes=10)), Reject("no")], 600),
        ([ExceptionGroup("inner", [ExceptionGroup("innermost", [RetryLater(timedelta(hours=1))])])], 3_600),
    ],
)
def test_of_several_waits_that_a_handler_asks_for_in_a_group_of_errors_the_longest_counts(
    errors: list[Exception], seconds: int
) -> None:
    queues = Queues()
    worker = queues.worker(Eager(), raising(ExceptionGroup("several", errors)))
    worker.deliver(record("a"))

    assert worker.outcomes == [Outcome.FAILED]
    assert queues.waits_s == {"a": seconds}


def test_a_task_of_a_handler_says_when_to_try_again() -> None:
    async def ask() -> None:
        raise RetryLater(timedelta(minutes=10))

    async def handle(message: Message, work: UnitOfWork) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(ask())

    queues = Queues()
    queues.worker(Eager(), handle).deliver(record("a"))

    assert queues.waits_s == {"a": 600}


def test_a_wait_and_all_that_went_before_it_stay_within_the_12_hours_of_sqs() -> None:
    longest_batch_window_s, longest_invocation_s = 300, 900
    queues = Queues()
    queues.worker(Natural(), raising(RetryLater(timedelta(hours=12)))).deliver(record("a"))

    assert queues.waits_s["a"] + longest_batch_window_s + longest_invocation_s <= 12 * 3_600


def test_a_rejected_message_that_could_not_be_dead_lettered_backs_off_like_a_failed_one() -> None:
    queues = Queues()
    queues.worker(Lazy(), raising(Reject("no"))).deliver(record("a", receive_count=2))

    assert 10 <= queues.waits_s["a"] <= 20


# -- leases ---------------------------------------------------------------------------------------


def test_a_duplicate_in_flight_comes_back_once_when_the_lease_can_have_ended() -> None:
    queues, world = Queues(), World(InMemoryStore())
    second = queues.worker(Eager(), world=world, name="c")

    def handle(message: Message, work: UnitOfWork) -> None:
        second.clock.sleep_ms(1_500)
        assert second.deliver(record("again", receive_count=2) | {"body": '{"id": "a"}'}) == ["again"]
        assert second.outcomes == [Outcome.IN_FLIGHT]

    first = queues.worker(Eager(), handle, world=world, name="c")
    first.deliver(record("a"))

    assert queues.waits_s == {"again": after_s(TIMEOUT_MS - 1_500)}
    second.clock.sleep_ms(1_000 * queues.waits_s["again"])
    second.deliver(record("again", receive_count=3) | {"body": '{"id": "a"}'})
    assert second.outcomes == [Outcome.DUPLICATE]


def test_a_holder_that_vanished_is_taken_over_at_the_first_redelivery() -> None:
    queues, world = Queues(), World(InMemoryStore())
    world.dying_worker(Eager(), name="c").deliver(record("a"))
    second = queues.worker(Eager(), world=world, name="c")

    second.deliver(record("a", receive_count=2))
    assert second.outcomes == [Outcome.IN_FLIGHT]
    second.clock.sleep_ms(1_000 * queues.waits_s["a"])
    second.deliver(record("a", receive_count=3))
    assert second.outcomes == [Outcome.PROCESSED]


def test_an_effect_that_could_not_be_recorded_waits_for_the_end_of_its_own_claim() -> None:
    queues = Queues()
    store = FaultyStore(InMemoryStore())
    store.fail("complete")
    worker = queues.worker(Eager(), lasting(lambda: worker, 4_000), store=store)
    worker.deliver(record("a"))

    assert worker.outcomes == [Outcome.UNRECORDED]
    assert queues.waits_s == {"a": after_s(TIMEOUT_MS - 4_000)}


def test_a_claim_of_its_own_that_outlasts_the_invocation_is_waited_for_to_its_end() -> None:
    queues = Queues()
    store = FaultyStore(InMemoryStore())
    store.fail("complete")
    worker = queues.worker(Eager(lease=timedelta(minutes=10)), store=store)
    worker.deliver(record("a"))

    assert queues.waits_s == {"a": after_s(600_000)}


@pytest.mark.parametrize(
    ("lease", "error", "seconds"),
    [
        (None, ValueError("no"), after_s(TIMEOUT_MS)),
        (None, Reject("no"), after_s(TIMEOUT_MS)),
        (None, RetryLater(timedelta(seconds=1)), after_s(TIMEOUT_MS)),
        (None, RetryLater(timedelta(hours=1)), 3_600),
        (timedelta(minutes=10), ValueError("no"), after_s(600_000)),
    ],
)
@pytest.mark.parametrize("applied", [False, True])
def test_a_claim_that_could_not_be_released_is_waited_for_to_its_end(
    lease: timedelta | None, error: Exception, seconds: int, applied: bool
) -> None:
    queues = Queues()
    store = FaultyStore(InMemoryStore())
    store.fail("release", applied=applied)
    queues.worker(Eager(lease=lease), raising(error), store=store).deliver(record("a"), record("fold", message_id="a"))

    assert queues.waits_s == {"a": seconds, "fold": seconds}


def test_a_claim_of_a_delivery_that_was_not_started_is_waited_for_if_it_could_not_be_released() -> None:
    class SlowToClaim(FaultyStore):
        def claim(self, *arguments: Any, **options: Any) -> Any:
            if "claim" in self.calls:
                worker.clock.sleep_ms(20_000)
            return super().claim(*arguments, **options)

    queues = Queues()
    store = SlowToClaim(InMemoryStore())
    store.fail("release")
    worker = queues.worker(Eager(), lasting(lambda: worker, 6_000), store=store)
    worker.deliver(record("a"), record("b"))

    assert sorted(worker.outcomes) == [Outcome.DEFERRED, Outcome.PROCESSED]
    assert list(queues.waits_s.values()) == [after_s(TIMEOUT_MS - 26_000)]


def test_a_backoff_that_is_longer_than_a_claim_that_could_not_be_released_is_kept() -> None:
    queues = Queues()
    store = FaultyStore(InMemoryStore())
    store.fail("release")
    backoff = Backoff(base=timedelta(hours=2), cap=timedelta(hours=2))
    queues.worker(Eager(), raising(ValueError("no")), store=store, backoff=backoff).deliver(record("a"))

    assert 3_600 <= queues.waits_s["a"] <= 7_200


def test_a_holder_that_was_taken_over_waits_for_the_newer_lease() -> None:
    queues, world = Queues(), World(InMemoryStore())
    ahead_ms = TIMEOUT_MS + CLOCK_MARGIN_MS + 1_000  # more than the margin allows

    def handle(message: Message, work: UnitOfWork) -> None:
        world.dying_worker(Eager(), name="c", clock_ahead_ms=ahead_ms).deliver(record("a", receive_count=2))

    older = queues.worker(Eager(), handle, world=world, name="c")
    older.deliver(record("a"))

    assert older.outcomes == [Outcome.LEASE_LOST]
    assert queues.waits_s == {"a": after_s(ahead_ms + TIMEOUT_MS)}


def test_a_holder_that_was_taken_over_by_one_that_is_done_comes_back_at_once() -> None:
    queues, world = Queues(), World(InMemoryStore())

    def handle(message: Message, work: UnitOfWork) -> None:
        newer = world.worker(Eager(), name="c", clock_ahead_ms=TIMEOUT_MS + CLOCK_MARGIN_MS + 1_000)
        assert newer.deliver(record("a", receive_count=2)) == []

    older = queues.worker(Eager(), handle, world=world, name="c")
    older.deliver(record("a"))

    assert older.outcomes == [Outcome.LEASE_LOST]
    assert queues.waits_s == {"a": 0}


# -- a store that is out of reach -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "method"), [(Lazy(), "look_up"), (Eager(), "claim"), (Transactional(), "look_up"), (Lazy(), "remember")]
)
def test_while_the_store_is_out_of_reach_messages_back_off_in_minutes(mode: Mode, method: str) -> None:
    queues = Queues()
    store = FaultyStore(InMemoryStore())
    store.fail(method)
    worker = queues.worker(mode, store=store)
    worker.deliver(record("a"), record("b", receive_count=2), record("c", receive_count=9))

    assert set(worker.outcomes) <= {Outcome.FAILED, Outcome.UNRECORDED}
    assert 60 <= queues.waits_s["a"] <= 120 <= queues.waits_s["b"] <= 240 < 900 <= queues.waits_s["c"] <= 1_800


def test_a_consumers_own_backoff_counts_in_an_outage_where_it_is_longer() -> None:
    queues = Queues()
    store = FaultyStore(InMemoryStore())
    store.fail("look_up")
    backoff = Backoff(base=timedelta(hours=2), cap=timedelta(hours=4))
    queues.worker(Lazy(), store=store, backoff=backoff).deliver(record("a"))

    assert 3_600 <= queues.waits_s["a"] <= 7_200


@pytest.mark.parametrize("mode", REMEMBERING)
def test_a_store_that_is_down_for_ten_minutes_costs_no_message_its_receives(mode: Mode) -> None:
    """The queue's own limit is 10 receives; what has not run is never dead-lettered by us."""
    queues = Queues()
    world = World(InMemoryStore())
    store = FaultyStore(world.store)
    for method in ("look_up", "claim", "commit", "remember", "complete"):
        store.fail(method)
    worker = queues.worker(mode, world=world, store=store)
    receives = dict.fromkeys([f"m{number}" for number in range(50)], 0)
    due_ms = dict.fromkeys(receives, worker.clock.now_ms())
    up_again_ms = worker.clock.now_ms() + 600_000

    while due_ms:
        name = min(due_ms, key=lambda each: due_ms[each])
        worker.clock.sleep_ms(max(0, due_ms[name] - worker.clock.now_ms()))
        if worker.clock.now_ms() >= up_again_ms:
            store.heal()
        receives[name] += 1
        del due_ms[name]
        if worker.deliver(record(name, receive_count=receives[name])):
            due_ms[name] = worker.clock.now_ms() + 1_000 * queues.waits_s[name]

    assert sorted(worker.handled) == sorted(receives)
    assert max(receives.values()) <= 5


# -- deferred, and lanes --------------------------------------------------------------------------


def test_what_was_not_started_comes_back_at_once() -> None:
    queues = Queues()
    worker = queues.worker(Natural(), lasting(lambda: worker, 20_000))
    worker.deliver(record("a"), record("b"), record("c"))

    assert worker.outcomes.count(Outcome.DEFERRED) == 2
    assert sorted(queues.waits_s.values()) == [0, 0]


@pytest.mark.parametrize("mode", MODES)
def test_a_lane_comes_back_together_so_that_its_order_is_kept(mode: Mode) -> None:
    queues = Queues()
    worker = queues.worker(mode, raising(ValueError("no"), only="b"))
    group: dict[str, Any] = {"queue_arn": f"{ARN}.fifo", "group_id": "g"}
    worker.deliver(*[record(name, **group) for name in "abcd"], record("x", queue_arn=f"{ARN}.fifo", group_id="h"))

    assert worker.outcomes[:4] == [Outcome.PROCESSED, Outcome.FAILED, Outcome.DEFERRED, Outcome.DEFERRED]
    assert 5 <= queues.waits_s["b"] == queues.waits_s["c"] == queues.waits_s["d"] <= 10
    assert "x" not in queues.waits_s


def test_a_lane_that_ran_out_of_time_comes_back_at_once() -> None:
    queues = Queues()
    worker = queues.worker(Natural(), lasting(lambda: worker, 20_000))
    group: dict[str, Any] = {"queue_arn": f"{ARN}.fifo", "group_id": "g"}
    worker.deliver(record("a", **group), record("b", **group))

    assert queues.waits_s == {"b": 0}


def test_equal_deliveries_wait_each_by_their_own_receives() -> None:
    queues = Queues()
    worker = queues.worker(Lazy(), raising(ValueError("no")))
    worker.deliver(record("a", receive_count=3), record("fold", message_id="a"))

    assert 20 <= queues.waits_s["a"] <= 40
    assert 5 <= queues.waits_s["fold"] <= 10


# -- the requests ---------------------------------------------------------------------------------


def test_sqs_is_asked_in_tens() -> None:
    queues = Queues()
    names = [f"m{number}" for number in range(23)]
    queues.worker(Natural(), raising(ValueError("no"))).deliver(*map(record, names))

    assert [len(request) for request in queues.requests] == [10, 10, 3]
    assert sorted(queues.waits_s) == sorted(names)


def test_each_queue_is_asked_about_its_own_deliveries() -> None:
    queues = Queues()
    fifo: dict[str, Any] = {"queue_arn": f"{ARN}.fifo", "group_id": "g"}
    queues.worker(Natural(), raising(ValueError("no"))).deliver(record("a"), record("b", **fifo), record("c"))

    assert dict(
        zip(queues.urls, [[one["ReceiptHandle"] for one in request] for request in queues.requests], strict=True)
    ) == {
        URL: ["a", "c"],
        f"{URL}.fifo": ["b"],
    }


NAMESAKES = [
    ("eu-central-1", "111122223333"),
    ("eu-central-1", "444455556666"),
    ("us-gov-west-1", "111122223333"),
]


@pytest.mark.parametrize(
    "form",
    [
        "https://sqs.{region}.amazonaws.com/{account}/orders",
        "https://{region}.queue.amazonaws.com/{account}/orders",
        "https://vpce-0a1b-2c3d.sqs.{region}.vpce.amazonaws.com/{account}/orders",
        "http://localhost:4566/queue/{region}/{account}/orders",
    ],
)
def test_queues_of_one_name_in_several_accounts_or_regions_are_told_apart(form: str) -> None:
    urls = [form.format(region=region, account=account) for region, account in NAMESAKES]
    arns = [f"arn:aws:sqs:{region}:{account}:orders" for region, account in NAMESAKES]
    for named in range(1, 4):
        queues = Queues()
        settings = Settings(queue_urls=tuple(urls[:named]))
        worker = queues.worker(Natural(), raising(ValueError("no")), settings=settings)
        worker.deliver(*[record(str(number), queue_arn=arn) for number, arn in enumerate(arns)])

        asked = dict(
            zip(queues.urls, [[one["ReceiptHandle"] for one in each] for each in queues.requests], strict=True)
        )
        assert asked == {url: [str(number)] for number, url in enumerate(urls[:named])}


@pytest.mark.parametrize("settings", [Settings(), Settings(queue_urls=(f"{URL}-of-others",))])
def test_deliveries_of_a_queue_that_was_not_named_are_left_alone(settings: Settings) -> None:
    queues = Queues()
    worker = queues.worker(Natural(), raising(ValueError("no")), settings=settings)

    assert worker.deliver(record("a")) == ["a"]
    assert queues.requests == []


@pytest.mark.parametrize("handle", [None, "", 7])
def test_a_record_without_a_receipt_handle_comes_back_after_the_queues_timeout(handle: object) -> None:
    queues = Queues()
    worker = queues.worker(Natural(), raising(ValueError("no")))

    assert worker.deliver(record("a") | {"receiptHandle": handle}, record("b")) == ["a", "b"]
    assert list(queues.waits_s) == ["b"]


# -- best effort ----------------------------------------------------------------------------------


@pytest.mark.parametrize("failure", [DENIED, NOBODY_THERE, ValueError("a fault of ours"), refusing("InvalidParameter")])
def test_what_sqs_says_to_a_wait_changes_nothing_about_the_answer(failure: Any) -> None:
    queues = Queues(failure)
    worker = queues.worker(Lazy(), raising(ValueError("no"), only="bd"))

    assert worker.deliver(*map(record, "abcd")) == ["b", "d"]


def test_a_missing_permission_is_warned_of_once_and_asked_for_once_in_a_batch(
    capsys: pytest.CaptureFixture[str],
) -> None:
    queues = Queues(DENIED)
    worker = queues.worker(Natural(), raising(ValueError("no")), name="without-permission")
    for _ in range(3):
        worker.deliver(*[record(f"m{number}") for number in range(30)])

    assert len(queues.requests) == 3
    assert capsys.readouterr().out.count("left to the queue's visibility timeout") == 1


def test_one_refused_entry_harms_none_of_its_neighbours(capsys: pytest.CaptureFixture[str]) -> None:
    queues = Queues(refusing("ReceiptHandleIsInvalid"))
    queues.worker(Natural(), raising(ValueError("no")), name="one-refused").deliver(*map(record, "abc"))

    assert len(queues.requests) == 1
    assert list(queues.waits_s) == ["b", "c"]
    assert "ReceiptHandleIsInvalid" in capsys.readouterr().out


def test_a_delivery_that_is_visible_again_already_is_no_reason_to_warn(capsys: pytest.CaptureFixture[str]) -> None:
    queues = Queues(refusing("MessageNotInflight"))
    queues.worker(Natural(), raising(ValueError("no")), name="visible-again").deliver(record("a"))

    assert "left to the queue" not in capsys.readouterr().out


@pytest.mark.parametrize("passing", [NOBODY_THERE, refusing("InternalError", sender_fault=False)])
def test_what_may_pass_is_tried_again(passing: Any) -> None:
    queues = Queues(passing, accepting)
    queues.worker(Natural(), raising(ValueError("no"))).deliver(*map(record, "abc"))

    assert sorted(queues.waits_s) == ["a", "b", "c"]
    assert len(queues.requests) == 2


def test_trying_again_ends_with_the_time() -> None:
    queues = Queues(NOBODY_THERE)
    worker = queues.worker(Natural(), raising(ValueError("no")))

    assert worker.deliver(record("a")) == ["a"]
    assert 1 < len(queues.requests) < 40


def test_without_time_for_an_answer_sqs_is_not_asked() -> None:
    queues = Queues()
    worker = queues.worker(Natural(), lasting(lambda: worker, TIMEOUT_MS - LONGEST_SHAPING_MS))
    worker.deliver(record("a"), record("b"))

    assert worker.outcomes.count(Outcome.DEFERRED) == 1
    assert queues.requests == []


def test_sqs_is_still_told_in_the_time_that_is_kept_back_for_the_answer() -> None:
    queues = Queues()
    worker = queues.worker(Natural(), lasting(lambda: worker, TIMEOUT_MS - LONGEST_SHAPING_MS - 1))
    worker.deliver(record("a"), record("b"))

    assert list(queues.waits_s.values()) == [0]


def test_of_hundreds_that_ran_out_of_time_most_are_told_to_come_back_at_once() -> None:
    queues = SlowQueues(15)
    worker = queues.worker(Natural(), lasting(lambda: worker, 20))
    worker.deliver(*[record(f"m{number}") for number in range(2_000)])

    deferred = worker.outcomes.count(Outcome.DEFERRED)
    assert 500 < deferred < 700
    assert list(queues.waits_s.values()) == [0] * len(queues.waits_s)
    assert len(queues.waits_s) > deferred / 2


# -- configuration --------------------------------------------------------------------------------


def test_the_environment_sets_base_and_cap() -> None:
    settings = Settings.from_environment(
        {"QUEUE_URL": f"{URL}, {URL}.fifo", "BACKOFF_BASE_SECONDS": "100", "BACKOFF_CAP_SECONDS": "150"}
    )
    queues = Queues()
    worker = queues.worker(Natural(), raising(ValueError("no")), backoff=None, settings=settings)
    worker.deliver(record("a"), record("b", receive_count=4))

    assert 50 <= queues.waits_s["a"] <= 100
    assert 75 <= queues.waits_s["b"] <= 150


@pytest.mark.parametrize(
    ("environment", "problem"),
    [
        ({"BACKOFF_BASE_SECONDS": "0"}, "BACKOFF_BASE_SECONDS is '0'"),
        ({"BACKOFF_CAP_SECONDS": "soon"}, "BACKOFF_CAP_SECONDS is 'soon'"),
        ({"BACKOFF_BASE_SECONDS": "60", "BACKOFF_CAP_SECONDS": "30"}, "BACKOFF_BASE_SECONDS, BACKOFF_CAP_SECONDS"),
        ({"QUEUE_URL": "orders"}, "QUEUE_URL is 'orders'"),
    ],
)
def test_an_environment_that_cannot_be_followed_is_refused(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], problem: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(ConfigurationError, match=problem):
        World(InMemoryStore()).worker(Natural())


def test_a_backoff_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="backoff is 30: give a Backoff"):
        World(InMemoryStore()).worker(Natural(), backoff=30)


# -- waits count from when they were known -----------------------------------------------------------


def test_a_wait_counts_from_the_moment_that_it_was_asked_for_and_not_from_the_end_of_the_batch() -> None:
    queues = Queues()

    def handle(message: Message, work: UnitOfWork) -> None:
        if message.json()["id"] == "a":
            raise RetryLater(timedelta(seconds=10))
        worker.clock.sleep_ms(6_000)

    worker = queues.worker(Natural(), handle)
    worker.deliver(record("a", receive_count=2), record("b"))

    assert queues.waits_s == {"a": 4}


def test_a_lease_that_ended_while_the_neighbours_were_handled_is_not_waited_for() -> None:
    queues, world = Queues(), World(InMemoryStore())
    world.dying_worker(Eager(lease=timedelta(seconds=1)), name="c").deliver(record("a"), remaining_ms=1_000)
    worker = queues.worker(Eager(), lasting(lambda: worker, 20_000), world=world, name="c")
    worker.deliver(record("a", receive_count=9), record("b"))

    assert worker.outcomes == [Outcome.IN_FLIGHT, Outcome.PROCESSED]
    assert queues.waits_s == {"a": 0}


@pytest.mark.parametrize("silence", [ReadTimeoutError(endpoint_url=URL), ConnectTimeoutError(endpoint_url=URL)])
def test_one_queue_that_does_not_answer_keeps_no_other_from_being_shaped(silence: Exception) -> None:
    class OneSilent(Queues):
        def change_message_visibility_batch(self, *, QueueUrl: str, Entries: Sequence[Any]) -> Any:  # noqa: N803
            if QueueUrl == URL:
                raise silence
            return super().change_message_visibility_batch(QueueUrl=QueueUrl, Entries=Entries)

    queues = OneSilent()
    worker = queues.worker(Natural(), raising(ValueError("no")))
    worker.deliver(record("a"), record("b", queue_arn=f"{ARN}.fifo", group_id="g"))

    assert list(queues.waits_s) == ["b"]


@pytest.mark.parametrize(
    ("error", "shortest_ms"), [(RetryLater(timedelta(seconds=60)), 60_000), (ValueError("no"), 30_000)]
)
def test_however_many_come_back_and_however_slow_sqs_is_each_comes_back_in_its_time(
    error: Exception, shortest_ms: int
) -> None:
    queues = SlowQueues(700)
    backoff = Backoff(base=timedelta(seconds=60), cap=timedelta(seconds=60))
    worker = queues.worker(Natural(), raising(error), backoff=backoff)
    began_ms = worker.clock.now_ms()
    worker.deliver(*[record(f"m{number}") for number in range(1_000)], remaining_ms=900_000)

    told_last_ms, a_second_and_a_request_ms = worker.clock.now_ms() - began_ms, 1_000 + 700
    assert len(queues.back_ms) == 1_000
    assert shortest_ms <= min(queues.back_ms.values()) - began_ms
    assert max(queues.back_ms.values()) - began_ms <= max(60_000 + a_second_and_a_request_ms, told_last_ms)


def test_a_request_that_is_made_again_asks_for_what_is_left_of_the_wait() -> None:
    queues = SlowQueues(4_000, NOBODY_THERE, accepting)
    worker = queues.worker(Natural(), raising(RetryLater(timedelta(seconds=60))), settings=SETTINGS)
    worker.deliver(record("a"), remaining_ms=900_000)

    assert len(queues.requests) == 2
    assert queues.waits_s == {"a": 56}


@pytest.mark.parametrize("odd", [ValueError("odd"), SystemExit(1)])
def test_one_queue_of_which_a_client_makes_nothing_keeps_no_other_from_being_shaped(odd: BaseException) -> None:
    class OneOdd(Queues):
        def change_message_visibility_batch(self, *, QueueUrl: str, Entries: Sequence[Any]) -> Any:  # noqa: N803
            if QueueUrl == URL:
                raise odd
            return super().change_message_visibility_batch(QueueUrl=QueueUrl, Entries=Entries)

    queues = OneOdd()
    worker = queues.worker(Natural(), raising(ValueError("no")))
    worker.deliver(record("a"), record("b", queue_arn=f"{ARN}.fifo", group_id="g"))

    assert list(queues.waits_s) == ["b"]


@pytest.mark.parametrize("failed", [{}, {"Code": "InternalError"}, {"SenderFault": True}, {"SenderFault": None}])
def test_an_answer_of_odd_form_is_a_reason_and_no_more(failed: dict[str, Any]) -> None:
    queues = Queues(lambda entries: {"Failed": [{"Id": entries[0]["Id"], **failed}]}, accepting)
    worker = queues.worker(Natural(), raising(ValueError("no")))

    assert worker.deliver(*map(record, "abc")) == ["a", "b", "c"]
    assert {"b", "c"} <= set(queues.waits_s)
