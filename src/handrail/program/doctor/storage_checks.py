"""Checks of what is kept: store, workflow library, keys, used tokens, audit. They read and never write."""

from __future__ import annotations

from collections import Counter
from shlex import quote

import msgspec

from handrail.contract.ids import SessionId
from handrail.contract.outcome import Fault, Json
from handrail.contract.tokens.workflow import WORKFLOW
from handrail.operations.workflow_catalog import list_errors_in_use, load_catalog
from handrail.ports.program import PlaceFacts
from handrail.program.doctor.check import CheckInput, Finding, report_failure, report_pass, report_warning
from handrail.runtime.sessions import read_session

MOST_SESSIONS = 100
"""How many sessions are looked at, newest first; `store verify` looks at all of them."""
OLD_KEY_DAYS = 365
_OTHERS_WRITE = 0o022
_DAY_SECONDS = 86_400
LEAST_FREE_BYTES = 1 << 20
"""A step with the longest notes takes less than a tenth of this."""


def check_store(given: CheckInput) -> Finding:
    place = given.rt.installation().place("data")
    facts: dict[str, Json] = {"path": place.path, "exists": place.exists}
    if not place.is_writable:
        fix = f"Give this user the right to write {place.path}, or set HANDRAIL_HOME to another directory."
        return report_failure("The store cannot be written.", fix, **facts)
    if place.can_lock is False:
        fix = "Move HANDRAIL_HOME to a file system with locks, such as a local disk."
        return report_failure("The file system of the store has no locks.", fix, **facts)
    if place.free_bytes is not None and place.free_bytes < LEAST_FREE_BYTES:
        facts["free_bytes"] = place.free_bytes
        fix = f"Free space on the disk that holds {place.path}, then send the refused calls again."
        return report_failure("The disk of the store is full.", fix, **facts)
    stamps = given.rt.log.list_sessions()
    states = Counter(_health(given, stamp.session_id) for stamp in stamps[:MOST_SESSIONS])
    facts |= {
        "sessions": len(stamps),
        "looked_at": sum(states.values()),
        "health": dict(sorted(states.items())),
    }
    unsound = sum(count for state, count in states.items() if state != "healthy")
    if unsound:
        told = "1 session is" if unsound == 1 else f"{unsound} sessions are"
        return report_failure(f"{told} not sound and can only be read.", "handrail store verify", **facts)
    home = given.rt.installation().place("")
    if home.mode is not None and home.mode & _OTHERS_WRITE:
        told = "Other users can put another store in its place."
        return report_warning(told, f"chmod go-w {quote(home.path)}", **facts, home_mode=_mode(home))
    state = "can be read, written and locked" if place.exists else "does not exist yet and can be made"
    counted = "1 session is" if len(stamps) == 1 else f"{len(stamps)} sessions are"
    return report_pass(f"The store {state}; {counted} in it.", **facts)


def check_workflow_library(given: CheckInput) -> Finding:
    catalog = load_catalog(given.rt, given.project)
    broken = [one.id for one in catalog.entries if not one.is_usable or list_errors_in_use(catalog, one)]
    contracts = sorted(one.source_ref for one in catalog.broken_contracts)
    facts: dict[str, Json] = {
        "workflows": len(catalog.entries),
        "broken": sorted(broken)[:20],
        "broken_contracts": contracts[:20],
        "sources": sorted({entry.source_kind for entry in catalog.entries}),
    }
    if broken or contracts:
        total = len(broken) + len(contracts)
        fix = "handrail workflow list --fields items.id,items.problems --compact"
        return report_warning(f"{total} workflow files or sources cannot be used.", fix, **facts)
    return report_pass(f"All {len(catalog.entries)} workflows can be used.", **facts)


def check_keyring(given: CheckInput) -> Finding:
    installation = given.rt.installation()
    source = installation.secret_source()
    place = installation.place("data/keys/keyring.json")
    facts: dict[str, Json] = {"backend": source, "exists": place.exists, "mode": _mode(place)}
    keys = given.rt.keys.verifying_keys(WORKFLOW)  # a Fault of the keyring becomes the finding
    if source == "environment":
        return report_pass("The keys come from AI_NATIVE_CLI_SECRET.", **facts)
    if not place.exists:
        return report_pass("There is no keyring yet; the first signed token makes it.", **facts)
    if not place.is_ours:
        fix = f"Give {place.path} to the user who runs Handrail."
        return report_failure("The keyring belongs to another user.", fix, **facts)
    age = max(0, given.rt.clock.unix_seconds() - place.modified_at) // _DAY_SECONDS
    facts |= {"keys": len(keys), "age_days": age}
    if age > OLD_KEY_DAYS:
        fix = "handrail keys rotate --dry-run --compact"
        return report_warning(f"The signing key is {age} days old.", fix, **facts)
    return report_pass("The keyring is private and sound.", **facts)


def check_confirm_tokens(given: CheckInput) -> Finding:
    return _private_directory(given, "confirm-consumed", "used confirm tokens")


def check_audit(given: CheckInput) -> Finding:
    found = _private_directory(given, "audit", "the audit")
    line = given.rt.installation().last_audit_line()
    if found.status != "pass" or line is None:
        return found
    try:
        msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, ValueError):
        fix = (
            "Look at the newest file in the audit directory; its last line was cut, and new lines follow it."
        )
        return report_warning("The last line of the audit is not a JSON object.", fix, **found.details)
    return found


def _private_directory(given: CheckInput, name: str, what: str) -> Finding:
    place = given.rt.installation().place(name)
    facts: dict[str, Json] = {"path": place.path, "exists": place.exists, "mode": _mode(place)}
    if not place.is_writable:
        fix = f"Give this user the right to write {place.path}."
        return report_failure(f"The directory of {what} cannot be written.", fix, **facts)
    if place.exists and not place.is_ours:
        return report_failure(
            f"The directory of {what} belongs to another user.", f"Give {place.path} to this user.", **facts
        )
    if place.mode is not None and place.mode & 0o077:
        return report_warning(
            f"The directory of {what} is open to other users.", f"chmod 700 {place.path}", **facts
        )
    state = "is private and can be written" if place.exists else "does not exist yet and can be made"
    return report_pass(f"The directory of {what} {state}.", **facts)


def _health(given: CheckInput, session_id: SessionId) -> str:
    try:
        session = read_session(given.rt.log, session_id)
    except Fault as fault:  # one bad session never hides the others
        return fault.kind.code.lower()
    return "missing" if session is None else session.health.state


def _mode(place: PlaceFacts) -> str | None:
    return None if place.mode is None else f"{place.mode:04o}"
