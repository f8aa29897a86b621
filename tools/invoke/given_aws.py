"""The AWS that the person's own environment names, real or local, with a stack that is there already."""

from __future__ import annotations

import os
from collections.abc import Mapping

import boto3
from botocore.exceptions import BotoCoreError

from tools.invoke.refusal import RefusalError
from tools.template import Setting

_PROFILES = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE")
_OPTIONAL = frozenset({"DEAD_LETTER_QUEUE_URL"})
"""Unless it is named, no event out of a file ends among the dead letters of a deployed stack."""


def environment(settings: Mapping[str, Setting]) -> dict[str, str]:
    """Return this process's environment, with region and credentials as the AWS command line would find them.

    Args:
        settings: What the template gives to the function. Plain values are defaults; the names of resources must
            be in the environment.

    Raises:
        RefusalError: A resource is not named, or there are no credentials, or no region.
    """
    plain = {name: setting for name, setting in settings.items() if isinstance(setting, str)}
    variables = plain | os.environ
    if missing := [name for name in settings if name not in variables and name not in _OPTIONAL]:
        needed = " ".join(f"--env {name}=VALUE" for name in missing)
        raise RefusalError(f"which resources of the deployed stack are meant? Add {needed}.")
    # A function knows no profiles: what this one comes to is handed over as plain variables.
    return {name: value for name, value in variables.items() if name not in _PROFILES} | _access()


def _access() -> dict[str, str]:
    try:
        session = boto3.Session()
        region = os.environ.get("AWS_REGION") or session.region_name  # boto3 knows AWS_DEFAULT_REGION only
        credentials = session.get_credentials()
    except BotoCoreError as error:
        raise RefusalError(f"AWS cannot be used as your environment says: {error}.") from error
    if region is None:
        raise RefusalError("no AWS region is set: set AWS_REGION.")
    if credentials is None:
        raise RefusalError(
            "no AWS credentials are set: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
        )
    keys = credentials.get_frozen_credentials()
    access = {
        "AWS_REGION": region,
        "AWS_ACCESS_KEY_ID": keys.access_key,
        "AWS_SECRET_ACCESS_KEY": keys.secret_key,
        "AWS_SESSION_TOKEN": keys.token,
    }
    return {name: value for name, value in access.items() if value}
