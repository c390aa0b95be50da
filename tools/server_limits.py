"""The limits of the servers, for docs/reference/limits.md."""

from __future__ import annotations

from typing import TypeAlias

Rows: TypeAlias = tuple[tuple[str, str, str], ...]
"""Module below `handrail`, name, and what it limits."""

MCP: Rows = (
    ("surfaces.mcp.arguments", "MAX_BYTES", "All names and texts of one call."),
    ("surfaces.mcp.arguments", "MAX_DEPTH", "Objects and lists inside each other."),
    ("surfaces.mcp.arguments", "MAX_MEMBERS", "Members of all objects and lists of one call."),
    ("surfaces.mcp.arguments", "MOST_FLAWS", "Wrong arguments that are told at once."),
    ("surfaces.mcp.results", "LIST_BYTES", "A listing in a reply, before it is paged."),
    ("surfaces.mcp.messages", "CALLS_AT_ONCE", "Calls that are worked on at once."),
    ("surfaces.mcp.messages", "ANSWER_SECONDS", "How long a person may take to answer a question."),
    ("surfaces.mcp.messages", "LISTING_LIFETIME_MS", "How long a client may keep a listing."),
    ("surfaces.mcp.messages", "FRAME_BYTES", "One line on stdin; a longer one is passed over and refused."),
    (
        "surfaces.mcp.calls_in_progress",
        "CALL_SECONDS",
        "After this a call is told that its outcome is unknown.",
    ),
    (
        "surfaces.mcp.calls_in_progress",
        "HANGING_CALLS",
        "Calls beyond their time that may go on in the background.",
    ),
    ("surfaces.mcp.calls_in_progress", "OWED_ANSWERS", "Requests without an answer, before reading waits."),
    ("surfaces.mcp.calls_in_progress", "OWED_BYTES", "What they have together."),
    ("surfaces.mcp.calls_in_progress", "BURST_BYTES", "What calls carry before memory is given back."),
    (
        "surfaces.mcp.calls_in_progress",
        "LAST_ANSWERS_SECONDS",
        "How long answers may take after the input closed.",
    ),
    (
        "surfaces.mcp.calls_in_progress",
        "MOST_TREES_WAITING",
        "Looks at a project's files that wait for their turn.",
    ),
    ("surfaces.mcp.resources", "LONGEST_URI", "Characters of an address."),
    ("surfaces.mcp.adapter", "LONGEST_ARGUMENT", "Characters of an argument of a prompt."),
    ("surfaces.mcp.adapter", "PROMPTS_PER_PAGE", "Prompts on a page."),
    ("surfaces.mcp.adapter", "MOST_VALUES", "Completions in one answer."),
    ("surfaces.mcp.adapter", "LOOKED_AT", "Names that are looked at for them."),
    ("surfaces.mcp.ask", "MOST_ENUM", "Words to choose from in a question to a person."),
    ("surfaces.mcp.adapter", "MOST_QUESTIONS", "Questions to a person in one call."),
)
HTTP: Rows = (
    ("contract.conformance.check", "MOST_ANSWER_BYTES", "An answer that `lafs check --url` judges."),
    ("host.http_client", "ANSWER_SECONDS", "How long `lafs check --url` waits for one."),
    ("host.program.updates", "RETRY_MS", "The least wait before an index is asked once more."),
    ("host.program.updates", "LONGEST_RETRY_MS", "The longest wait that an index may ask for."),
    ("handrail_serve.limits", "MOST_BODY_BYTES", "The body of a request."),
    ("handrail_serve.limits", "MOST_BUNDLE_BYTES", "The body of a request that imports a bundle."),
    ("handrail_serve.limits", "MOST_HEADER_BYTES", "The headers of a request."),
    ("handrail_serve.limits", "MOST_URL_BYTES", "The address of a request."),
    ("handrail_serve.companions.lafs", "LONGEST_ID", "Characters of an id in an A2A message."),
    ("handrail_serve.companions.lafs", "TASKS_KEPT", "Tasks of A2A calls that can be read again."),
    ("handrail_serve.companions.lafs", "TASK_BYTES_KEPT", "Their envelopes, in all."),
    ("handrail_serve.limits", "MOST_VIEW_BYTES", "One page of the Console; a list has fewer rows then."),
    ("handrail_serve.limits", "MOST_MEMBERS", "Values in all objects and lists of a body."),
    ("handrail_serve.exchange", "MOST_PARAMETERS", "Names and values after the question mark of an address."),
    ("handrail_serve.limits", "REQUESTS_AT_ONCE", "Requests that are worked on at once."),
    ("handrail_serve.limits", "CONNECTIONS_AT_ONCE", "Connections that are open at once."),
    ("handrail_serve.limits", "IDLE_OF_AN_ADDRESS", "Those of one address without a request in progress."),
    ("handrail_serve.limits", "REQUEST_SECONDS", "Seconds of a request, its body included."),
    ("handrail_serve.limits", "OPERATION_SECONDS", "After this many an operation is asked to end."),
    ("handrail_serve.limits", "FEEDS_AT_ONCE", "Feeds that are open at once."),
    ("handrail_serve.feed", "LOOK_SECONDS", "How often the feed looks for changes, in seconds."),
    ("handrail_serve.feed", "HEARTBEAT_SECONDS", "Quiet seconds before the feed says that it is there."),
    ("handrail_serve.feed", "CHANGES_KEPT", "Changes after which a feed that was away starts anew."),
    (
        "handrail_serve.companions.health",
        "KEPT_SECONDS",
        "Seconds for which the answer of a health check is kept.",
    ),
    ("handrail_serve.limits", "IDLE_SECONDS", "Seconds that an idle connection stays open."),
    ("handrail_serve.limits", "DRAIN_SECONDS", "Seconds that running requests have when the server stops."),
    ("handrail_serve.limits", "CUT_SECONDS", "Seconds in which they are answered after a second signal."),
    (
        "handrail_serve.command",
        "MOST_TREES_WAITING",
        "Looks at a project's files that wait for their turn.",
    ),
)
