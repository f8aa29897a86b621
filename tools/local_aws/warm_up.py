"""
Start the functions' processes before the first message needs them.

The cold start of a process counts against the visibility timeout of the messages that wait for it. Where that is a few
seconds long, a busy machine would deliver them a second time meanwhile.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tools.local_aws.ministack import LocalAwsError

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

EMPTY_BATCH = b'{"Records": []}'


def warm_up(functions: LambdaClient, function_name: str, *, processes: int) -> None:
    """
    Invoke a function with empty batches at the same time.

    MiniStack unpacks code and layer for each process, which takes it seconds: take one function after another.

    Args:
        functions: A client of the local AWS.
        function_name: Which function.
        processes: How many to start: MiniStack starts one for each invocation that finds none idle.

    Raises:
        LocalAwsError: The function does not start; the message holds its error.
    """

    def invoke(_: int) -> None:
        answer = functions.invoke(FunctionName=function_name, Payload=EMPTY_BATCH)
        result = answer["Payload"].read().decode()
        if "FunctionError" in answer:
            raise LocalAwsError(f"{function_name} does not start: {result}")

    with ThreadPoolExecutor(max_workers=processes) as pool:
        for _ in pool.map(invoke, range(processes)):
            pass
