"""docs/reference/limits.md: every limit that a caller can meet, with the value that the code has now."""

from __future__ import annotations

from importlib import import_module
from typing import TypeAlias

from tools.page_parts import page, table

Rows: TypeAlias = tuple[tuple[str, str, str], ...]
"""Module below `handrail`, name, and what it limits."""

REPORTS: Rows = (
    ("runtime.work", "NOTES_LIMIT_BYTES", "Notes of one step."),
    ("runtime.work", "MOST_ARTIFACTS", "Artifacts in one call."),
    ("runtime.work", "ARTIFACT_LIMIT_BYTES", "One artifact."),
    ("runtime.work", "ARTIFACTS_LIMIT_BYTES", "All artifacts of one call together."),
    ("runtime.work", "CONTEXT_LIMIT_BYTES", "The context of a run."),
    ("contract.strict_json", "DEPTH_LIMIT", "Objects and lists inside each other, in any JSON that is read."),
    ("contract.json_numbers", "LARGEST_INTEGER", "The largest whole number that is told as a number."),
    ("contract.tokens.cleaning", "INPUT_LIMIT", "Characters of a text that is looked at for a token."),
    ("runtime.sessions", "LOCK_WAIT_MS", "How long a call waits for another writer of its session."),
)
REPLIES: Rows = (
    ("engine.reasons", "MOST_BLOCKERS", "Reasons in one blocked reply."),
    ("engine.reasons", "MESSAGE_BYTES", "The message of one reason."),
    ("engine.reasons", "MOST_ISSUES_IN_FULL", "Faults of a blocked report that are told in full."),
    ("engine.reasons", "MOST_ISSUES_TOLD", "Faults of a blocked report, most of them by their place."),
    ("engine.judged", "ISSUE_BYTES", "The message of one fault."),
    ("engine.decide", "MOST_PROBLEMS", "Faults of a refused checkpoint."),
    ("engine.reasons", "FIX_BYTES", "The suggested fix of one reason."),
    (
        "engine.work",
        "RECAP_EXCERPT_BYTES",
        "Notes of one step in a recap, or of a blocked attempt in the next.",
    ),
    ("engine.events", "MOST_TRACE_ENTRIES", "Entries in the trace of one move."),
    (
        "engine.prompts",
        "LONGEST_VALUE_BYTES",
        "One value that is put into a prompt; of a longer one its name stays.",
    ),
    ("engine.prompts", "RECAP_FUNCTIONS_BYTES", "Functions that are told again after a lost context."),
    (
        "projections.recap",
        "RECAP_BUDGET_BYTES",
        "The recap of a run, as encoded: entries, branches and what followed on them.",
    ),
    ("projections.recap", "CHILDREN_BUDGET_BYTES", "Branches in a recap, within that."),
    ("projections.recap", "ARTIFACT_BUDGET_BYTES", "Artifacts in a recap."),
    ("projections.recap", "CHILD_NOTES_BYTES", "Notes of each branch in a recap."),
    ("projections.recap", "SKIPPED_BUDGET_BYTES", "Skipped steps in a recap."),
    ("projections.whereabouts", "MOST_STEPS_TOLD", "Steps done since, in the warning of a repeated ack."),
    ("engine.reply", "MOST_GAPS_TOLD", "New gaps in one reply."),
    ("engine.reply", "MOST_MISNAMED_TOLD", "Unknown kinds of artifacts in one reply."),
    ("engine.reply", "MOST_WARNINGS", "Warnings in one reply."),
    ("engine.reply", "LONGEST_GOAL", "Characters of the goal in a reply."),
    ("engine.reply", "MOST_SKIPPED_TOLD", "Steps and loops that one reply names as passed by."),
    ("engine.asking", "MOST_ASKED", "Values that one prompt asks for."),
    ("engine.asking", "MOST_VALUES", "Possible values of each that it names."),
    ("engine.passing_by", "MOST_WORDS", "Characters that tell why one step was passed by."),
    ("engine.skeleton", "DEEPEST", "Levels of a report that are searched for unfilled places."),
    ("runtime.work", "MOST_UNFILLED", "Unfilled places that one refusal names."),
    ("runtime.close_run", "LONGEST_NOTE", "Characters of the note with which a run is closed."),
    ("engine.place", "LONGEST_NAME", "Characters of a project's name in the log."),
    ("engine.place", "MOST_TAGS", "Tags of a workflow that its runs are found by."),
    ("runtime.verify_store", "MOST_LEFTOVERS", "Leftovers that `store verify` names."),
    ("surfaces.mcp.resources", "LONGEST_DESCRIPTION", "Characters of a resource's description."),
    ("contract.outcome", "MESSAGE_LIMIT", "Characters of an error message."),
    ("contract.outcome", "HINT_LIMIT", "Characters of a hint."),
    ("runtime.operation", "OFFERED_CALL_BYTES", "A corrected call that is offered in an error."),
)
READING: Rows = (
    ("runtime.paging", "DEFAULT_LIMIT", "Items on a page without `--limit`."),
    ("runtime.paging", "MOST_ITEMS", "Items on a page."),
    ("contract.tokens.cursor", "LIFETIME_SECONDS", "How long a cursor works."),
    ("contract.tokens.cursor", "LENGTH_LIMIT", "Characters of a cursor."),
    (
        "runtime.resume_session",
        "LATEST_SESSIONS",
        "Sessions that `session resume` looks at if nothing is asked.",
    ),
    ("runtime.resume_session", "MOST_SESSIONS", "Sessions that a search looks through."),
    ("runtime.resume_session", "MOST_EVENTS", "Events that a search looks through."),
    ("projections.resuming", "MOST_FOUND", "Candidates in one answer."),
    ("projections.resuming", "MOST_RUNS", "Runs of one session that are candidates."),
    ("projections.resuming", "SNIPPET_BYTES", "The snippet of a candidate."),
    ("projections.resuming", "OUTPUT_BYTES", "Notes and artifacts of a run that a search reads."),
    ("runtime.session_replies", "MOST_RUNS", "Runs in the reply of a session without a pending step."),
    ("runtime.show_session", "LIST_BYTES", "Each list in `session show`: nodes, gaps, notes, the graph."),
    ("runtime.show_session", "RUNS_BYTES", "All runs in `session show`; the latest is always told."),
    ("runtime.show_session", "MOST_TIPS", "Tips of a run in `session show`."),
    ("runtime.show_session", "NOTE_CHARACTERS", "Characters of one of its notes."),
    ("runtime.show_session", "LABEL_CHARACTERS", "Characters of a title in its graph."),
    ("runtime.show_session", "MOST_MOMENTS", "Entries of its timeline, within the bytes of a list."),
    ("runtime.show_ledger", "LIST_BYTES", "Each list in `ledger show --view state`."),
    ("runtime.paging", "PAGE_BYTES", "A page of any list, as encoded; a single row may be longer."),
    ("runtime.show_ledger", "DEFAULT_LIMIT", "Ledger entries on a page without `--limit`."),
    ("runtime.show_ledger", "MOST_ENTRIES", "Ledger entries on a page."),
    ("runtime.show_ledger", "MOST_PATTERNS", "Operations that a ledger can be filtered by."),
    ("runtime.store_usage", "MOST_SESSIONS", "Largest sessions in `store du`."),
    ("runtime.verify_store", "MOST_PROBLEMS", "Problems that `store verify` lists; it counts all."),
    ("projections.html.rail", "MOST_ROWS", "Rows of the drawing in an HTML report."),
    ("projections.report.markdown", "MOST_DRAWN", "Nodes of the drawing in a Markdown report."),
    ("projections.report.page", "LONG_NOTES", "Characters of notes that an HTML report shows unfolded."),
    ("projections.report.story", "MOST_MOMENTS", "Moments in a report."),
)
CHANGES: Rows = (
    ("contract.tokens.confirm", "LIFETIME_SECONDS", "How long a confirm token works."),
    ("contract.tokens.continuation", "LIFETIME_SECONDS", "How long a continuation token works."),
    ("contract.tokens.continuation", "LENGTH_LIMIT", "Characters of a continuation token."),
    ("contract.tokens.continuation", "INFLATED_LIMIT", "Bytes of its payload, unpacked."),
    ("runtime.batch", "MOST_TARGETS", "Targets of one change."),
    ("runtime.collect_garbage", "MOST_DAYS", "Days for `--older-than`."),
    ("engine.bundles.reading", "MOST_BYTES", "A bundle."),
    ("engine.bundles.reading", "MOST_EVENTS", "Events in a bundle."),
    ("engine.bundles.reading", "MOST_DEPTH", "Objects and lists inside each other in a bundle."),
    ("engine.bundles.reading", "MOST_VALUES", "JSON values in a bundle."),
    ("host.settings", "MOST_BYTES", "A `config.json`."),
    ("host.workflow_sources.settings", "MOST_BYTES", "The same, where it says where workflows are."),
    ("host.workflow_sources.settings", "MOST_SOURCES", "Entries of a list of sources; more are not read."),
    ("host.audit", "MOST_LINE_BYTES", "An audit line; longer arguments are told by their size."),
    ("host.incidents", "MOST_INCIDENT_BYTES", "A kept traceback."),
    ("contract.package_index", "MOST_FILES", "Files in the listing of a package index."),
    ("host.fetching", "MOST_BYTES", "What one address of a package index may give."),
    ("host.fetching", "FETCH_SECONDS", "How long it may take."),
    ("runtime.update_notice", "FRESH_SECONDS", "Age at which `doctor` looks again for a newer release."),
    ("runtime.self_checks.update_checks", "NETWORK_MS", "How long that look may take in all."),
    ("contract.attestations", "MOST_BYTES", "The provenance of a release."),
    ("contract.attestations", "MOST_ATTESTATIONS", "Attestations in it."),
)  # fmt: skip
COMMAND_LINE: Rows = (
    ("surfaces.cli.output", "TIMEOUT_SECONDS", "When a command gives up without `--timeout`."),
    ("surfaces.cli.output", "MOST_SECONDS", "The longest `--timeout`."),
    ("surfaces.cli.values", "INPUT_LIMIT_BYTES", "`--input`, a JSON flag, a notes file."),
    ("surfaces.cli.values", "INPUT_DEPTH", "Objects and lists inside each other in one of them."),
    ("surfaces.cli.values", "ID_LENGTH", "Characters of an id on the line."),
    ("surfaces.cli.params", "DOCUMENT_LIMIT_BYTES", "A file of `lafs check`, before `--ndjson` splits it."),
    ("surfaces.cli.params", "BUNDLE_LIMIT_BYTES", "The file of `session import`."),
    ("surfaces.cli.params", "WORKFLOW_LIMIT_BYTES", "A workflow file named on the line."),
    ("surfaces.cli.files", "MOST_FILES", "Files below a directory that is named on the line."),
    ("surfaces.cli.files", "MOST_FOLDERS", "Directories below it."),
    ("surfaces.cli.refusal", "MOST_PROBLEMS", "Problems of one line that are told."),
    ("surfaces.cli.progress", "PATIENCE_SECONDS", "After this a long command begins to say how far it is."),
    ("surfaces.cli.hook", "SECONDS", "When `hook` gives up."),
    ("surfaces.cli.hook", "MOST_INPUT_BYTES", "What `hook` reads."),
    ("surfaces.cli.hook", "MOST_OUTPUT_BYTES", "What `hook` says."),
    ("runtime.check_lafs", "MOST_DOCUMENTS", "Documents of one `lafs check`."),
    ("runtime.check_lafs", "MAX_DOCUMENT_BYTES", "One document of it."),
    ("contract.conformance.profile", "MOST_FINDINGS", "Findings in one document."),
    ("runtime.selftest_store", "MOST_KILLS", "`--kills` of `store selftest`."),
    ("runtime.selftest_store", "MOST_SEED", "`--seed` of it."),
    ("runtime.validate_workflows", "MOST_TARGETS", "Targets of one `workflow validate`."),
    ("runtime.examined_workflows", "MOST_PROBLEMS", "Problems of a broken workflow that an error lists."),
    ("runtime.inspect_workflow", "PART_BYTES", "Steps, or changes, in `workflow inspect`."),
    (
        "runtime.inspect_workflow",
        "LONGEST_VALUE_BYTES",
        "One value in `workflow inspect --part diff`; of a longer one only the place is told.",
    ),
    ("runtime.inspect_workflow", "MOST_CHANGES", "Changes in `workflow inspect --part diff`."),
    ("runtime.simulate_workflow", "MOST_PATHS", "The largest `--max-paths`."),
    ("runtime.simulate_workflow", "MOST_STARTS", "The largest `--max-starts`."),
    ("runtime.simulate_workflow", "MAX_CASE_BYTES", "A regression case for `--replay`."),
    ("runtime.self_checks.storage_checks", "MOST_SESSIONS", "Sessions that `doctor` looks at."),
    ("runtime.self_checks.storage_checks", "OLD_KEY_DAYS", "Age of a key at which `doctor` warns."),
    ("runtime.self_checks.storage_checks", "LEAST_FREE_BYTES", "Free space below which `doctor` warns."),
    ("host.mcp_handshake", "TIMEOUT_SECONDS", "How long `doctor --checks mcp_protocol` waits."),
)
MCP: Rows = (
    ("surfaces.mcp.limits", "MAX_BYTES", "All names and texts of one call."),
    ("surfaces.mcp.limits", "MAX_DEPTH", "Objects and lists inside each other."),
    ("surfaces.mcp.limits", "MAX_MEMBERS", "Members of all objects and lists of one call."),
    ("surfaces.mcp.arguments", "MOST_FLAWS", "Wrong arguments that are told at once."),
    ("surfaces.mcp.calls", "LIST_BYTES", "A listing in a reply, before it is paged."),
    ("surfaces.mcp.introduction", "CALLS_AT_ONCE", "Calls that are worked on at once."),
    ("surfaces.mcp.introduction", "ANSWER_SECONDS", "How long a person may take to answer a question."),
    ("surfaces.mcp.introduction", "LISTING_LIFETIME_MS", "How long a client may keep a listing."),
    ("surfaces.mcp.messages", "FRAME_BYTES", "One line on stdin; a longer one is passed over and refused."),
    ("surfaces.mcp.messages", "BATCH_MESSAGES", "Messages of one list, where the revision has lists."),
    ("surfaces.mcp.under_way", "CALL_SECONDS", "After this a call is told that its outcome is unknown."),
    ("surfaces.mcp.under_way", "HANGING_CALLS", "Calls beyond their time that may go on in the background."),
    ("surfaces.mcp.under_way", "OWED_ANSWERS", "Requests without an answer, before reading waits."),
    ("surfaces.mcp.under_way", "OWED_BYTES", "What they have together."),
    ("surfaces.mcp.under_way", "LAST_ANSWERS_SECONDS", "How long answers may take after the input closed."),
    ("surfaces.mcp.resources", "LONGEST_URI", "Characters of an address."),
    ("surfaces.mcp.prompts", "LONGEST_ARGUMENT", "Characters of an argument of a prompt."),
    ("surfaces.mcp.prompts", "PROMPTS_PER_PAGE", "Prompts on a page."),
    ("surfaces.mcp.completion", "MOST_VALUES", "Completions in one answer."),
    ("surfaces.mcp.completion", "LOOKED_AT", "Names that are looked at for them."),
    ("surfaces.mcp.ask", "MOST_ENUM", "Words to choose from in a question to a person."),
)
WORKFLOWS: Rows = (
    ("workflows.limits", "MAX_SOURCE_BYTES", "A workflow file."),
    ("workflows.limits", "MAX_JSON_DEPTH", "Objects and lists inside each other in it."),
    ("workflows.limits", "MAX_PARTS", "Parts of a workflow, before and after templates are expanded."),
    ("workflows.limits", "MAX_LOOP_DEPTH", "Loops inside each other."),
    ("workflows.limits", "MAX_ITERATIONS", "Rounds of a loop."),
    ("workflows.limits", "MAX_INPUTS", "Inputs."),
    ("workflows.limits", "MAX_CONDITIONS", "Conditions."),
    ("workflows.limits", "MIN_OPTIONS", "Options that a choice has at least."),
    ("workflows.limits", "MAX_OPTIONS", "Options of a choice."),
    ("contract.tokens.workflow", "OPTION_LIMIT", "Options that tokens can name."),
    ("workflows.limits", "MAX_PROMPT_BYTES", "A prompt, as written and as rendered."),
    ("workflows.limits", "MAX_REF_BYTES", "A ref."),
    ("workflows.limits", "MAX_CONTRACT_SCHEMA_BYTES", "The schema of a contract."),
    ("workflows.limits", "MAX_WORKFLOW_ID_CHARACTERS", "Characters of a workflow's id."),
    ("workflows.limits", "MAX_ID_CHARACTERS", "Characters of every other id."),
    (
        "workflows.limits",
        "MAX_NAME_CHARACTERS",
        "Characters of the name of an input, a loop variable or a function.",
    ),
    ("workflows.limits", "MAX_TITLE_CHARACTERS", "Characters of a title."),
    ("workflows.limits", "MAX_VERSION_CHARACTERS", "Characters of a version."),
    ("workflows.limits", "MAX_DESCRIPTION_CHARACTERS", "Characters of a description."),
    ("workflows.limits", "MAX_TEXT_CHARACTERS", "Characters of every other text."),
    ("workflows.limits", "MAX_LIST_ITEMS", "Items of every other list and map."),
    ("workflows.limits", "MAX_PATTERN_CHARACTERS", "Characters of a pattern."),
    ("workflows.limits", "MAX_PATTERN_REPETITIONS", "Repetitions in a pattern."),
    ("workflows.limits", "MAX_PATTERN_COUNT", "The largest number in braces in a pattern."),
    ("workflows.limits", "MAX_PATTERN_SIZE", "Bytes of a compiled pattern."),
    ("workflows.limits", "MAX_PATTERN_WAYS", "Ways to match a pattern that is matched by trying."),
    ("workflows.limits", "MAX_NOTES_CHARACTERS", "The most notes that a rule can ask for."),
    ("workflows.limits", "MAX_PROBLEMS", "Problems listed for one file."),
    ("workflows.contract_check", "MAX_VIOLATIONS", "Violations of one artifact that are told."),
    ("engine.checks", "MOST_ISSUES", "Broken rules of one report that are told."),
    ("workflows.schema_subset", "MAX_DEPTH", "Schemas inside each other in a contract."),
    ("workflows.compiling.project_contracts", "MAX_CONTRACT_BYTES", "A contract file."),
    ("host.workflow_sources.directories", "MOST_FILES", "Files of one directory of workflows."),
    ("host.workflow_sources.directories", "MOST_FOLDERS", "Folders below one directory of workflows."),
    ("host.workflow_sources.git", "SECONDS", "How long `git` may take for one question."),
)
CHAPTERS = {
    "What an agent sends": REPORTS,
    "What an agent gets": REPLIES,
    "Reading": READING,
    "Changes": CHANGES,
    "The command line": COMMAND_LINE,
    "MCP": MCP,
    "Workflow files": WORKFLOWS,
}

