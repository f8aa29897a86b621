"""`make invoke`: one function, one event, no Docker, nothing deployed."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer
from typer.testing import CliRunner

from tools.invoke.__main__ import app

ROOT = Path(__file__).resolve().parents[2]
EVENTS = ROOT / "events"


@pytest.fixture(autouse=True)
def _machine_without_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:  # noqa: TID251 - not the layer
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("COLUMNS", "400")


def invoke(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command as `make invoke` does."""
    return subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "tools.invoke", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def outcomes_in(output: str) -> list[tuple[str, ...]]:
    """Return the rows of the table of outcomes."""
    rows = [tuple(cell.strip() for cell in line.split("│")[1:-1]) for line in output.splitlines() if "│" in line]
    assert all(len(row) == 5 for row in rows)
    return rows


STOCK = "Stock: 100 each of sku-1, sku-2, as a sample."


@pytest.mark.parametrize(
    ("function", "event", "outcomes"),
    [
        ("place_order", "orders-poison-in-batch", {"o-1001": "PROCESSED", "o-1666": "REJECTED", "o-1002": "PROCESSED"}),
        ("functions/charge_payment/", "payments-with-receipt", {"o-1003/payment": "PROCESSED"}),
        ("send_receipt", "receipts-single", {"o-1001/receipt": "PROCESSED"}),
        ("track_shipment", "shipments-single", {"": "PROCESSED"}),
    ],
)
def test_a_function_runs_with_a_sample_event_and_nothing_else(
    function: str, event: str, outcomes: dict[str, str]
) -> None:
    result = invoke(function, f"events/{event}.json")

    assert (result.returncode, result.stderr) == (0, "")
    assert {message_id: outcome for _, message_id, outcome, *_ in outcomes_in(result.stdout)} == outcomes
    assert '"batchItemFailures": [' in result.stdout
    assert (STOCK in result.stdout) == (function == "place_order")


def test_a_function_that_raises_gives_status_1_and_its_log(tmp_path: Path) -> None:
    event = tmp_path / "event.json"
    event.write_text("{}")

    result = invoke("place_order", str(event))

    assert result.returncode == 1
    assert "place_order gave no response: it raised NotAnSQSEventError" in result.stderr
    assert "consumer.consume(event, context)" in result.stdout


def test_a_function_that_does_not_load_gives_status_1_and_the_reason() -> None:
    result = invoke("place_order", "events/orders-single.json", "--env", "MAX_RECEIVE_COUNT=many")

    assert result.returncode == 1
    assert "place_order gave no response: it did not start: ConfigurationError: MAX_RECEIVE_COUNT" in result.stderr


@pytest.fixture
def _own_aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set up an AWS for place_order, and name it in the environment, but for one table."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    variables = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "eu-central-1",
        "PROCESSED_MESSAGES_TABLE": "processed",
        "ORDERS_TABLE": "orders",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    session = boto3.Session("test", "test", region_name="eu-central-1")
    dynamodb = session.client("dynamodb", endpoint_url=variables["AWS_ENDPOINT_URL"])
    for table, key in {"processed": "id", "orders": "order_id", "stock": "sku"}.items():
        dynamodb.create_table(
            TableName=table,
            KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
    for sku in ("sku-1", "sku-2"):
        dynamodb.put_item(TableName="stock", Item={"sku": {"S": sku}, "quantity": {"N": "10"}})
    yield
    for table in ("processed", "orders", "stock"):
        dynamodb.delete_table(TableName=table)
    server.stop()


@pytest.mark.usefixtures("_own_aws")
def test_the_aws_of_the_environment_is_used_as_it_is() -> None:
    arguments = ("place_order", "events/orders-single.json", "--env", "STOCK_TABLE=stock")

    first, second = invoke(*arguments), invoke(*arguments)

    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert STOCK not in first.stdout
    assert [row[2:4] for row in outcomes_in(first.stdout)] == [("PROCESSED", "yes")]
    assert [row[2:4] for row in outcomes_in(second.stdout)] == [("DUPLICATE", "no")]


def refusal(*arguments: str) -> str:
    """Return why a request is refused, which has to be before anything runs."""
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    return result.stderr


def test_an_unknown_function_is_refused_with_those_that_there_are() -> None:
    said = refusal("place", "events/orders-single.json")

    assert "there is no function 'place'" in said
    assert ", ".join(sorted(folder.name for folder in Path("functions").iterdir())) in said


def test_a_missing_event_is_refused_with_the_samples_that_there_are() -> None:
    said = refusal("place_order", "events/nothing.json")

    assert "there is no file events/nothing.json" in said
    assert "orders-single.json" in said


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"Records": [', "is not JSON"),
        (b'{"name": "\xff"}', "is not JSON"),
        (b"[]", "holds a list, but an event is an object"),
        (b"null", "holds a NoneType, but an event is an object"),
    ],
)
def test_what_is_no_event_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    event = tmp_path / "event.json"
    event.write_bytes(content)

    said = refusal("place_order", str(event))

    assert str(event) in said
    assert reason in said


def test_a_folder_is_no_event(tmp_path: Path) -> None:
    assert "cannot be read" in refusal("place_order", str(tmp_path))


@pytest.mark.parametrize("assignment", ["ORDERS_TABLE", "=orders"])
def test_a_variable_without_name_or_value_is_refused(assignment: str) -> None:
    said = refusal("place_order", str(EVENTS / "orders-single.json"), "--env", assignment)

    assert f"--env {assignment} is not NAME=VALUE" in said


def test_a_deployed_stack_whose_resources_are_not_named_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROCESSED_MESSAGES_TABLE", "processed")
    for name in ("ORDERS_TABLE", "STOCK_TABLE"):
        monkeypatch.delenv(name, raising=False)

    said = refusal("place_order", str(EVENTS / "orders-single.json"), "--aws", "--env", "STOCK_TABLE=stock")

    assert "--env ORDERS_TABLE=VALUE" in said
    assert "STOCK_TABLE" not in said
    assert "PROCESSED_MESSAGES_TABLE" not in said


@pytest.mark.parametrize(
    ("variables", "missing"), [({}, "set AWS_REGION"), ({"AWS_DEFAULT_REGION": "eu-central-1"}, "set AWS_PROFILE")]
)
def test_aws_without_region_or_credentials_is_refused(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], missing: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    resources = ("--env", "PROCESSED_MESSAGES_TABLE=p", "--env", "RECEIPTS_QUEUE_URL=r")

    said = refusal("charge_payment", str(EVENTS / "payments-single.json"), "--aws", *resources)

    assert missing in said
