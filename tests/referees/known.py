"""Third-party checks that are known to fail, each with its reason; one that starts to pass is reported."""

from __future__ import annotations

NO_QUESTIONS = "the older era's questions need a session, and this server keeps none: the reply is `blocked`"
NO_SESSION = "the older era's sessions are optional, and this server keeps none"
NO_STREAM = "a call is answered at once in one JSON document, so nothing is reported before it"
NO_SUBSCRIPTIONS = "the server declares that it takes none"
NO_PARAM_HEADERS = "none of our tools asks for an argument in a header, so the server compares none"
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
    "fixtures, 2025-11-25": {
        **_QUESTIONS,
        **_SESSIONS,
        "resources-subscribe: resources-subscribe": NO_SUBSCRIPTIONS,
        "resources-unsubscribe: resources-unsubscribe": NO_SUBSCRIPTIONS,
        "tools-call-with-logging: tools-call-with-logging": NO_STREAM,
        "tools-call-with-progress: tools-call-with-progress": NO_STREAM,
    },
    "fixtures, 2026-07-28": {
        "http-custom-header-server-validation: sep-2243-server-reject-invalid-param-chars": NO_PARAM_HEADERS,
        "http-custom-header-server-validation: sep-2243-server-reject-param-mismatch": NO_PARAM_HEADERS,
        "http-custom-header-server-validation: sep-2243-server-validate-param-match": NO_PARAM_HEADERS,
        "tools-call-with-progress: tools-call-with-progress": NO_STREAM,
    },
}
"""Target of the official suite → check → why it fails."""
