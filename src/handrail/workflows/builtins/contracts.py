"""Builtin contracts: what artifacts must contain so that another party can check what they state.
Pure.

The schemas are flat and small, because an agent fills them in from memory of the example. Evidence
always names its source, the exact command or place, and what it showed. Handrail fills in
`readOnly` members itself (`engine/judge/computed.py`); `deprecated` ones are accepted, and no
prompt shows them.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from handrail.workflows.builtins.specs import ContractSpec
from handrail.workflows.evidence import Consistent, CoversChange, Evidence, PathExists, PlaceExists, Term

Schema: TypeAlias = dict[str, Any]

PREFIX = "wr.contracts."

_SENTENCE = 500
_PARAGRAPH = 2_000
_PLACE = 300
_MOST_ITEMS = 100


def _text(most: int) -> Schema:
    return {"type": "string", "minLength": 1, "maxLength": most, "pattern": r"\S"}


def _word(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


def _some(of: Schema, least: int = 0, most: int = _MOST_ITEMS) -> Schema:
    return {"type": "array", "items": of, "minItems": least, "maxItems": most}


def _closed(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    return {
        "type": "object",
        "properties": required | (optional or {}),
        "required": list(required),
        "additionalProperties": False,
    }


def _contract(
    name: str,
    *,
    title: str,
    summary: str,
    guidance: str,
    required: dict[str, Schema],
    optional: dict[str, Schema] | None = None,
    example: dict[str, Any],
    evidence: tuple[Evidence, ...] = (),
    is_open: bool = False,
) -> ContractSpec:
    kind = "wr." + name
    schema = _closed({"kind": {"const": kind}} | required, optional)
    if is_open:
        del schema["additionalProperties"]
    return ContractSpec(
        id=PREFIX + name,
        title=title,
        summary=summary,
        artifact_kind=kind,
        schema=schema,
        example={"kind": kind, **example},
        guidance=guidance,
        evidence=evidence,
    )


_LINE = _text(_SENTENCE)
_LINES = _some(_LINE)
_OLD_STATUS: Schema = {"type": "integer", "deprecated": True}
_OLD_RECEIPT: Schema = _text(64) | {"deprecated": True}
_EVIDENCE = _closed(
    {
        "source": _word("command", "file", "document", "user"),
        "ref": _text(_PLACE),
        "result": _text(_PARAGRAPH),
    },
    {"exitCode": _OLD_STATUS, "checkResultId": _OLD_RECEIPT},
)


def _check_places(rows: str) -> PlaceExists:
    """Return the rule that a place named by evidence of source `file` must exist."""
    return PlaceExists(at=f"{rows}/ref", where={"source": ("file",)})


_A_TEST_RUN = {
    "source": "command",
    "ref": "pytest tests/test_invoice.py -q",
    "result": "4 passed, 0 failed",
}
_A_PLACE = {
    "source": "file",
    "ref": "src/invoice.py:41",
    "result": "total() rounds each line before adding them up",
}

_CAPABILITY_OBSERVATION = _contract(
    "capability_observation",
    title="Capability observation",
    summary="The result of an attempt to use an optional capability of the agent's environment.",
    guidance="Report what you tried and what came back; write unknown only if the attempt itself failed.",
    required={
        "capability": _word("delegation", "web_browsing"),
        "status": _word("available", "unavailable", "unknown"),
        "summary": _LINE,
    },
    optional={"provenance": _word("probe_step", "attempted_use", "manual_claim"), "remedy": _LINE},
    example={
        "capability": "web_browsing",
        "status": "available",
        "summary": "Fetched https://example.org and read its title, Example Domain.",
        "provenance": "probe_step",
    },
)

_WORKFLOW_DIVERGENCE = _contract(
    "workflow_divergence",
    title="Divergence",
    summary="Which instruction of a step the agent did not follow on purpose, and why.",
    guidance="Say which instruction you did not follow, why, and what you did instead.",
    required={
        "reason": _word(
            "missing_user_context",
            "capability_unavailable",
            "efficiency_skip",
            "safety_stop",
            "policy_constraint",
        ),
        "summary": _text(_PARAGRAPH),
    },
    optional={"relatedStepId": _text(_PLACE)},
    example={
        "reason": "safety_stop",
        "summary": "Did not run the migration: the database in the settings is the live one. "
        "Wrote the statements to migrate.sql instead.",
        "relatedStepId": "migrate",
    },
)

_LOOP_CONTROL = _contract(
    "loop_control",
    title="Loop decision",
    summary="Whether the loop around this step continues or ends.",
    guidance="Decide continue or stop from what this iteration showed, and name that in the summary.",
    required={"decision": _word("continue", "stop")},
    optional={"loopId": _text(64), "summary": _text(_PARAGRAPH)},
    example={"decision": "stop", "summary": "All four findings are fixed and the last run found none."},
    is_open=True,
)

_GAP = _contract(
    "gap",
    title="Gap",
    summary="Something required that is missing, or the later closing of such a gap.",
    guidance="Name what is missing and what follows from it; resolvesGapId closes an earlier gap.",
    required={"severity": _word("info", "warning", "critical"), "summary": _text(_PARAGRAPH)},
    optional={"resolvesGapId": _text(_PLACE), "evidenceRefs": _some(_text(_PLACE), most=20)},
    example={
        "severity": "warning",
        "summary": "Upload limits above 2 GB were not tried: the disk has 1 GB free. "
        "The limit in the docs is therefore unproven.",
    },
)

_OWN_ROWS: Schema = {"type": "array", "items": {"type": "object"}, "readOnly": True}

_VERIFICATION_REPORT = _contract(
    "verification_report",
    title="Verification report",
    summary="Claims, each confirmed or refuted by evidence that somebody else can repeat.",
    guidance="Give every claim evidence from this step; list in notChecked what you did not check.",
    required={
        "verdict": _word("passed", "failed", "incomplete"),
        "claims": _some(
            _closed(
                {
                    "claim": _LINE,
                    "status": _word("confirmed", "refuted"),
                    "evidence": _some(_EVIDENCE, least=1, most=10),
                }
            ),
            least=1,
        ),
        "notChecked": _some(_closed({"what": _LINE, "why": _LINE})),
    },
    optional={"checks": _OWN_ROWS, "proofs": _OWN_ROWS},
    example={
        "verdict": "passed",
        "claims": [
            {
                "claim": "Invoices with a discount add up to the cent.",
                "status": "confirmed",
                "evidence": [_A_TEST_RUN],
            }
        ],
        "notChecked": [{"what": "Invoices in yen", "why": "No currency without decimals is configured."}],
    },
    evidence=(
        Consistent(
            when=Term(at="/verdict", equals="passed"),
            then=Term(at="/claims/*/status", differs="refuted"),
        ),
        _check_places("/claims/*/evidence/*"),
    ),
)

_REVIEW_FINDINGS = _contract(
    "review_findings",
    title="Review findings",
    summary="What a review found, how bad it is, how it was proved and how it can be fixed.",
    guidance="Each finding needs a place, evidence and the smallest fix; name what you did not review.",
    required={
        "verdict": _word("approve", "approve_after_changes", "reject"),
        "findings": _some(
            _closed(
                {
                    "title": _LINE,
                    "severity": _word("blocker", "major", "minor", "question"),
                    "problem": _text(_PARAGRAPH),
                    "evidence": _some(_EVIDENCE, least=1, most=10),
                    "suggestion": _text(_PARAGRAPH),
                },
                {"file": _text(_PLACE), "line": {"type": "integer", "minimum": 1}},
            )
        ),
        "reviewed": _some(_text(_PLACE), least=1),
        "notReviewed": _some(_text(_PLACE)),
    },
    example={
        "verdict": "approve_after_changes",
        "findings": [
            {
                "title": "Rounding happens per line",
                "severity": "major",
                "problem": "Three lines of 0.333 add up to 0.99 instead of 1.00.",
                "evidence": [_A_PLACE],
                "suggestion": "Round once, after the sum.",
                "file": "src/invoice.py",
                "line": 41,
            }
        ],
        "reviewed": ["src/invoice.py", "tests/test_invoice.py"],
        "notReviewed": ["src/generated/"],
    },
    evidence=(
        Consistent(
            when=Term(at="/verdict", equals="approve"),
            then=Term(at="/findings/*/severity", differs="blocker"),
        ),
        PlaceExists(at="/findings/*/file", line="line"),
        PathExists(at="/reviewed/*", demand="shown"),
        CoversChange(at=("/reviewed/*", "/notReviewed/*")),
        _check_places("/findings/*/evidence/*"),
    ),
)

_COUNT: Schema = {"type": "integer", "readOnly": True}
_REASONS: Schema = {
    "type": ["string", "object"],
    "minLength": 1,
    "maxLength": _PARAGRAPH,
    "pattern": r"\S",
    "additionalProperties": _LINE,
}
"""One sentence, or one for each file by its path."""
_COMPUTED_LIST: dict[str, Schema] = {
    "files": _OWN_ROWS,
    "filesTotal": _COUNT,
    "linesAdded": _COUNT,
    "linesRemoved": _COUNT,
    "source": _word("observed", "stated") | {"readOnly": True},
    "checks": _OWN_ROWS,
}
_OLD_LIST: dict[str, Schema] = {"leftOut": {"type": "array", "deprecated": True}}


_CHANGED_FILES = _contract(
    "changed_files",
    title="Changed files",
    summary="Why files changed; Handrail adds which ones, and what it executed.",
    guidance="Say why the files changed, in one sentence or in one for each path; Handrail lists the files.",
    required={"why": _REASONS},
    optional=_COMPUTED_LIST | _OLD_LIST,
    example={"why": "Totals are rounded once, after the sum; a test covers three lines of 0.333."},
)

_BUG_FIX = _contract(
    "bug_fix",
    title="Bug fix",
    summary="Why files changed to remove a cause; Handrail adds which ones, and what it executed.",
    guidance="Say how the change removes the cause, in one sentence or in one for each path.",
    required={"why": _REASONS},
    optional=_COMPUTED_LIST | _OLD_LIST | {"guard": _text(_PLACE) | {"deprecated": True}},
    example={"why": "Totals are rounded once, after the sum; a test covers three lines of 0.333."},
)

_REPRODUCTION = _contract(
    "reproduction",
    title="Reproduction",
    summary="The command that shows a bug: what was expected, what happened, and how often.",
    guidance="Give the command that shows the bug as you ran it, and its output; later steps run it again.",
    required={
        "command": _text(_PLACE),
        "expected": _LINE,
        "actual": _LINE,
        "happens": _word("always", "sometimes", "not_yet"),
    },
    optional={"dependsOn": _LINE, "exitCode": _OLD_STATUS, "checkResultId": _OLD_RECEIPT},
    example={
        "command": "python -m billing total 0.333 0.333 0.333",
        "expected": "It prints 1.00.",
        "actual": "It prints 0.99.",
        "happens": "always",
    },
)

_CAUSE = _contract(
    "cause",
    title="Cause",
    summary="Why a bug happens, where, and the experiments that could have shown otherwise.",
    guidance="State a cause that could be false; each experiment says what you predicted and what you saw.",
    required={
        "cause": _text(_PARAGRAPH),
        "place": _text(_PLACE),
        "experiments": _some(_closed({"change": _LINE, "predicted": _LINE, "seen": _LINE}), least=2, most=10),
        "rivals": _some(_closed({"cause": _LINE, "ruledOutBy": _LINE}), least=1, most=10),
        "sameMistake": _some(_text(_PLACE), most=50),
    },
    example={
        "cause": "Each row is rounded before the sum, so up to half a cent is lost per row.",
        "place": "src/invoice.py:41",
        "experiments": [
            {"change": "Round after the sum", "predicted": "It prints 1.00.", "seen": "It printed 1.00."},
            {"change": "Six rows of 0.333", "predicted": "It loses two cents.", "seen": "It printed 1.98."},
        ],
        "rivals": [
            {"cause": "The tax table is wrong", "ruledOutBy": "The same with a rate of zero percent."}
        ],
        "sameMistake": [],
    },
    evidence=(PlaceExists(at="/place"), PlaceExists(at="/sameMistake/*", demand="shown")),
)

_DECISION = _contract(
    "decision",
    title="Decision",
    summary="A question, the options with the advantages and drawbacks of each, and the choice.",
    guidance="Give at least two real options, a drawback of the chosen one, and when to reconsider it.",
    required={
        "question": _LINE,
        "options": _some(
            _closed(
                {
                    "id": _text(64),
                    "description": _LINE,
                    "advantages": _some(_LINE, least=1, most=10),
                    "drawbacks": _some(_LINE, least=1, most=10),
                }
            ),
            least=2,
            most=10,
        ),
        "chosen": _text(64),
        "rationale": _text(_PARAGRAPH),
        "decidedBy": _word("user", "agent"),
        "revisitWhen": _LINE,
    },
    example={
        "question": "Where is the rounding done?",
        "options": [
            {
                "id": "after_sum",
                "description": "Once, after the sum",
                "advantages": ["The total is exact to the cent."],
                "drawbacks": ["Printed lines can differ from the total by a cent."],
            },
            {
                "id": "per_line",
                "description": "On every line",
                "advantages": ["Printed lines add up."],
                "drawbacks": ["The total drifts with the number of lines."],
            },
        ],
        "chosen": "after_sum",
        "rationale": "The tax office checks the total; src/tax.py:12 says so.",
        "decidedBy": "agent",
        "revisitWhen": "A customer needs printed lines that add up.",
    },
)

_PLAN = _contract(
    "plan",
    title="Plan",
    summary="A goal in slices that each end in a check, with what is left out and what could go wrong.",
    guidance="Each slice can be checked on its own; doneWhen is what another person can observe.",
    required={
        "goal": _LINE,
        "outOfScope": _LINES,
        "slices": _some(
            _closed(
                {"id": _text(64), "what": _text(_PARAGRAPH), "doneWhen": _LINE, "check": _LINE},
                {"files": _some(_text(_PLACE)), "dependsOn": _some(_text(64), most=20)},
            ),
            least=1,
            most=50,
        ),
        "risks": _some(_closed({"risk": _LINE, "response": _LINE}), most=20),
        "openQuestions": _some(_LINE, most=20),
    },
    example={
        "goal": "Invoices add up to the cent.",
        "outOfScope": ["Currencies without decimals"],
        "slices": [
            {
                "id": "round_once",
                "what": "Move the rounding behind the sum.",
                "doneWhen": "Three lines of 0.333 add up to 1.00.",
                "check": "pytest tests/test_invoice.py -q",
                "files": ["src/invoice.py", "tests/test_invoice.py"],
            }
        ],
        "risks": [
            {"risk": "Stored totals differ from new ones.", "response": "Compare both on last month's data."}
        ],
        "openQuestions": [],
    },
    evidence=(PathExists(at="/slices/*/files/*", demand="shown"),),
)

_ASSESSMENT = _contract(
    "assessment",
    title="Assessment",
    summary="The level of each dimension of a declared assessment, with the reason.",
    guidance="Give every dimension one of its declared levels, and say in the rationale what you saw.",
    required={
        "assessmentId": _text(_PLACE),
        "dimensions": {"type": "object", "additionalProperties": _text(64)},
    },
    optional={"rationale": _text(_PARAGRAPH)},
    example={
        "assessmentId": "readiness",
        "dimensions": {"evidence": "high", "coverage": "medium"},
        "rationale": "Every claim has a command; the error path of upload has none yet.",
    },
    is_open=True,
)

_HANDOFF = _contract(
    "handoff",
    title="Handoff",
    summary="What was delivered, how it was checked, what is open, and what to do next.",
    guidance="Write for somebody without this chat: places, commands, open points, most important first.",
    required={
        "status": _word("done", "done_with_gaps", "stopped"),
        "summary": _text(_PARAGRAPH),
        "delivered": _some(_closed({"what": _LINE, "where": _text(_PLACE)})),
        "evidence": _some(_EVIDENCE, least=1, most=50),
        "openPoints": _some(_closed({"what": _LINE, "why": _LINE, "next": _LINE}), most=50),
    },
    example={
        "status": "done_with_gaps",
        "summary": "Invoices add up to the cent; currencies without decimals are still open.",
        "delivered": [{"what": "Rounding after the sum", "where": "src/invoice.py:41"}],
        "evidence": [_A_TEST_RUN],
        "openPoints": [
            {
                "what": "Yen invoices",
                "why": "No such currency is configured in the test data.",
                "next": "Add a yen customer to tests/data and run the same tests.",
            }
        ],
    },
    evidence=(
        _check_places("/evidence/*"),
        PlaceExists(at="/delivered/*/where", demand="shown"),
    ),
)

_ANSWERS = ["string", "number", "boolean", "array", "object"]

_USER_INPUT = _contract(
    "user_input",
    title="User input",
    summary="The user's own answer to what only the user can give.",
    guidance="Ask the user and send the answer as it was given; never answer for them.",
    required={"answer": {"type": _ANSWERS}, "givenBy": {"const": "user"}},
    example={"answer": "<what the user said>", "givenBy": "user"},
    is_open=True,
)

CONTRACTS: tuple[ContractSpec, ...] = (
    _ASSESSMENT,
    _BUG_FIX,
    _CAPABILITY_OBSERVATION,
    _CAUSE,
    _CHANGED_FILES,
    _DECISION,
    _GAP,
    _HANDOFF,
    _LOOP_CONTROL,
    _PLAN,
    _REPRODUCTION,
    _REVIEW_FINDINGS,
    _USER_INPUT,
    _VERIFICATION_REPORT,
    _WORKFLOW_DIVERGENCE,
)
