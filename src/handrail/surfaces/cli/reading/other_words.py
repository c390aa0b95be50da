"""Names that are no commands, and the command that each caller means. Pure."""

from __future__ import annotations

OTHER_WORDS = {
    "edit": "js-edit",
    "preferences set": "settings set --preferences",
    "preferences show": "settings show --preferences",
    "run compare": "session show --compare",
    "run confirm": "run answer",
    "run graph": "session show --graph",
    "run list": "session list",
    "run node": "session show --node",
    "run resume": "session resume",
    "run show": "session show",
    "run status": "session show",
    "scan": "js-scan",
    "session close": "run close",
    "session continue": "run continue",
    "session gaps": "session inbox --gaps",
    "session needs": "session inbox",
    "session search": "session list",
    "session settle": "session resolve",
    "session start": "session note",
    "session status": "session show",
    "session timeline": "session show --timeline",
    "status": "session list",
    "tools": "run file",
    "workflow run": "run start",
    "workflow show": "workflow inspect",
    "workflow start": "run start",
}
"""Exact names that are rejected with the command that is meant, because similar spelling would find
another.

Some are names from before the first release.
"""
MODES = {
    "--analyze": "code explain",
    "--context": "code explain --context",
    "--deps": "code deps",
    "--extract": "code extract",
    "--locate": "code explain --locate",
    "--move": "code move",
    "--outline": "code outline",
    "--rename": "code rename",
    "--replace": "code replace",
    "--ripple": "code ripple",
    "--search": "code search",
    "--trace": "code trace",
}
"""Modes of `scan` and `edit` that were flags and now are commands."""
