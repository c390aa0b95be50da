"""Which promise answers each sentence of CLI, in its order: one answer per sentence, bullet or table row.

A tuple names promises; a text says why a sentence asks nothing of this product, or how the design differs.
"""

from __future__ import annotations

from tests.journeys.promises.sentences import HEADER, READING, Answered

WHY = "Gives the reason for a rule that has its own row."
AGENT = "Binds the agent; what we owe it is in the rows beside it."
TEMPLATE = "About the repository of the specification's own template; ours is generated from one catalogue."
BINARY = (
    "About a standalone binary; every install of ours belongs to a manager, which verifies what it replaces."
)
UPSTREAM = "About a bulk endpoint with a limit; our targets are in the store, one loop for all."
SINGLE_USER = "A store belongs to one user, so there is no wider actor to bind a query to."
STATIC = "Our keys neither expire nor are renewed, so the pattern does not apply."
SYNCHRONOUS = "Every command answers when it is done, so the pattern does not apply."
NO_HUMAN_STEP = "No call stops half way for a person; the code is declared and reserved."
EXAMPLE = "An example of the template's own tools."
POLICY = "About how releases are made: the record of evidence decides, and no level is typed by hand."

Places = dict[str, Answered]


def answers_at(place: str, *answers: Answered) -> Places:
    """The answers to the sentences of one place, counted from 1."""
    return {f"{place} #{number}": answer for number, answer in enumerate(answers, 1)}


_ONE = ("cli.one-document",)
_EXITS = ("cli.exits",)
_UPSTREAM = ("cli.upstream",)
_TOKEN = ("cli.token-binds", "cli.spelling-no-scope")
_READY = ("cli.readiness",)
_COVERED = ("cli.covered",)
_ITEMS = ("cli.batch-items",)

