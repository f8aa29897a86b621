"""Build this application with SAM, deploy it to the local AWS, and read what the stack gives out."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

from tools.local_aws.clients import Clients
from tools.local_aws.environments import REPOSITORY, Environments
from tools.local_aws.event_sources import restate_concurrency
from tools.local_aws.ministack import REGION, LocalAws, LocalAwsError
from tools.local_aws.processes import run_logged
from tools.local_aws.role_aliases import add_batch_aliases

STACK_NAME = "idempotent-consumer-local"


@dataclass(frozen=True, slots=True, kw_only=True)
class StackOutputs:
    """The outputs of template.yaml, by their names in snake case."""

    orders_queue_url: str
    orders_dead_letter_queue_url: str
    payments_queue_url: str
    payments_dead_letter_queue_url: str
    receipts_queue_url: str
    receipts_dead_letter_queue_url: str
    shipments_queue_url: str
    shipments_dead_letter_queue_url: str
    processed_messages_table_name: str
    orders_table_name: str
    stock_table_name: str
    shipments_table_name: str
    receipts_topic_arn: str
    place_order_function_name: str
    place_order_log_group_name: str
    charge_payment_function_name: str
    charge_payment_log_group_name: str
    send_receipt_function_name: str
    send_receipt_log_group_name: str
    track_shipment_function_name: str
    track_shipment_log_group_name: str

    @property
    def function_names(self) -> tuple[str, ...]:
        """The names of all functions."""
        return (
            self.place_order_function_name,
            self.charge_payment_function_name,
            self.send_receipt_function_name,
            self.track_shipment_function_name,
        )

    @classmethod
    def from_outputs(cls, outputs: Mapping[str, str]) -> Self:
        """
        Take the outputs of a deployed stack.

        Raises:
            LocalAwsError: Some that are needed are not there; the message names all of them.
        """
        names = {field.name: field.name.title().replace("_", "") for field in fields(cls)}
        missing = sorted(name for name in names.values() if name not in outputs)
        if missing:
            raise LocalAwsError(f"template.yaml does not give out: {', '.join(missing)}")
        return cls(**{field: outputs[name] for field, name in names.items()})


def build(environments: Environments, log: Path, *, template: Path = REPOSITORY / "template.yaml") -> Path:
    """
    Run `sam build` for the Python of the local AWS.

    Returns:
        The built template. Hold `build_lock` until it has been deployed: all builds share one folder, whose
        parent is where SAM remembers what it need not build again.
    """
    folder = template.parent / ".local-aws" / "builds" / environments.runtime
    run_logged(
        [
            *_sam(environments),
            *("build", "--template-file", str(template), "--build-dir", str(folder / "build")),
            *("--cached", "--cache-dir", str(folder / "cache")),
            *("--parameter-overrides", f"PythonRuntime={environments.runtime}"),
        ],
        env=_sam_environment(environments),
        cwd=template.parent,
        log=log,
    )
    return folder / "build" / "template.yaml"


def deploy(
    environments: Environments,
    aws: LocalAws,
    built_template: Path,
    parameters: Mapping[str, str | int],
    log: Path,
) -> None:
    """Run `sam deploy` for a built template, with nothing to answer on the way."""
    overrides = {"PythonRuntime": environments.runtime, **parameters}
    run_logged(
        [
            *_sam(environments),
            *("deploy", "--template-file", str(built_template), "--stack-name", STACK_NAME),
            *("--region", REGION, "--resolve-s3", "--capabilities", "CAPABILITY_IAM"),
            *("--no-confirm-changeset", "--no-fail-on-empty-changeset", "--no-progressbar"),
            *("--parameter-overrides", *(f"{name}={value}" for name, value in overrides.items())),
        ],
        env=_sam_environment(environments) | aws.environment(),
        cwd=built_template.parent,
        log=log,
    )


def prepare(clients: Clients) -> StackOutputs:
    """Make a deployed stack usable on MiniStack and read its outputs."""
    restate_concurrency(clients.functions)
    add_batch_aliases(clients, STACK_NAME)
    stacks = clients.cloudformation.describe_stacks(StackName=STACK_NAME)["Stacks"]
    return StackOutputs.from_outputs({each["OutputKey"]: each["OutputValue"] for each in stacks[0]["Outputs"]})


@contextmanager
def build_lock(root: Path = REPOSITORY) -> Iterator[None]:
    """Keep other processes from building while this one builds or deploys."""
    folder = root / ".local-aws"
    folder.mkdir(exist_ok=True)
    with (folder / "build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _sam(environments: Environments) -> list[str]:
    return [str(environments.sam / "bin" / "python"), "-m", "samcli"]


def _sam_environment(environments: Environments) -> dict[str, str]:
    # SAM builds with the `python3.x` it finds on the path. It must be the one that will run the functions, with
    # pip beside it: MiniStack's environment has both (version managers' shims do not pass SAM's check).
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AWS_", "SAM_", "PYTHON", "VIRTUAL_ENV"))
    }
    path = f"{environments.ministack / 'bin'}:/usr/local/bin:/usr/bin:/bin"
    return {**kept, "PATH": path, "SAM_CLI_TELEMETRY": "0", "SAM_CLI_POLL_DELAY": "0.5"}
