"""docs/reference/limits.md: the limits that callers meet most, with the values that the code has now."""

from __future__ import annotations

from importlib import import_module

from tools.page_parts import listing, page

CHAPTERS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "What an agent sends": (
        ("operations.report", "NOTES_LIMIT_BYTES", "Notes of one step."),
        ("operations.report", "MOST_ARTIFACTS", "Artifacts in one call."),
        ("operations.report", "ARTIFACT_LIMIT_BYTES", "One artifact."),
        ("operations.report", "ARTIFACTS_LIMIT_BYTES", "All artifacts of one call together."),
        ("operations.report", "CONTEXT_LIMIT_BYTES", "The context of a run."),
        (
            "contract.json.strict",
            "DEPTH_LIMIT",
            "Objects and lists inside each other, in any JSON that is read.",
        ),
        ("operations.checks.run_check", "DEFAULT_SECONDS", "Seconds of a check, unless it says otherwise."),
        ("operations.checks.run_check", "MOST_SECONDS", "Seconds that a check may ask for."),
        ("contract.dsse", "MOST_BYTES", "A file with a receipt."),
        ("host.settings", "MOST_CHECKS", "Checks of a project."),
        ("surfaces.mcp.arguments", "MAX_BYTES", "All names and texts of one call."),
    ),
    "What an agent gets": (
        ("engine.reasons", "MOST_BLOCKERS", "Reasons in one blocked reply."),
        (
            "engine.facts",
            "RECAP_EXCERPT_BYTES",
            "Notes of one step in a recap, or of a blocked attempt in the next.",
        ),
        (
            "projections.recap",
            "RECAP_BUDGET_BYTES",
            "The recap of a run, as encoded: entries, branches and what followed on them.",
        ),
        ("surfaces.mcp.results", "LIST_BYTES", "A listing in a reply, before it is paged."),
    ),
    "Changes": (
        ("contract.tokens.confirm", "LIFETIME_SECONDS", "How long a confirm token works."),
        ("contract.tokens.continuation", "LIFETIME_SECONDS", "How long a continuation token works."),
        ("runtime.batch", "MOST_TARGETS", "Targets of one change."),
        ("engine.bundles.limits", "MOST_BYTES", "A bundle, written and read."),
        ("engine.bundles.limits", "MOST_EVENTS", "Events in a bundle."),
        ("engine.bundles.limits", "MOST_DEPTH", "Objects and lists inside each other in a bundle."),
        ("engine.bundles.limits", "MOST_VALUES", "JSON values in a bundle."),
        ("engine.bundles.limits", "MOST_CONTRACT_PLACES", "Places in the schemas of all its contracts."),
        ("engine.bundles.limits", "MOST_FOLDED", "Values that folding its events copies."),
    ),
    "Files of a project": (
        (
            "ports.worktree",
            "MOST_FILES",
            "Files of a project that code tools list; of a larger one they list none.",
        ),
        (
            "worktree.take",
            "MOST_FILE_BYTES",
            "A file that is in no commit; a larger one is left out of a tree.",
        ),
        ("operations.code.show_diff", "MOST_DIFF_BYTES", "Its lines."),
        ("ports.trees", "MOST_WRITTEN_BYTES", "A file that a restore brings back."),
    ),
    "The command line": (
        ("surfaces.cli.rendering.render", "TIMEOUT_SECONDS", "When a command gives up without `--timeout`."),
        ("contract.envelopes.cli", "MOST_SECONDS", "The longest `--timeout`."),
        ("surfaces.cli.reading.parse", "INPUT_LIMIT_BYTES", "`--input`, a JSON flag, a notes file."),
        (
            "surfaces.cli.reading.params",
            "DOCUMENT_LIMIT_BYTES",
            "A file of `lafs check`, before `--ndjson` splits it.",
        ),
        ("surfaces.cli.hook", "SECONDS", "When `hook` gives up."),
        ("surfaces.cli.hook", "MOST_OUTPUT_BYTES", "What `hook` says."),
    ),
    "HTTP": (
        ("handrail_serve.limits", "MOST_BODY_BYTES", "The body of a request."),
        ("handrail_serve.limits", "MOST_BUNDLE_BYTES", "The body of a request that imports a bundle."),
        ("handrail_serve.limits", "MOST_HEADER_BYTES", "The headers of a request."),
        ("handrail_serve.limits", "MOST_URL_BYTES", "The address of a request."),
        ("handrail_serve.limits", "MOST_VIEW_BYTES", "One page of the Console; a list has fewer rows then."),
        ("handrail_serve.limits", "MOST_MEMBERS", "Values in all objects and lists of a body."),
        ("handrail_serve.limits", "REQUESTS_AT_ONCE", "Requests that are worked on at once."),
        ("handrail_serve.limits", "CONNECTIONS_AT_ONCE", "Connections that are open at once."),
        (
            "handrail_serve.limits",
            "IDLE_OF_AN_ADDRESS",
            "Those of one address without a request in progress.",
        ),
        ("handrail_serve.limits", "REQUEST_SECONDS", "Seconds of a request, its body included."),
        ("handrail_serve.limits", "OPERATION_SECONDS", "After this many an operation is asked to end."),
        ("handrail_serve.limits", "FEEDS_AT_ONCE", "Feeds that are open at once."),
        ("handrail_serve.limits", "IDLE_SECONDS", "Seconds that an idle connection stays open."),
        (
            "handrail_serve.limits",
            "DRAIN_SECONDS",
            "Seconds that running requests have when the server stops.",
        ),
        ("handrail_serve.limits", "CUT_SECONDS", "Seconds in which they are answered after a second signal."),
    ),
    "Workflow files": (
        ("workflows.limits", "MAX_SOURCE_BYTES", "A workflow file."),
        ("workflows.limits", "MAX_PARTS", "Parts of a workflow, before and after templates are expanded."),
        ("workflows.limits", "MAX_LOOP_DEPTH", "Loops inside each other."),
        ("workflows.limits", "MAX_ITERATIONS", "Rounds of a loop."),
        ("workflows.limits", "MAX_CHILDREN", "Child runs of one step."),
        ("workflows.limits", "MAX_RUN_CHILDREN", "Child runs of all steps of one run."),
        ("workflows.limits", "MAX_CHILD_DEPTH", "Levels of child runs below a run."),
        ("workflows.limits", "MAX_INPUTS", "Inputs."),
        ("workflows.limits", "MAX_CONDITIONS", "Conditions."),
        ("workflows.limits", "MAX_OPTIONS", "Options of a choice."),
        ("workflows.limits", "MOST_ACTIONS", "Actions that one call runs by itself."),
        ("workflows.limits", "MAX_PROMPT_BYTES", "A prompt, as written and as rendered."),
        ("workflows.limits", "MAX_CONTRACT_SCHEMA_BYTES", "The schema of a contract."),
        ("workflows.limits", "MAX_ID_CHARACTERS", "Characters of every other id."),
        ("workflows.limits", "MAX_TITLE_CHARACTERS", "Characters of a title."),
        ("workflows.limits", "MAX_TEXT_CHARACTERS", "Characters of every other text."),
        ("workflows.limits", "MAX_LIST_ITEMS", "Items of every other list and map."),
        ("workflows.limits", "MAX_PATTERN_CHARACTERS", "Characters of a pattern."),
    ),
    "Work that is counted": (
        ("workflows.limits", "MAX_MOVE_PLACES", "Rounds, skipped parts and comparisons between two steps."),
        ("workflows.limits", "MAX_COMPARISONS", "Comparisons of one condition."),
        (
            "workflows.limits",
            "MAX_READ_COMPARISONS",
            "Comparisons of a workflow, each as often as it is named.",
        ),
        ("workflows.limits", "MAX_SCHEMA_PLACES", "Values inside a schema, with every reference followed."),
        ("workflows.limits", "MAX_CONTRACT_PLACES", "The same in all contracts of one workflow together."),
        ("workflows.limits", "MAX_CHECK_WORK", "Places of a schema times values of the document."),
        (
            "workflows.limits",
            "MAX_LISTED_WORK",
            "The same, if every violation is listed and not only the first.",
        ),
        ("workflows.limits", "MAX_MATCH_WORK", "What the patterns of one step may try on its notes."),
        ("workflows.limits", "MAX_RULES", "Patterns and schemas in the rules of a workflow."),
        (
            "workflows.limits",
            "MAX_FILLED_BYTES",
            "All values that are put into one prompt; later names stay.",
        ),
        ("workflows.limits", "MAX_SIMULATION_WORK", "Places and values to try of one simulation."),
        (
            "workflows.limits",
            "MAX_TRIED_COMPARISONS",
            "Comparisons made to see whether conditions can ever hold.",
        ),
    ),
    "A server of a team": (
        ("handrail_serve.limits", "TEAM_FEEDS_AT_ONCE", "Feeds that are open on one server."),
        ("handrail_team.accounts.credentials", "SHORTEST_PASSPHRASE", "Characters of a passphrase at least."),
        ("handrail_team.accounts.credentials", "LONGEST_PASSPHRASE", "Characters of a passphrase at most."),
        ("handrail_team.accounts.directory", "INVITATION_SECONDS", "How long an invitation is good."),
        ("handrail_team.operations.new_token", "DAYS", "How long a token of an agent is good by default."),
        ("handrail_team.operations.new_token", "MOST_DAYS", "How long it can be good."),
        (
            "handrail_team.service",
            "CALLS_OF_A_WORKSPACE",
            "Times `limits.callsAMinute`: calls of one workspace.",
        ),
        (
            "handrail_team.accounts.throttling",
            "FREE_TRIES",
            "Wrong passphrases in a row before the next one has to wait.",
        ),
        ("handrail_team.accounts.throttling", "LONGEST_WAIT_S", "The longest such wait, in seconds."),
    ),
}
"""Module below `handrail`, name, and what it limits."""

_UNITS = {"BYTES": "bytes", "SECONDS": "seconds", "MS": "ms", "DAYS": "days"}


def limits_page() -> str:
    """The whole page."""
    chapters = (
        f"## {title}\n\n" + listing((_value(*place), "", text) for *place, text in rows)
        for title, rows in CHAPTERS.items()
    )
    return page(
        "# Limits",
        "The limits that callers meet most.\n"
        "Handrail rejects what is sent over a limit, and stores nothing of it.\n"
        "An answer over a limit is cut, and it says so.\n"
        "Bytes are of UTF-8.",
        *chapters,
    )


def _value(module: str, name: str) -> str:
    value = getattr(import_module(module if module.startswith("handrail_") else f"handrail.{module}"), name)
    unit = _UNITS.get(name.rpartition("_")[2], "")
    return f"{value:,} {unit}".strip().replace(",", " ")
