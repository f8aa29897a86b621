"""`cost`: what a million messages cost."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from idempotent_consumer_operator.commands import options
from idempotent_consumer_operator.costing import (
    ITEM_BYTES,
    PRICES_OF,
    Cost,
    Load,
    ModeName,
    Prices,
    cost_of_a_million,
)
from idempotent_consumer_operator.screen import Screen, columns

_DEFAULT = Prices()

Mode = Annotated[ModeName, typer.Argument(help="The consumer's mode.", show_default=False)]
ItemBytes = Annotated[int, typer.Option(min=1, max=409_600, help="Size of a processed message, outbox included.")]
Duplicates = Annotated[
    float, typer.Option(min=0, max=0.99, help="Share of the deliveries that are duplicates: 0.1 is every tenth.")
]
BatchSize = Annotated[int, typer.Option(min=1, max=10_000, help="Messages in a batch.")]
SentTogether = Annotated[int, typer.Option(min=1, max=10, help="Messages that a producer sends in one request.")]
Writes = Annotated[int, typer.Option(min=0, max=99, help="transactional: the handler's own writes for each message.")]
WriteBytes = Annotated[int, typer.Option(min=1, max=409_600, help="transactional: size of the item of each.")]
Days = Annotated[int, typer.Option(min=1, help="How long processed messages are remembered.")]
MillionWrites = Annotated[float, typer.Option(min=0, help="US dollars for a million write units.")]
MillionReads = Annotated[float, typer.Option(min=0, help="US dollars for a million read units.")]
MillionSqs = Annotated[float, typer.Option(min=0, help="US dollars for a million SQS requests; FIFO: 0.50.")]
GigabyteMonth = Annotated[float, typer.Option(min=0, help="US dollars for a gigabyte stored for a month.")]


def cost(
    mode: Mode,
    *,
    item_bytes: ItemBytes = ITEM_BYTES,
    duplicates: Duplicates = 0.0,
    batch_size: BatchSize = 10,
    sent_together: SentTogether = 1,
    writes: Writes = 1,
    write_bytes: WriteBytes = 1_024,
    retention_days: Days = 29,
    price_writes: MillionWrites = _DEFAULT.million_writes,
    price_reads: MillionReads = _DEFAULT.million_reads,
    price_sqs: MillionSqs = _DEFAULT.million_sqs_requests,
    price_storage: GigabyteMonth = _DEFAULT.gigabyte_month,
    json: options.Json = False,
) -> None:
    """Tell what a million messages cost in capacity, requests and money, by arithmetic; it asks nobody."""
    load = Load(
        mode=mode,
        item_bytes=item_bytes,
        duplicate_share=duplicates,
        batch_size=batch_size,
        sent_together=sent_together,
        writes=writes,
        write_bytes=write_bytes,
        retention_days=retention_days,
    )
    prices = Prices(
        million_writes=price_writes,
        million_reads=price_reads,
        million_sqs_requests=price_sqs,
        gigabyte_month=price_storage,
    )
    result = cost_of_a_million(load, prices)
    rows = _rows(result)
    screen = Screen(as_json=json)
    screen.answer(
        {"load": asdict(load), "prices": asdict(prices), "prices_of": PRICES_OF, **asdict(result)},
        f"A million messages, {mode}, {result.deliveries:,.0f} deliveries:",
        columns(("", "amount", "US dollars"), rows, right=("amount", "US dollars")),
    )
    screen.say(
        f"Assumed: prices of {PRICES_OF}, unless options say others, and no free tier; each message is processed once, "
        f"at its first delivery; a processed message of {item_bytes:,} bytes; requests to SQS of up to 64 KB, empty "
        "receives not counted; Lambda, logs, traces, streams and backups not counted."
    )


def _rows(cost: Cost) -> list[tuple[str, str, str]]:
    dollars = cost.dollars
    return [
        ("write units for processed messages", f"{cost.write_units:,.0f}", f"{dollars['writes']:.2f}"),
        ("write units for the handler's own writes", f"{cost.work_units:,.0f}", f"{dollars['work']:.2f}"),
        ("read units", f"{cost.read_units:,.0f}", f"{dollars['reads']:.2f}"),
        ("SQS requests", f"{cost.sqs_requests:,.0f}", f"{dollars['sqs']:.2f}"),
        ("GB stored, if that is a month's", f"{cost.gigabytes:.3f}", f"{dollars['storage']:.2f}"),
        ("total", "", f"{dollars['total']:.2f}"),
    ]
