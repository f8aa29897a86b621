"""What the URL and the ARN of a queue have in common: its region, its account and its name."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_REGION = r"([a-z]{2,}(?:-[a-z]+)+-\d+)"
_REGION_IN_HOST = re.compile(rf"(?:^|\.)sqs(?:-fips)?\.{_REGION}\.|^{_REGION}\.queue\.")
_REGION_IN_PATH = re.compile(rf"^/queue/{_REGION}/")
_ACCOUNT = re.compile(r"\d{12}")
_PARTS_OF_ARN = 6


def is_of_one_queue(url: str, arn: str) -> bool:
    """
    Tell whether a URL and an ARN are of one queue.

    Its name has to be the same; account and region have to be as far as the URL tells them, which those of a local AWS
    may not.

    Source: https://docs.aws.amazon.com/general/latest/gr/sqs-service.html

    Args:
        url: of a queue, in any of the forms that AWS has had.
        arn: of a queue.
    """
    parts = arn.split(":")
    if len(parts) != _PARTS_OF_ARN:
        return False
    region, account, name = parts[3:]
    return _path_of(url)[-1] == name and _account_in(url) in (None, account) and _region_in(url) in (None, region)


def _path_of(url: str) -> list[str]:
    return urlsplit(url).path.strip("/").split("/")


def _account_in(url: str) -> str | None:
    before_name = _path_of(url)[-2:-1]
    return before_name[0] if before_name and _ACCOUNT.fullmatch(before_name[0]) else None


def _region_in(url: str) -> str | None:
    address = urlsplit(url)
    host = address.hostname or ""
    if host == "queue.amazonaws.com":  # as the first region's queues were called
        return "us-east-1"
    found = _REGION_IN_HOST.search(host) or _REGION_IN_PATH.match(address.path)
    return next(filter(None, found.groups()), None) if found else None
