"""Where things are: by the outputs of the stack, or as the options say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from botocore.exceptions import ClientError

from idempotent_consumer_operator.aws import Aws
from idempotent_consumer_operator.errors import NotFoundError, UsageError, translated

_CONSUMER, _QUEUE, _DEAD_LETTER_QUEUE = "ConsumerName", "QueueUrl", "DeadLetterQueueUrl"
_TABLE = "ProcessedMessagesTableName"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """
    Hold the names that were given as options; each goes before what the stack says.

    Attributes:
        stack: name of the CloudFormation stack.
        table: name of the table of processed messages.
        queue_url: URL of the consumer's queue.
        dead_letter_queue_url: URL of its dead-letter queue.
    """

    stack: str | None = None
    table: str | None = None
    queue_url: str | None = None
    dead_letter_queue_url: str | None = None


class Names:
    """
    Find tables and queues; the stack is asked once, when something is not given.

    The output of the stack whose value is a consumer's name tells how those of its queues begin: `OrdersConsumerName`
    is `place-order`, so its queue is at `OrdersQueueUrl`.

    Args:
        aws: access to CloudFormation.
        given: what the options say.
    """

    def __init__(self, aws: Aws, given: Given) -> None:
        self._aws = aws
        self._given = given
        self._outputs: Mapping[str, str] | None = None

    def table(self) -> str:
        """Return the name of the table of processed messages."""
        return self._given.table or self._output(_TABLE, "--table")

    def queue_url(self, consumer: str) -> str:
        """Return the URL of a consumer's queue."""
        return self._given.queue_url or self._output(self._prefix(consumer, "--queue-url") + _QUEUE, "--queue-url")

    def dead_letter_queue_url(self, consumer: str) -> str:
        """Return the URL of a consumer's dead-letter queue."""
        option = "--dead-letter-queue-url"
        return self._given.dead_letter_queue_url or self._output(
            self._prefix(consumer, option) + _DEAD_LETTER_QUEUE, option
        )

    def dead_letter_queue_urls(self, consumer: str | None) -> list[str]:
        """Return the URLs of one consumer's dead-letter queue, or of all consumers' if none is named."""
        if consumer is not None:
            return [self.dead_letter_queue_url(consumer)]
        if self._given.dead_letter_queue_url:
            return [self._given.dead_letter_queue_url]
        consumers = dict(self._consumers("--dead-letter-queue-url"))
        return list(dict.fromkeys(self.dead_letter_queue_url(each) for each in consumers))

    def _prefix(self, consumer: str, option: str) -> str:
        consumers = dict(self._consumers(option))
        if consumer in consumers:
            return consumers[consumer]
        known = ", ".join(sorted(consumers)) or "none"
        raise NotFoundError(f"the stack {self._given.stack} has no consumer {consumer!r}; it has: {known}")

    def _consumers(self, option: str) -> Iterator[tuple[str, str]]:
        for name, value in self._stack_outputs(option).items():
            if name.endswith(_CONSUMER):
                yield value, name.removesuffix(_CONSUMER)

    def _output(self, name: str, option: str) -> str:
        outputs = self._stack_outputs(option)
        if name in outputs:
            return outputs[name]
        raise NotFoundError(f"the stack {self._given.stack} has no output {name}: give {option}")

    def _stack_outputs(self, option: str) -> Mapping[str, str]:
        if self._outputs is None:
            if not self._given.stack:
                raise UsageError(f"give --stack NAME (or set IDEMPOTENT_CONSUMER_STACK), or {option}")
            self._outputs = _read_outputs(self._aws, self._given.stack)
        return self._outputs


def _read_outputs(aws: Aws, stack: str) -> Mapping[str, str]:
    with translated():
        try:
            (found,) = aws.cloudformation.describe_stacks(StackName=stack)["Stacks"]
        except ClientError as error:
            if "does not exist" in str(error):  # the code is ValidationError, as for much else
                raise NotFoundError(f"there is no stack {stack}: look at its name and at the region") from error
            raise
    return {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", [])}
