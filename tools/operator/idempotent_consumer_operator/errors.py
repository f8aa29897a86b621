"""
What ends a command early, each with its exit code; the words say what to do.

::

    OperatorError          1  something was left as it was, or failed
    ├── UsageError         2  the command was given what cannot be meant
    ├── NotFoundError      3  what was asked about is not there
    └── AwsError           4  AWS refused, or could not be reached
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    HTTPClientError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    ProfileNotFound,
)

DONE, LEFT, USAGE, NOT_FOUND, AWS, INTERRUPTED = 0, 1, 2, 3, 4, 130
"""The exit codes."""

_QUEUE_MISSING = ("QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue")


class OperatorError(Exception):
    """Say what was left, or failed, and what can be done about it."""

    exit_code: ClassVar[int] = LEFT


class UsageError(OperatorError):
    """Say which arguments are missing, or do not go together."""

    exit_code = USAGE


class NotFoundError(OperatorError):
    """Say what is not there."""

    exit_code = NOT_FOUND


class AwsError(OperatorError):
    """Say what AWS refused, or that it did not answer."""

    exit_code = AWS


@contextmanager
def translated() -> Iterator[None]:
    """Turn what boto3 raises into one clear line."""
    try:
        yield
    except (NoCredentialsError, PartialCredentialsError) as error:
        raise AwsError("there are no credentials for AWS: log in, or choose a profile with --profile") from error
    except NoRegionError as error:
        raise UsageError("there is no AWS region: give --region, or set AWS_DEFAULT_REGION") from error
    except ProfileNotFound as error:
        raise UsageError(f"{error}: see `aws configure list-profiles`") from error
    except HTTPClientError as error:
        raise AwsError(f"AWS could not be reached: {error}") from error
    except ClientError as error:
        raise _refusal(error) from error
    except BotoCoreError as error:
        raise AwsError(f"the request could not be made: {error}") from error


def _refusal(error: ClientError) -> OperatorError:
    answered = error.response["Error"]
    code, message = answered.get("Code", ""), answered.get("Message", "")
    if code in _QUEUE_MISSING:
        return NotFoundError(f"there is no such queue ({error.operation_name}): look at its URL and at the region")
    if code == "ResourceNotFoundException":
        return NotFoundError(f"there is no such table ({error.operation_name}): look at its name and at the region")
    return AwsError(f"AWS refuses {error.operation_name}: {code}: {message}")
