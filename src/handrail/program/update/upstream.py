"""What an upstream's HTTP answer means for our caller: by status, never by the words of a message. Pure."""

from __future__ import annotations

import re

from handrail.contract.catalogue import (
    E_AUTH,
    E_CONFLICT,
    E_FORBIDDEN,
    E_NETWORK,
    E_NOT_FOUND,
    E_RATE_LIMITED,
    E_SERVER,
    E_TIMEOUT,
    E_UNKNOWN,
    E_VALIDATION,
    Kind,
)

_BY_STATUS = {
    401: E_AUTH,
    403: E_FORBIDDEN,
    404: E_NOT_FOUND,
    408: E_TIMEOUT,
    409: E_CONFLICT,
    429: E_RATE_LIMITED,
}
_SECONDS = re.compile("[0-9]{1,9}")


def kind_of_upstream(status: int | None) -> Kind:
    """The kind for a status that is not a success; None means that no answer came (refused, DNS, reset)."""
    if status is None:
        return E_NETWORK
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if 500 <= status <= 599:
        return E_SERVER
    return E_VALIDATION if 400 <= status <= 499 else E_UNKNOWN


def wait_ms_of_header(retry_after: str | None) -> int | None:
    """The wait that a `Retry-After` header in seconds asks for; None leaves the row's own wait.

    The header's date form needs a clock to read, and there is none here.
    """
    if retry_after is None or not _SECONDS.fullmatch(retry_after.strip()):
        return None
    return int(retry_after) * 1000
