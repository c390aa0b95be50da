"""Remove the name of an erased person from the audit and from credentials."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any, Final

import msgspec

from handrail.contract.outcome import Json
from handrail.runtime.permission import KEY
from handrail_team.store.database import Link
from handrail_team.store.migrations import ERASING

ON_MACHINE: Final = " on "
"""Separates the operation from the client machine in an audit line."""
_LETTER: Final = r"[^\W\d_]"
_WRITTEN: Final = ("args", "request_id")
"""The fields of an audit line that a caller wrote."""


def forget_name(link: Link, account: str, names: set[str]) -> None:
    """Replace a person's names by the account id in the workspaces where they were a member.

    Only whole words in the arguments of audit lines and the names of credentials are replaced, so a name
    that is also a word of Handrail changes no history. The size and digest of a name in an audit line are
    removed too, because short texts can be guessed. The account's own credentials lose machine and request
    id, which often contain a person's name.
    """
    spelled = {form for name in names if name for form in (name, name.lower(), name.upper(), name.casefold())}
    if not spelled:
        return
    link.execute(ERASING)
    found = link.execute("SELECT DISTINCT workspace FROM handrail.credentials WHERE account = %s", (account,))
    workspaces = [row[0] for row in found.fetchall()]
    longest_first = sorted(spelled, key=len, reverse=True)
    pattern = re.compile(
        rf"(?<!{_LETTER})(?:{'|'.join(map(re.escape, longest_first))})(?!{_LETTER})", re.IGNORECASE
    )
    digests = {sha256(name.encode()).hexdigest() for name in spelled}
    _forget_in_audit(link, account, workspaces, _Names(pattern=pattern, spelled=spelled, digests=digests))
    link.execute(
        "UPDATE handrail.credentials SET name = %s, machine = '', request_id = NULL WHERE account = %s",
        (account, account),
    )
    held = link.execute(
        "SELECT hash, name FROM handrail.credentials WHERE workspace = ANY(%s::text[]) AND account <> %s",
        (workspaces, account),
    ).fetchall()
    for digest, name in held:
        if pattern.search(name):
            link.execute(
                "UPDATE handrail.credentials SET name = %s, request_id = NULL WHERE hash = %s",
                (account, digest),
            )


class _Names(msgspec.Struct, frozen=True, kw_only=True):
    """The names that an audit may have for an erased person."""

    pattern: re.Pattern[str]
    spelled: set[str]
    digests: set[str]


def _forget_in_audit(link: Link, account: str, workspaces: list[str], names: _Names) -> None:
    in_json = {msgspec.json.encode(name).decode()[1:-1] for name in names.spelled}
    wanted = "|".join(map(re.escape, sorted({account} | names.digests | in_json)))
    found = link.execute(
        "SELECT id, line FROM handrail.audit"
        " WHERE workspace = ANY(%s::text[]) AND convert_from(line, 'UTF8') ~* %s",
        (workspaces, wanted),
    ).fetchall()
    for line_id, content in found:
        line = msgspec.json.decode(bytes(content), type=dict[str, Any])
        kept = line | {name: _replace(line[name], names, account) for name in _WRITTEN if name in line}
        if line.get("account") == account:
            kept["command"] = str(line.get("command", "")).partition(ON_MACHINE)[0]
            kept["request_id"] = ""
            kept["args"] = {key: one for key, one in (kept.get("args") or {}).items() if key != KEY}
        if kept != line:
            values = (msgspec.json.encode(kept), line_id)
            link.execute("UPDATE handrail.audit SET line = %s WHERE id = %s", values)


def _replace(value: Any, names: _Names, account: str) -> Json:
    match value:
        case str():
            return names.pattern.sub(account, value)
        case {"sha256": str(digest)}:
            return account if digest in names.digests else value
        case dict():
            return {str(key): _replace(one, names, account) for key, one in value.items()}
        case list():
            return [_replace(one, names, account) for one in value]
        case _:
            return value
