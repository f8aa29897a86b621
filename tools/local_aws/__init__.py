"""A local AWS with this application deployed to it, for the demo and for the end-to-end tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.local_aws.clients import Clients, connect
from tools.local_aws.environments import REPOSITORY, MissingEnvironmentError, find_environments
from tools.local_aws.ministack import LocalAws, LocalAwsError, running_ministack
from tools.local_aws.processes import CommandFailedError, unwinding_on_termination
from tools.local_aws.run_folders import new_run_folder
from tools.local_aws.stack import STACK_NAME, StackOutputs, build, build_lock, deploy, prepare
from tools.local_aws.warm_up import warm_up

__all__ = [
    "STACK_NAME",
    "Clients",
    "CommandFailedError",
    "LocalAws",
    "LocalAwsError",
    "LocalStack",
    "MissingEnvironmentError",
    "StackOutputs",
    "deployed_stack",
    "unwinding_on_termination",
]

KEPT_RUNS = 2
"""How many earlier runs of the same label keep their logs."""
PROCESSES = 2
"""How many processes of a function are started: the least `MaximumConcurrency` uses as many, a FIFO queue one."""


@dataclass(frozen=True, slots=True)
class LocalStack:
    """
    The application, deployed to a local AWS that runs.

    Attributes:
        aws: That local AWS.
        clients: Clients for it.
        outputs: What the stack gives out.
        folder: Logs and certificates of this run.
    """

    aws: LocalAws
    clients: Clients
    outputs: StackOutputs
    folder: Path

    def wake_functions(self) -> None:
        """
        Invoke every process of every function with an empty batch.

        That starts it, if it does not run yet. And it brings log lines that came too late for their own invocation:
        MiniStack hands them out with the next one.

        Raises:
            LocalAwsError: A function does not start.
        """
        for function_name in self.outputs.function_names:
            is_fifo = function_name == self.outputs.track_shipment_function_name
            warm_up(self.clients.functions, function_name, processes=1 if is_fifo else PROCESSES)


@contextmanager
def deployed_stack(
    label: str,
    parameters: Mapping[str, str | int],
    *,
    on_step: Callable[[str], None] = lambda step: None,
) -> Iterator[LocalStack]:
    """
    Build the application, start MiniStack, deploy to it, and stop everything at the end.

    Args:
        label: What the run is for; begins the name of its folder under `.local-aws/`.
        parameters: Template parameters other than `PythonRuntime`.
        on_step: Told what is about to be done.

    Raises:
        MissingEnvironmentError: A virtual environment has to be made first.
        CommandFailedError: SAM failed; the message holds the end of its output.
        LocalAwsError: MiniStack failed, the stack lacks an output, or a function does not start.
    """
    environments = find_environments()
    folder = new_run_folder(label, REPOSITORY / ".local-aws" / "runs", keep=KEPT_RUNS)
    sam_log = folder / "sam.log"
    with ExitStack() as running:
        with build_lock():
            on_step(f"sam build ({environments.runtime})")
            template = build(environments, sam_log)
            on_step("start MiniStack, IAM enforced")
            aws = running.enter_context(running_ministack(environments, folder))
            on_step("sam deploy")
            deploy(environments, aws, template, parameters, sam_log)
        clients = running.enter_context(closing(connect(aws)))
        outputs = prepare(clients)
        on_step("start the functions")
        stack = LocalStack(aws, clients, outputs, folder)
        stack.wake_functions()
        yield stack
