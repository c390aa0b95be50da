"""Checks of strangers that are known to fail, each with its reason; one that starts to pass is reported."""

from __future__ import annotations

NO_QUESTIONS = "the older era's questions need a session, and this door keeps none: the reply is `blocked`"
NO_SESSION = "the older era's sessions are optional, and this door keeps none"
NO_STREAM = "calls answer at once in one JSON document; `/streaming` shows that the adapter can report"
NO_FIXTURE = "needs a tool of the suite's own; shown on its fixtures"

_QUESTIONS = {
    "elicitation-sep1034-defaults: elicitation-sep1034-general": NO_QUESTIONS,
    "elicitation-sep1330-enums: elicitation-sep1330-general": NO_QUESTIONS,
    "tools-call-elicitation: tools-call-elicitation": NO_QUESTIONS,
    "tools-call-sampling: tools-call-sampling": NO_QUESTIONS,
}
_SESSIONS = {
    "server-sse-multiple-streams: server-sse-multiple-streams-session": NO_SESSION,
    "server-sse-polling: server-sse-polling-session": NO_SESSION,
}

KNOWN: dict[str, dict[str, str]] = {
    "product, 2026-07-28": {
        "server-stateless: sep-2575-http-server-no-independent-requests-on-stream": NO_FIXTURE,
        "server-stateless: sep-2575-missing-capability-http-400": NO_FIXTURE,
        "server-stateless: sep-2575-server-no-log-without-loglevel": NO_FIXTURE,
        "server-stateless: sep-2575-server-rejects-undeclared-capability": NO_FIXTURE,
    },
    "fixtures, JSON, 2025-11-25": {
        **_QUESTIONS,
        **_SESSIONS,
        "tools-call-with-logging: tools-call-with-logging": NO_STREAM,
        "tools-call-with-progress: tools-call-with-progress": NO_STREAM,
    },
    "fixtures, JSON, 2026-07-28": {"tools-call-with-progress: tools-call-with-progress": NO_STREAM},
    "fixtures, streaming, 2025-11-25": {
        **_QUESTIONS,
        **_SESSIONS,
        "server-sse-polling: server-sse-priming-event": NO_SESSION,
        "server-sse-polling: server-sse-retry-field": NO_SESSION,
    },
}
"""Target of the official suite → check → why it fails."""
