"""The error of a request that is refused before anything runs."""


class RefusalError(Exception):
    """Say what is wrong with a request, and what to do about it."""
