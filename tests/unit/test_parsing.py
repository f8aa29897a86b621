"""What a body is parsed by, and what is said of one that does not parse."""

from typing import Any

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from idempotent_consumer import Reject
from idempotent_consumer.errors import UnreadableMessageError
from idempotent_consumer.parsing import parsed, parser_of


class Line(BaseModel):
    sku: str
    quantity: int = Field(gt=0)


class Order(BaseModel):
    order_id: str
    lines: list[Line]


def reason(body: str, parse: Any) -> str:
    with pytest.raises(UnreadableMessageError) as refusal:
        parsed(body, parser_of(parse))
    return str(refusal.value)


def test_a_plain_function_gets_the_text_and_makes_the_payload() -> None:
    assert parsed("a,b", parser_of(lambda body: body.split(","))) == ["a", "b"]


def test_a_pydantic_model_reads_the_json() -> None:
    order = parsed('{"order_id": "o-1", "lines": [{"sku": "tea", "quantity": 2}]}', parser_of(Order))

    assert order == Order(order_id="o-1", lines=[Line(sku="tea", quantity=2)])


def test_a_type_adapter_reads_the_json() -> None:
    assert parsed('[{"sku": "tea", "quantity": 2}]', parser_of(TypeAdapter(list[Line]))) == [
        Line(sku="tea", quantity=2)
    ]


def test_the_fields_that_are_wrong_are_named_and_what_they_hold_is_not() -> None:
    said = reason('{"lines": [{"sku": "s3cr3t", "quantity": -99}]}', Order)

    assert said == (
        "the body does not parse: order_id: Field required; lines.0.quantity: Input should be greater than 0"
    )


def test_of_many_fields_the_first_are_named_and_the_rest_counted() -> None:
    lines = ", ".join(['{"sku": "tea", "quantity": 0}'] * 9)

    said = reason(f'{{"order_id": "o-1", "lines": [{lines}]}}', Order)

    assert said.count("greater than 0") == 5
    assert said.endswith("; and 4 more")


def test_a_body_that_is_no_json_is_said_to_be_none() -> None:
    assert "the body: Invalid JSON" in reason("s3cr3t", Order)
    assert "s3cr3t" not in reason("s3cr3t", Order)


def test_an_error_of_a_plain_function_is_told_with_its_type_and_kept_as_the_cause() -> None:
    with pytest.raises(UnreadableMessageError, match="KeyError: 'order_id'") as refusal:
        parsed("{}", lambda body: {}["order_id"])

    assert isinstance(refusal.value.__cause__, KeyError)


@pytest.mark.parametrize("error", [Reject("why"), MemoryError(), TimeoutError(), ConnectionResetError()])
def test_what_a_parser_says_itself_or_suffers_from_outside_stays_what_it_is(error: Exception) -> None:
    def parse(body: str) -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        parsed("text", parse)

    assert raised.value is error
