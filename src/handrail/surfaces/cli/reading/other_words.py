"""Names that a command does not have, and the command that is meant. Pure."""

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
"""Names are exact, so these are refused, with the one that is meant: spelling alone would find another.

Some are what a command was called before the first release.
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
"""What `scan` and `edit` were asked with a flag is a command of its own."""
