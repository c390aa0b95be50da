"""The check of the release: from the last look at the index, or from a new one of at most two seconds."""

from __future__ import annotations

from handrail import __version__
from handrail.contract.outcome import Fault, Json
from handrail.contract.update_facts import InstallFacts, Look
from handrail.contract.versions import version_key
from handrail.ports import Updates
from handrail.runtime.find_release import Wish, digest_of_sources, find_release, index_sources_of
from handrail.runtime.self_checks.check import Examined, Finding, passed, warned
from handrail.runtime.update_notice import UPDATE, fresh_look, look_of

NETWORK_MS = 2_000
"""How long the index may take in all: a check-up is not kept waiting by somebody else's machine."""
CHECK = "handrail update --check"
_NOT_OURS = {
    "editable": "This copy runs from a checkout; git brings it up to date.",
    "ephemeral": "This copy was made for one call and is not updated.",
    "system": "This copy belongs to the operating system, which brings it up to date.",
}


def update(given: Examined) -> Finding:
    """Never a failure by itself: an old version works, and a silent index says nothing about this one."""
    try:
        updates = given.rt.updates()
        facts = updates.facts()
        if facts.method in _NOT_OURS:
            return passed(_NOT_OURS[facts.method], version=__version__, latest_version=None, checked_at=None)
        return _looked_up(given, updates, facts)
    except Fault as fault:
        return warned(fault.message, CHECK, version=__version__, latest_version=None, checked_at=None)


def _looked_up(given: Examined, updates: Updates, facts: InstallFacts) -> Finding:
    asked = digest_of_sources(index_sources_of(given.rt, facts))
    look = fresh_look(given.rt, updates, asked)
    if look is not None or given.is_offline:
        return _told(look or updates.last_look())
    try:
        look = _look(given, updates, facts)
    except Fault as fault:
        return _unanswered(fault, updates.last_look())
    updates.keep_look(look)
    return _told(look)


def _look(given: Examined, updates: Updates, facts: InstallFacts) -> Look:
    rt = given.rt
    ends_at = rt.clock.monotonic_ms() + NETWORK_MS

    def asked() -> str:
        return rt.interruptions.asked() or ("deadline" if rt.clock.monotonic_ms() >= ends_at else "")

    return look_of(rt, updates, find_release(rt, updates, facts, Wish(), asked), asked)


def _told(look: Look | None) -> Finding:
    if look is None:
        message = f"Nobody has looked for a release newer than {__version__} yet."
        return passed(message, version=__version__, latest_version=None, checked_at=None)
    facts: dict[str, Json] = {
        "version": __version__,
        "latest_version": look.latest,
        "checked_at": look.checked_at,
    }
    if _is_behind(look):
        facts["notice"] = look.notice
        return warned(f"Handrail {look.latest} is there; this is {__version__}.", UPDATE, **facts)
    return passed(f"There was no release newer than {__version__}.", **facts)


def _unanswered(fault: Fault, look: Look | None) -> Finding:
    """What is known of old is told; that the index was silent is told too."""
    known = _told(look)
    message = f"{fault.message.removesuffix(' Nothing was changed.')} {known.message}"
    return warned(message, known.fix or CHECK, **known.details, code=fault.kind.code)


def _is_behind(look: Look) -> bool:
    latest, running = version_key(look.latest), version_key(__version__)
    return latest is not None and running is not None and running < latest
