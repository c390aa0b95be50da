"""Taking the name of an erased person out of what is kept about other things: the audit and credentials."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any

import msgspec

from handrail.contract.outcome import Json
from handrail_team.store.database import Link
from handrail_team.store.migrations import ERASING


def forget_name(link: Link, account: str, names: set[str]) -> None:
    """Put the account in place of its names, in every workspace: in audit lines and names of credentials.

    Where an audit has the size and digest of a name, that goes as well: short texts can be guessed.
    """
    spelled = {form for name in names if name for form in (name, name.lower(), name.casefold())}
    if not spelled:
        return
    pattern = re.compile("|".join(map(re.escape, sorted(spelled, key=len, reverse=True))), re.IGNORECASE)
    digests = {sha256(name.encode()).hexdigest() for name in spelled}
    wanted = "|".join(map(re.escape, sorted(digests | spelled)))
    link.execute(ERASING)
    found = link.execute(
        "SELECT id, line FROM handrail.audit WHERE convert_from(line, 'UTF8') ~* %s", (wanted,)
    ).fetchall()
    for line_id, line in found:
        kept = msgspec.json.encode(_replace(msgspec.json.decode(bytes(line)), pattern, digests, account))
        link.execute("UPDATE handrail.audit SET line = %s WHERE id = %s", (kept, line_id))
    link.execute(
        "UPDATE handrail.credentials SET name = %s WHERE name ~* %s",
        (account, "|".join(map(re.escape, sorted(spelled)))),
    )


def _replace(value: Any, pattern: re.Pattern[str], digests: set[str], account: str) -> Json:
    match value:
        case str():
            return pattern.sub(account, value)
        case {"sha256": str(digest)} if digest in digests:
            return account
        case dict():
            return {str(key): _replace(one, pattern, digests, account) for key, one in value.items()}
        case list():
            return [_replace(one, pattern, digests, account) for one in value]
        case _:
            return value
