"""Read template.yaml as data: its resources, and the settings it gives to each function.

Only what needs no deployed stack is worked out, with the parameters' defaults. How a resource will be called is left
open, as a `Reference`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True, slots=True)
class Reference:
    """What `!Ref` of a resource will come to (a table's name, a topic's ARN, a queue's URL), once there is one."""

    logical_id: str


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A value that only a deployment can work out."""

    expression: object


Setting = str | Reference | Unresolved


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionResource:
    """One function of the template, with what Globals say about all of them."""

    logical_id: str
    code_folder: Path
    handler: str
    environment: Mapping[str, Setting]


class Template:
    """A SAM template whose short tags (`!Ref`) are written out (`{"Ref": …}`)."""

    def __init__(self, body: Mapping[str, Any], folder: Path) -> None:
        self.body = body
        self.resources: Mapping[str, Mapping[str, Any]] = body.get("Resources", {})
        self._folder = folder
        self._parameters = {name: given.get("Default") for name, given in body.get("Parameters", {}).items()}

    @classmethod
    def read(cls, path: Path) -> Template:
        """Read a template from its file."""
        return cls(yaml.load(path.read_text(encoding="utf-8"), _Loader), path.parent)  # noqa: S506 - a SafeLoader

    def functions(self) -> list[FunctionResource]:
        """Return every function, in the template's order."""
        shared = self.body.get("Globals", {}).get("Function", {})
        return [
            self._function(logical_id, shared, resource["Properties"])
            for logical_id, resource in self.resources.items()
            if resource["Type"] == "AWS::Serverless::Function"
        ]

    def setting(self, expression: object) -> Setting:
        """Work out one value, as far as parameters and conditions decide it."""
        match expression:
            case {"Ref": name} if name in self._parameters:
                return self.setting(self._parameters[name])
            case {"Ref": str(name)} if name in self.resources:
                return Reference(name)
            case {"Fn::If": [condition, then, otherwise]}:
                return self.setting(then if self._holds({"Condition": condition}) else otherwise)
            case bool():
                return str(expression).lower()
            case str() | int() | float():
                return str(expression)
            case _:
                return Unresolved(expression)

    def _function(self, logical_id: str, shared: Mapping[str, Any], own: Mapping[str, Any]) -> FunctionResource:
        variables = _variables(shared) | _variables(own)
        return FunctionResource(
            logical_id=logical_id,
            code_folder=(self._folder / own["CodeUri"]).resolve(),
            handler=own["Handler"],
            environment={name: self.setting(value) for name, value in variables.items()},
        )

    def _holds(self, condition: Mapping[str, Any]) -> bool:
        match condition:
            case {"Condition": name}:
                return self._holds(self.body["Conditions"][name])
            case {"Fn::Equals": [left, right]}:
                return self.setting(left) == self.setting(right)
            case {"Fn::Not": [inner]}:
                return not self._holds(inner)
            case {"Fn::And": inner}:
                return all(map(self._holds, inner))
            case {"Fn::Or": inner}:
                return any(map(self._holds, inner))
        raise ValueError(f"not a condition of CloudFormation: {condition}")


def _variables(properties: Mapping[str, Any]) -> dict[str, object]:
    return dict(properties.get("Environment", {}).get("Variables", {}))


class _Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short tags."""


def _write_out(loader: _Loader, tag: str, node: yaml.Node) -> dict[str, Any]:
    value: Any = None
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
        value = value.split(".", 1) if tag == "GetAtt" else value
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    elif isinstance(node, yaml.MappingNode):
        value = loader.construct_mapping(node, deep=True)
    return {tag if tag in ("Ref", "Condition") else f"Fn::{tag}": value}


_Loader.add_multi_constructor("!", _write_out)
