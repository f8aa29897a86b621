"""Keep the deployed application running, say how to send to it, and show what becomes of each message."""

from __future__ import annotations

import sys
import time
from contextlib import suppress

from rich.console import Console

from tools.demo.observing import Observer
from tools.demo.send import queue_url_variable
from tools.local_aws import LocalStack

POLL_SECONDS = 1.0
EXAMPLES = (
    """orders '{"order_id": "o-mine", "customer_id": "c-1", "lines": [{"sku": "sku-egg", "quantity": 2}]}'""",
    """payments -m p-mine '{"payment_id": "p-mine", "order_id": "o-mine", "amount_cents": 1999, "currency": "EUR"}'""",
    """shipments -g s-mine '{"shipment_id": "s-mine", "step": "packed", "at": "2026-01-31T12:00:00Z"}'""",
)


def keep_running(console: Console, stack: LocalStack, observer: Observer) -> None:
    """Say how to send messages, and print what becomes of each, until Ctrl-C."""
    environment = stack.folder / "environment"
    urls = {queue_url_variable(queue): channel.url for queue, channel in observer.channels.items()}
    exports = {**stack.aws.environment(), **urls}
    environment.write_text("".join(f"export {name}='{value}'\n" for name, value in exports.items()))
    console.print("\nEverything keeps running until Ctrl-C. Send to it, from another terminal in this folder:\n")
    for example in EXAMPLES:
        command = f"(. {environment} && {sys.executable} -m tools.demo.send {example})"
        console.print(command, soft_wrap=True, highlight=False, markup=False)
    console.print("\nThat file sets the environment of any other AWS client, too. Deliveries from now on:\n")
    shown = {queue: len(deliveries) for queue, deliveries in observer.deliveries().items()}
    with suppress(KeyboardInterrupt):
        while True:
            time.sleep(POLL_SECONDS)
            for queue, deliveries in observer.deliveries().items():
                for delivery in deliveries[shown[queue] :]:
                    name = delivery.message_id or "(no message id)"
                    console.print(f"{queue:<10} {delivery.outcome:<10} {name}", highlight=False, markup=False)
                shown[queue] = len(deliveries)
