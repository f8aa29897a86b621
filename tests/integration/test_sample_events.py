"""The sample events are what SQS would send, and what their script writes."""

from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from tests.integration.application import ROOT, Application
from tools.make_events import app, sample_events
from tools.odd_events import odd_events


def files_in(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_the_files_are_byte_for_byte_what_the_script_writes(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["--directory", str(tmp_path)])

    assert result.exit_code == 0, result.output
    assert files_in(ROOT / "events") == files_in(tmp_path)


def test_every_sample_is_used_by_a_test() -> None:
    tests = "".join(file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("test_*.py"))

    assert [name for name in sample_events() | odd_events() if f'"{name.removesuffix(".json")}"' not in tests] == []


def test_every_record_is_a_delivery_of_its_own() -> None:
    """Within a batch no message comes twice, and no receipt handle stands for two deliveries."""
    deliveries: dict[str, dict[str, Any]] = {}
    for event in sample_events().values():
        identities = [record["messageId"] for record in event["Records"]]
        assert len(set(identities)) == len(identities)
        for record in event["Records"]:
            assert deliveries.setdefault(record["receiptHandle"], record) == record


def test_checksums_are_those_that_sqs_computes(application: Application) -> None:
    sqs = application.client("sqs")
    url = sqs.create_queue(QueueName="samples")["QueueUrl"]
    for event in sample_events().values():
        for record in event["Records"]:
            attributes = {
                attribute: {"DataType": value["dataType"], "StringValue": value["stringValue"]}
                for attribute, value in record["messageAttributes"].items()
            }
            sent = sqs.send_message(QueueUrl=url, MessageBody=record["body"], MessageAttributes=attributes)

            assert record["md5OfBody"] == sent["MD5OfMessageBody"]
            assert record.get("md5OfMessageAttributes") == sent.get("MD5OfMessageAttributes")
