"""What each exit status means and what an agent does about it (CLI section 6). Pure."""

from __future__ import annotations

import msgspec


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table of exit statuses."""

    meaning: str
    agent: str


# fmt: off
EXITS: dict[int, Exit] = {
    0: Exit(meaning="Success.", agent="Continue."),
    1: Exit(meaning="Something failed that no other status names.", agent="Read the error to decide."),
    2: Exit(meaning="The call is wrong.", agent="Do not retry; correct the arguments."),
    3: Exit(meaning="What was named does not exist.", agent="Do not retry; look for the right name."),
    4: Exit(meaning="Permission, sign-in or configuration.", agent="Do not retry; tell the user."),
    5: Exit(meaning="A confirmation is missing.", agent="Run next_command, then retry with its token."),
    6: Exit(meaning="The state moved on, or a token is invalid.", agent="Read the state, then decide."),
    7: Exit(meaning="A passing trouble of network or server.", agent="Wait, then retry."),
    8: Exit(meaning="The deadline passed.", agent="Wait, then retry, with more time if the work is large."),
    9: Exit(meaning="A person must act.", agent="Tell the user what to do; run resume afterwards."),
    130: Exit(meaning="A signal ended the call.", agent="Retry; nothing is half applied."),
}
"""Every exit status by its number."""
# fmt: on
