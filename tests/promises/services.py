"""SQS, SNS and EventBridge as the relay meets them: each target takes what it gets, or does what it was told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError, EndpointConnectionError

from idempotent_consumer.relay import OutboxRelay
from idempotent_consumer.settings import Settings
from idempotent_consumer.testing import FakeClock, FakeContext

PARKING = "https://sqs.eu-central-1.amazonaws.com/111122223333/parked"
NOBODY_THERE = EndpointConnectionError(endpoint_url="https://example")


def refusal(code: str, status: int = 400) -> ClientError:
    """Return the error in which a whole request is refused."""
    return ClientError(
        {"Error": {"Code": code, "Message": "no"}, "ResponseMetadata": {"HTTPStatusCode": status}},  # type: ignore[typeddict-item]
        "AnyBatch",
    )


class Services:
    """
    Stand in for boto3's clients of the three services.

    Attributes:
        requests: target and entries of each request, in order.
        arrived: what each target has taken, in order.
        faults: what a target raises instead, by its name, as long as it stands here.
        refused: codes in which a target refuses single entries, by its name and a text in the entry.
        on_request: is called at each.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, Sequence[Mapping[str, Any]]]] = []
        self.arrived: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        self.faults: dict[str, Exception] = {}
        self.refused: dict[tuple[str, str], str] = {}
        self.on_request: Callable[[], None] = lambda: None

    @property
    def clients(self) -> dict[str, Any]:
        """Return the clients by service."""
        return dict.fromkeys(("sqs", "sns", "events"), self)

    def send_message_batch(self, *, QueueUrl: str, Entries: Sequence[Any]) -> dict[str, Any]:  # noqa: N803
        """Take messages for a queue."""
        return self._take(QueueUrl, Entries)

    def publish_batch(self, *, TopicArn: str, PublishBatchRequestEntries: Sequence[Any]) -> dict[str, Any]:  # noqa: N803
        """Take messages for a topic."""
        return self._take(TopicArn, PublishBatchRequestEntries)

    def put_events(self, *, Entries: Sequence[Any]) -> dict[str, Any]:  # noqa: N803
        """Take events, all for one bus."""
        numbered = [{"Id": str(number), **entry} for number, entry in enumerate(Entries)]
        answer = self._take(Entries[0]["EventBusName"], numbered)
        failed = {each["Id"]: {"ErrorCode": each["Code"], "ErrorMessage": each["Message"]} for each in answer["Failed"]}
        return {"Entries": [failed.get(each["Id"], {"EventId": "event"}) for each in numbered]}

    def ids_at(self, target: str) -> list[str]:
        """Return the message ids that arrived at a queue or topic, in order."""
        return [entry["MessageAttributes"]["message-id"]["StringValue"] for entry in self.arrived[target]]

    def _take(self, target: str, entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        assert len(entries) <= 10
        self.requests.append((target, entries))
        self.on_request()
        if target in self.faults:
            raise self.faults[target]
        answer: dict[str, Any] = {"Successful": [], "Failed": []}
        for entry in entries:
            if code := self._code(target, entry):
                failed = {"Id": entry["Id"], "Code": code, "Message": "no", "SenderFault": code == "Refused"}
                answer["Failed"].append(failed)
            else:
                self.arrived[target].append(entry)
                answer["Successful"].append({"Id": entry["Id"], "MessageId": f"m-{len(self.arrived[target])}"})
        return answer

    def _code(self, target: str, entry: Mapping[str, Any]) -> str | None:
        found = (code for (name, text), code in self.refused.items() if name == target and text in str(entry))
        return next(found, None)


class Relay:
    """
    An `OutboxRelay` before services of a test.

    Attributes:
        services: what it sends to.
        clock: its clock.
    """

    def __init__(self) -> None:
        self.services = Services()
        self.clock = FakeClock()
        settings = Settings(outbox_dead_letter_queue_url=PARKING)
        self._relay = OutboxRelay(settings=settings, clients=self.services.clients, clock=self.clock)

    def deliver(self, *records: Mapping[str, Any], left_ms: int = 60_000) -> list[str]:
        """Deliver a batch, and return the sequence numbers that come back."""
        response = self._relay.relay({"Records": list(records)}, FakeContext(left_ms, self.clock))
        return [failure["itemIdentifier"] for failure in response["batchItemFailures"]]
