"""A queue's URL and its ARN tell of the same queue, or of two."""

import pytest

from idempotent_consumer.addresses import is_of_one_queue

ARN = "arn:aws:sqs:us-east-1:111122223333:orders"


@pytest.mark.parametrize(
    "url",
    [
        "https://sqs.us-east-1.amazonaws.com/111122223333/orders",
        "https://sqs.us-east-1.amazonaws.com/111122223333/orders/",
        "https://SQS.US-EAST-1.amazonaws.com/111122223333/orders",
        "https://sqs-fips.us-east-1.amazonaws.com/111122223333/orders",
        "https://sqs.us-east-1.api.aws/111122223333/orders",
        "https://us-east-1.queue.amazonaws.com/111122223333/orders",
        "https://queue.amazonaws.com/111122223333/orders",
        "https://vpce-0a1b-2c3d.sqs.us-east-1.vpce.amazonaws.com/111122223333/orders",
        "http://127.0.0.1:5000/111122223333/orders",
        "http://my-aws-1:4566/111122223333/orders",
        "http://localhost:9324/queue/orders",
        "http://localhost:9324/orders",
        "http://localhost:4566/queue/us-east-1/111122223333/orders",
        "http://sqs.us-east-1.localhost.localstack.cloud:4566/111122223333/orders",
        "https://sqs.example/1/orders",
    ],
)
def test_a_url_is_of_the_queue_that_it_names_in_whichever_form(url: str) -> None:
    assert is_of_one_queue(url, ARN)


@pytest.mark.parametrize(
    "url",
    [
        "https://sqs.us-east-2.amazonaws.com/111122223333/orders",
        "https://sqs.us-east-1.amazonaws.com/444455556666/orders",
        "https://sqs.us-east-1.amazonaws.com/111122223333/orders.fifo",
        "https://sqs.us-east-1.amazonaws.com/111122223333/more-orders",
        "https://sqs.cn-north-1.amazonaws.com.cn/111122223333/orders",
        "https://sqs.us-gov-east-1.amazonaws.com/111122223333/orders",
        "http://localhost:4566/444455556666/orders",
        "http://localhost:4566/queue/us-east-2/111122223333/orders",
        "https://sqs.us-east-1.amazonaws.com/111122223333/",
        "https://",
    ],
)
def test_a_url_of_another_name_account_or_region_is_of_another_queue(url: str) -> None:
    assert not is_of_one_queue(url, ARN)


@pytest.mark.parametrize("arn", ["", "orders", "arn:aws:sqs:us-east-1:111122223333", f"{ARN}:more", ":::::"])
def test_what_is_no_arn_is_of_no_queue(arn: str) -> None:
    assert not is_of_one_queue("https://sqs.us-east-1.amazonaws.com/111122223333/orders", arn)
