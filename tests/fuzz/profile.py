"""How much is generated: a little and always the same in `make test`, much and always something else in `make fuzz`."""

from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, settings

Test = TypeVar("Test", bound=Callable[..., Any])

SHORT, LONG = "fuzz-short", "fuzz-long"

_COMMON = settings(
    database=None,  # CI starts without one, and a run must not depend on the one before
    deadline=None,
    print_blob=False,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],  # to explain takes longer than to shrink
    suppress_health_check=list(HealthCheck),  # events are large, and take long to generate
)
settings.register_profile(SHORT, _COMMON, max_examples=60, derandomize=True)
settings.register_profile(LONG, _COMMON, max_examples=250)


def fuzzing(test: Test) -> Test:
    """Let a test generate as much as `--hypothesis-profile` says, which is known when tests are imported."""
    is_long = settings.get_current_profile_name() == LONG
    return settings.get_profile(LONG if is_long else SHORT)(test)
