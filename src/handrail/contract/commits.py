"""What one call has changed for good: from then on no trouble makes a failure of its answer. Pure.

An operation notes a change the moment it is made, with the call that reads it. Whoever answers for the call
(hub or surface) asks here whether a trouble may still be told as a failure.
"""

from __future__ import annotations

import msgspec

from handrail.contract.outcome import Json, NextCall, Notice, Success

UNSEEN = "reply_not_built"
"""The notice of an answer that stands for a reply which could not be made."""
DONE = "The change is made and stored, but its answer could not be put together."


class Commits:
    """The changes of one call, as far as its answer must know of them."""

    def __init__(self) -> None:
        self.reads_back: NextCall | None = None
        """The call that tells what is there now; None as long as nothing was changed."""

    @property
    def is_made(self) -> bool:
        return self.reads_back is not None

    def note(self, reads_back: NextCall) -> None:
        """Something is changed; this call reads it."""
        self.reads_back = reads_back


def unseen(commits: Commits, *, cause: str = "", incident: str = "") -> Success:
    """The answer in place of a reply that could not be made: that it is done, and how to read it."""
    following = commits.reads_back
    assert following is not None, "only what was changed is told this way"
    read: dict[str, Json] = {"operation": following.operation, "params": following.params}
    message = f"{DONE} Do not repeat the call; read what is there with {following.operation}."
    why = {"cause": cause, "incident": incident}
    extra: dict[str, Json] = {name: value for name, value in why.items() if value}
    notice = Notice(type=UNSEEN, message=message, severity="warning", extra=extra)
    return Success(data={"committed": True, "message": message, "read": read}, notices=(notice,))


def is_unseen(success: Success) -> bool:
    return any(notice.type == UNSEEN for notice in success.notices)


def spelled(success: Success, call: str) -> Success:
    """The same answer with the reading call as one surface writes it."""
    assert isinstance(success.data, dict), "such an answer is an object"
    message = f"{DONE} Do not repeat the call; read what is there with: {call}"
    told = tuple(
        msgspec.structs.replace(one, message=message) if one.type == UNSEEN else one
        for one in success.notices
    )
    read = {**success.data["read"], "call": call}
    return msgspec.structs.replace(
        success, data={**success.data, "message": message, "read": read}, notices=told
    )