INSIDE = {
    "contract.disclosure": ("MAX_EXPANSION_DEPTH",),
    "contract.estimate": ("MAX_DEPTH",),
    "contract.json_trouble": ("DEEPEST",),
    "contract.ledger": ("MAX_ENTRIES",),
    "contract.shape": ("LONGEST_NAME",),
    "contract.tokens.confirm": ("NONCE_BYTES",),
    "contract.wording": ("LONGEST_QUOTE",),
    "demo.processes": ("CALL_SECONDS", "MOMENT_SECONDS"),
    "demo.teller": ("CHAPTER_SECONDS", "CHECK_SECONDS"),
    "engine.bundles.lineage": ("KEY_LIMIT",),
    "engine.judged": ("MOST_GAPS_NAMED",),
    "engine.simulation.candidates": ("MOST_ITEMS",),
    "engine.simulation.made_reports": ("MOST_INVALID", "MOST_VARIANTS"),
    "event_log.sectors": ("SECTOR_BYTES",),
    "event_log.plan": ("DEDUPE_KEY_LIMIT",),
    "event_log.warm": ("MOST_KEYS", "MOST_SESSIONS"),
    "host.changed_files": ("SECONDS",),
    "host.workflow_sources.summary_cache": ("MOST_ENTRIES",),
    "runtime.client_setup.clients": ("HOOK_SECONDS",),
    "runtime.client_setup.edits": ("START_SECONDS",),
    "runtime.hot_sessions": ("LARGEST_WORKFLOW_BYTES", "MOST_EVENTS", "MOST_SESSIONS", "MOST_WORKFLOWS"),
    "runtime.list_events": ("MOST_INDEX",),
    "runtime.show_ledger": ("MOST_OFFSET",),
    "store_proof.crash_states": ("PAGE_BYTES", "SECTOR_BYTES"),
    "store_proof.nursery": ("WAIT_MS",),
    "store_proof.power_failures": ("MOST_PROBLEMS",),
    "store_proof.processes": ("LONGEST_SECONDS",),
    "surfaces.cli.render": ("WIDEST_MS",),
    "workflows.checking.advice": ("NEAR_BUDGET_BYTES",),
    "workflows.checking.satisfiable": ("MOST_TRIES",),
    "workflows.contract_check": ("MAX_VARIANTS",),
}
"""Limits that no caller can meet: caches, displays, and the program's own work."""

_UNITS = {"BYTES": "bytes", "SECONDS": "seconds", "MS": "ms", "DAYS": "days"}
_BYTES_WITHOUT_SAYING_SO = ("INFLATED_LIMIT",)


def limits_page() -> str:
    """The whole page."""
    chapters = (
        f"## {title}\n\n" + table(("what", "limit"), ([text, _value(*place)] for *place, text in rows))
        for title, rows in CHAPTERS.items()
    )
    return page(
        "# Limits",
        "Everything that a caller sends or gets has a limit.\n"
        "What is sent over a limit is refused, and nothing of it is stored.\n"
        "What is told over a limit is cut, and the answer says so.\n"
        "Bytes are of UTF-8.",
        *chapters,
    )


def _value(module: str, name: str) -> str:
    value = getattr(import_module(f"handrail.{module}"), name)
    unit = "bytes" if name in _BYTES_WITHOUT_SAYING_SO else _UNITS.get(name.rpartition("_")[2], "")
    return f"{value:,} {unit}".strip().replace(",", " ")