ANSWERS: Places = {
    **answers_at("0", READING, ("cli.never-waits", "cli.codes-stable")),
    **answers_at(
        "1",
        HEADER,
        _ONE,
        ("cli.stderr",),
        ("cli.json-default", "cli.text", "cli.raw"),
        ("cli.never-waits", "cli.dry-run"),
        ("cli.deterministic", "cli.envelope"),
        ("cli.reads-change-nothing", "cli.write-needs-token"),
        ("cli.codes-stable",),
    ),
    **answers_at(
        "2",
        HEADER,
        ("cli.json-default",),
        ("cli.format-spellings",),
        ("cli.fields", "cli.flags-everywhere"),
        ("cli.compact",),
        ("cli.dry-run",),
        ("cli.dry-run",),
        ("cli.quiet", "cli.update-one-call"),
        ("cli.update-look", "cli.update-no-gate"),
        HEADER,
        ("cli.json-default",),
        ("cli.text",),
        ("cli.raw",),
    ),
    **answers_at(
        "3",
        ("cli.envelope",),
        AGENT,
        HEADER,
        ("cli.envelope",),
        ("cli.envelope",),
        ("cli.error",),
        AGENT,
        ("cli.error", "cli.details-redacted"),
        ("cli.error", "cli.exits"),
        ("cli.envelope",),
        ("cli.envelope",),
        ("cli.notices", "cli.no-call-home"),
        ("cli.notices",),
        ("cli.notices",),
        READING,
        ("cli.schema-version",),
    ),
    **answers_at(
        "3.1",
        ("cli.contract-published",),
        ("cli.contract-published",),
        TEMPLATE,
        TEMPLATE,
        TEMPLATE,
        ("cli.core-frozen",),
        ("cli.extension",),
        WHY,
        ("cli.envelope", "cli.core-frozen"),
        ("cli.contract-held",),
        ("cli.contract-held",),
    ),
    **answers_at("4", HEADER, _ONE, ("cli.stderr",), _ONE, ("cli.quiet",), _ONE, ("cli.utf8",)),
    **answers_at(
        "5",
        ("cli.stream",),
        ("cli.stream",),
        ("cli.stream",),
        ("cli.stream",),
        ("cli.stream",),
        ("cli.stream", "cli.stream-broken"),
        ("cli.raw",),
    ),
    **answers_at(
        "6",
        HEADER,
        *[_EXITS] * 9,
        ("cli.reserved", "cli.exits"),
        *[_EXITS] * 7,
        ("cli.integrity", "cli.update-integrity"),
        ("cli.disk",),
        ("cli.interrupted",),
        ("cli.reserved", "cli.upstream"),
        *[_UPSTREAM] * 8,
        ("cli.one-table", "cli.upstream"),
        ("cli.reserved",),
    ),
    **answers_at(
        "7",
        ("cli.dry-run",),
        _TOKEN,
        ("cli.token-keyed", "cli.key-private"),
        ("cli.token-version",),
        ("cli.token-expires", "cli.ids-and-times"),
        ("cli.token-reasons", "cli.token-expires", "cli.token-version"),
        ("cli.write-needs-token",),
        ("cli.dry-run", "cli.write-needs-token"),
    ),
    **answers_at(
        "8",
        HEADER,
        ("cli.fields", "cli.dotted-fields"),
        ("cli.compact",),
        ("cli.paging",),
        ("cli.paging",),
        ("cli.offset", "cli.truncated"),  # the design wins: next_offset is null on the last page, not absent
        HEADER,
        ("cli.ids-and-times",),
        ("cli.ids-and-times",),
        ("cli.paging", "cli.sort-declared"),
        ("cli.no-question",),
    ),
    **answers_at("8.1", ("cli.filters",), WHY, ("cli.filters",)),
    **answers_at("8.2", ("cli.heavy",), ("cli.heavy",), ("cli.heavy", "cli.expand"), WHY),
    **answers_at("8.3", ("cli.fan-out",), ("cli.fan-out",), ("cli.heavy",), SINGLE_USER),
    **answers_at(
        "9",
        HEADER,
        ("cli.create-key",),
        ("cli.key-in-scope",),
        ("cli.create-key", "start.request-id"),
        ("cli.token-version",),
        ("cli.token-version",),
        ("cli.single-use", "cli.claims-pruned"),
        ("cli.single-use", "cli.what-is-left"),
        WHY,
        ("cli.claim-first",),
        ("cli.claim-lost",),
        _ITEMS,
        "A shape of its own that section 15.5 replaces; the contract and the design keep that of 15.5.",
    ),
    **answers_at(
        "10",
        HEADER,
        ("cli.secrets",),
        ("cli.secrets",),
        ("cli.secrets", "cli.credentials-boolean"),
        ("cli.credentials-boolean",),
        ("cli.audit",),
        ("cli.audit-quiet",),
    ),
    **answers_at("11", HEADER),
    **answers_at(
        "11 reference",
        ("cli.reference",),
        ("cli.schemas",),
        ("cli.schemas", "cli.untrusted"),
        ("cli.examples",),
        ("cli.schemas", "cli.examples"),
        _READY,
        ("cli.readiness-told",),
        *[_READY] * 6,
    ),
    **answers_at("11 context", ("cli.context", "cli.always-answers")),
    **answers_at(
        "11 doctor",
        ("cli.doctor",),
        ("cli.readiness-told",),
        ("cli.readiness-told",),
        ("cli.doctor", "cli.readiness-told"),
    ),
    **answers_at(
        "11 changelog",
        ("cli.changelog",),
        WHY,
        HEADER,
        ("cli.changelog",),
        ("cli.changelog",),
        ("cli.changelog-since",),
        ("cli.changelog",),
        ("cli.update-one-call",),
    ),
    **answers_at(
        "12",
        HEADER,
        ("cli.names",),
        ("cli.flags-everywhere",),
        ("cli.flags-everywhere", "cli.write-needs-token"),
        ("cli.names",),
        ("cli.help-as-data",),
        ("cli.ids-and-times",),
        ("cli.envelope",),
        ("cli.params",),
    ),
    **answers_at(
        "13",
        _COVERED,
        POLICY,
        HEADER,
        ("cli.pages-run",),
        _COVERED,
        ("cli.covered", "cli.schemas", "cli.exits"),
        ("cli.secrets", "cli.untrusted", "cli.project-settings", "cli.secret-variable"),
        HEADER,
        ("cli.schemas",),
        _EXITS,
        ("cli.exits", "cli.ceiling"),
        ("cli.upstream", "cli.timeout"),
        ("cli.schemas", "cli.one-document"),
        ("cli.never-waits", "cli.write-needs-token"),
        POLICY,
        HEADER,
        ("cli.covered", "cli.flags-everywhere"),
        _COVERED,
        POLICY,
        _READY,
        _COVERED,
        _READY,
        POLICY,
        POLICY,
    ),
    **answers_at("13 Release", READING, _READY, _READY, _READY, ("cli.readiness-told",), _READY),
    **answers_at(
        "14",
        HEADER,
        ("cli.schema-version", "cli.version"),
        ("cli.schema-version",),
        ("cli.schema-version",),
        ("cli.deprecated",),
        ("cli.aliases",),
        AGENT,
    ),
    **answers_at("14 Version", WHY, ("cli.version",), ("cli.skill-minimum",), ("cli.skill-minimum",)),
}
