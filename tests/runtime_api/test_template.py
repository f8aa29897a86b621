"""What can be read from the template without deploying it."""

from pathlib import Path
from textwrap import dedent

import pytest

from tools.template import Reference, Template, Unresolved

ROOT = Path(__file__).resolve().parents[2]


def template_with(text: str, folder: Path) -> Template:
    path = folder / "template.yaml"
    path.write_text(dedent(text), encoding="utf-8")
    return Template.read(path)


def test_short_tags_are_written_out(tmp_path: Path) -> None:
    template = template_with(
        """
        Resources:
          Table:
            Type: AWS::DynamoDB::Table
            Properties:
              A: !Ref Queue
              B: !GetAtt Queue.Arn
              C: !GetAtt [Queue, Arn]
              D: !Sub "arn:${AWS::Partition}:x"
              E: !If [IsLive, !Ref Queue, !Select [0, {Key: !Ref Queue}]]
              F: {Condition: !Condition IsLive}
              G: !Transform {Name: AWS::Include}
        """,
        tmp_path,
    )

    reference = {"Ref": "Queue"}
    assert template.resources["Table"]["Properties"] == {
        "A": reference,
        "B": {"Fn::GetAtt": ["Queue", "Arn"]},
        "C": {"Fn::GetAtt": ["Queue", "Arn"]},
        "D": {"Fn::Sub": "arn:${AWS::Partition}:x"},
        "E": {"Fn::If": ["IsLive", reference, {"Fn::Select": [0, {"Key": reference}]}]},
        "F": {"Condition": {"Condition": "IsLive"}},
        "G": {"Fn::Transform": {"Name": "AWS::Include"}},
    }


def test_a_function_has_the_settings_of_all_functions_and_its_own(tmp_path: Path) -> None:
    template = template_with(
        """
        Parameters:
          Limit: {Type: Number, Default: 5}
        Globals:
          Function:
            Environment: {Variables: {LIMIT: !Ref Limit, LEVEL: info}}
        Resources:
          Table: {Type: AWS::DynamoDB::Table}
          PlaceOrderFunction:
            Type: AWS::Serverless::Function
            Properties:
              CodeUri: functions/place_order/
              Handler: place_order.lambda_handler
              Environment: {Variables: {TABLE: !Ref Table, LEVEL: debug, VERBOSE: true, QUEUE: !GetAtt Queue.Arn}}
        """,
        tmp_path,
    )

    (function,) = template.functions()

    assert (function.logical_id, function.handler) == ("PlaceOrderFunction", "place_order.lambda_handler")
    assert function.code_folder == tmp_path / "functions" / "place_order"
    assert function.environment == {
        "LIMIT": "5",
        "LEVEL": "debug",
        "TABLE": Reference("Table"),
        "VERBOSE": "true",
        "QUEUE": Unresolved({"Fn::GetAtt": ["Queue", "Arn"]}),
    }


@pytest.mark.parametrize(
    ("condition", "chosen"),
    [
        ('!Equals [!Ref Stage, "prod"]', "yes"),
        ('!Equals [!Ref Stage, "dev"]', "no"),
        ('!Not [!Equals [!Ref Stage, "dev"]]', "yes"),
        ('!And [!Condition IsProd, !Equals [!Ref Stage, "dev"]]', "no"),
        ('!Or [!Condition IsProd, !Equals [!Ref Stage, "dev"]]', "yes"),
        ("!Condition IsProd", "yes"),
    ],
)
def test_a_condition_is_decided_by_the_defaults_of_the_parameters(tmp_path: Path, condition: str, chosen: str) -> None:
    template = template_with(
        f"""
        Parameters:
          Stage: {{Type: String, Default: prod}}
        Conditions:
          IsProd: !Equals [!Ref Stage, prod]
          Chosen: {condition}
        """,
        tmp_path,
    )

    assert template.setting({"Fn::If": ["Chosen", "yes", "no"]}) == chosen


def test_the_settings_of_our_functions_need_no_deployment_to_be_known() -> None:
    """`make invoke` makes what they refer to; anything else would have to be given by hand."""
    template = Template.read(ROOT / "template.yaml")

    for function in template.functions():
        for setting in function.environment.values():
            kind = template.resources[setting.logical_id]["Type"] if isinstance(setting, Reference) else type(setting)
            made = (str, "AWS::DynamoDB::Table", "AWS::SNS::Topic", "AWS::SQS::Queue")
            assert kind in made, (function.logical_id, setting)
