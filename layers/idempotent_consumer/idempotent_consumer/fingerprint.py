"""What the content of two messages is compared by, should the id of a processed message return."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from jmespath.exceptions import JMESPathError

from idempotent_consumer.canonical import NotJSONError, compiled, select, write_json, write_text
from idempotent_consumer.errors import ConfigurationError


class FingerprintSpecification:
    """
    Compute what the content of two messages is compared by.

    Key order, blanks and the way a number is written make no difference; every digit does. The fingerprint begins
    with the id of its specification, so that one made by another specification is never compared.

    Args:
        paths: JMESPaths of what counts in a JSON body; `@` is all of it. A body that is not JSON counts as its text.
    """

    __slots__ = ("_paths", "id")

    def __init__(self, paths: Sequence[str]) -> None:
        if not isinstance(paths, (list, tuple)) or not paths:
            raise ConfigurationError(
                "fingerprint takes a sequence of JMESPaths, or None to compare nothing: fingerprint=('amount',)"
            )
        self._paths = [compiled(path) for path in paths]
        self.id = "1-" + hashlib.sha256(json.dumps(list(paths)).encode()).hexdigest()[:12]

    def of(self, content: str) -> str:
        """Return `<specification id>:<hex SHA-256>` of a message's content."""
        return f"{self.id}:{hashlib.sha256(self._written(content).encode()).hexdigest()}"

    def _written(self, body: str) -> str:
        try:
            return write_json(select(body, self._paths))
        except (NotJSONError, JMESPathError):
            return write_text(body)


def same_content(one: str | None, other: str | None) -> bool:
    """Tell whether two fingerprints do not contradict each other; only those of one specification are compared."""
    if one is None or other is None or one.partition(":")[0] != other.partition(":")[0]:
        return True
    return one == other
