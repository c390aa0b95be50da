"""What a run showed about a file snapshot, as an in-toto test result that others can verify. Pure.

The subject is a git tree, so the statement holds for every commit with the same files: after an amend, a
squash or a merge. The predicate is the in-toto test result (v0.1). What Handrail adds is in its member
`handrailRun`, which other readers ignore. Handrail judges nothing again here: proofs are quoted as they
were recorded, approvals with the person who gave them, and reports as statements of the agent.
"""

# Annotations are not strings here: msgspec would compile each of them again in every process.

import re
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from handrail.contract.credential_files import holds_credentials
from handrail.contract.dsse import STATEMENT_TYPE
from handrail.contract.json.canonical import digest
from handrail.contract.wording import make_readable, name_person
from handrail.engine.children.joins import list_parts
from handrail.engine.events import AnswerSource, ConfirmationRecorded
from handrail.engine.facts import notes_at
from handrail.engine.history import (
    History,
    RecordedProof,
    Run,
    attached_to,
    gaps_at,
    instance_of,
    list_confirmations,
    list_proofs,
    way_to,
)
from handrail.engine.judge.proofs import NO_CHECK, choose_for_step, find_base
from handrail.engine.messages import explain_gap
from handrail.engine.navigate import step_key
from handrail.engine.owners import is_imported
from handrail.engine.tips import open_gaps
from handrail.evidence.proof import LABELS, Proof, ProofWord
from handrail.evidence.rendering import describe
from handrail.projections.run_graph import completed_step, run_graph

TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
MOST_ROWS = 100
"""Most proofs, approvals, steps and gaps of each kind."""
MOST_PARTS = 64
"""Most child runs."""
LONGEST_TEXT = 200
CAVEAT = (
    "Anyone who can use the account that holds the key can sign. A proof says what the declared check showed "
    "on these files, not that its tests are good. Handrail does not vouch for what is stated."
)


class StatedProof(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A proof as it was recorded, in words and table cells."""

    sentence: str
    """The word and what it means here."""
    proof: Proof
    at: str
    machine: str = ""
    """Where it was executed; empty for the machine that recorded it."""
    child: str = ""
    """The child run that proved it; empty for the run itself."""
    is_since_start: bool = True
    """Whether the change that it proves begins where the run began."""


class Approval(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An approval that a person gave where an agent cannot."""

    who: str
    source: AnswerSource
    what: str
    """Such as "approved the report of fix"."""
    note: str = ""
    at: str = ""
    child: str = ""


class StatedStep(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A step that was done, and what the agent stated about it."""

    step: str
    stated: str = ""
    """The beginning of its notes."""
    artifacts: tuple[str, ...] = ()
    """The kinds of artifacts that the report contained."""
    child: str = ""
    is_imported: bool = False
    """Whether another store recorded it."""


class WorkflowOfRun(msgspec.Struct, frozen=True, kw_only=True):
    """The workflow that the run follows."""

    id: str
    hash: str


class StatedRun(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What Handrail states about the files: the member `handrailRun` of the predicate."""

    v: Literal[2]
    handrail: str
    made_at: str
    commit: str
    """The commit that contained these files when the receipt was made."""
    word: ProofWord
    sentence: str
    session: str
    run: str
    workflow: WorkflowOfRun
    status: str
    proofs: tuple[StatedProof, ...] = ()
    approvals: tuple[Approval, ...] = ()
    steps: tuple[StatedStep, ...] = ()
    open_gaps: tuple[str, ...] = ()
    says: str = CAVEAT


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What the statement is about."""

    project: str
    """Name of the project, without its path."""
    tree: str
    """Git's id of the files of the project's folder."""
    commit: str


def state_run(history: History, run: Run, subject: Subject, made_at: str, version: str) -> dict[str, Any]:
    """Return the statement of a run about a tree."""
    parts = [("", run), *list_all_parts(history, run)]
    proofs = [one for name, part in parts for one in _list_proofs(history, part, name, subject.tree)]
    word = choose_for_step([one.proof for one in proofs]) or "not_tried"
    graph = run_graph(history, run.run_id)
    stated = StatedRun(
        v=2,
        handrail=version,
        made_at=made_at,
        commit=subject.commit,
        word=word,
        sentence=_describe_word(history, parts, proofs, word),
        session=history.session_id,
        run=run.run_id,
        workflow=WorkflowOfRun(id=run.workflow_id, hash=run.workflow_hash),
        status=graph.status,
        proofs=tuple(proofs[:MOST_ROWS]),
        approvals=tuple(one for name, part in parts for one in _list_approvals(history, part, name))[
            :MOST_ROWS
        ],
        steps=tuple(one for name, part in parts for one in _list_steps(history, part, name))[:MOST_ROWS],
        open_gaps=tuple(_cut(explain_gap(gap)) for gap in open_gaps(history, graph.preferred_tip))[
            :MOST_ROWS
        ],
    )
    ended = [(name_proof(one), one.proof.cells.tests_after_code_after.state) for one in proofs]
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": subject.project, "digest": {"gitTree": subject.tree}}],
        "predicateType": TEST_RESULT,
        "predicate": {
            "result": _RESULTS.get(word, "WARNED"),
            "configuration": [
                {"name": name_proof(one), "digest": {"sha256": _digest_command(one.proof)}} for one in proofs
            ],
            "passedTests": [name for name, state in ended if state == "passed"],
            "failedTests": [name for name, state in ended if state == "failed"],
            "handrailRun": hide_places(msgspec.to_builtins(stated)),
        },
    }


_RESULTS: dict[ProofWord, str] = {"proved": "PASSED", "kept": "PASSED", "fails": "FAILED"}
"""The result words for readers of in-toto test results; every word without an entry is WARNED."""


def list_all_parts(history: History, run: Run, above: str = "") -> list[tuple[str, Run]]:
    """Return the child runs that count, each with its name, including those that they delegated in turn."""
    found: list[tuple[str, Run]] = []
    for part in list_parts(history, run):
        name = f"{above}{part.name}"
        found += [(name, part.run), *list_all_parts(history, part.run, f"{name}/")]
    return found[:MOST_PARTS]


def name_proof(one: StatedProof) -> str:
    """Return the name of a check, with the child run that proved it."""
    name = one.proof.check or one.proof.command
    return f"{one.child}: {name}" if one.child else name


def _list_own(history: History, run: Run) -> list[RecordedProof]:
    """Return the proofs of a run. Those of an imported run are statements of the bundle's author."""
    return [held for held in list_proofs(history, run.run_id) if not is_imported(history, held.index)]


def _list_proofs(history: History, run: Run, child: str, tree: str) -> list[StatedProof]:
    """Return the newest proof of each check that is about exactly these files."""
    held = [one for one in _list_own(history, run) if one.fact.proof.head == tree]
    start = find_base(history, run.first_node)
    return [
        StatedProof(
            sentence=f"{LABELS[one.fact.proof.word]}: {describe(one.fact.proof)}",
            proof=_leave_credentials(one.fact.proof),
            at=one.at,
            machine=one.fact.machine,
            child=child,
            is_since_start=one.fact.proof.base == start,
        )
        for one in {one.fact.proof.check: one for one in held}.values()
    ]


def _leave_credentials(proof: Proof) -> Proof:
    names = tuple(name for name in proof.names if not holds_credentials(name))
    return proof if names == proof.names else msgspec.structs.replace(proof, names=names)


def _describe_word(
    history: History, parts: list[tuple[str, Run]], proofs: list[StatedProof], word: ProofWord
) -> str:
    shown = next((one for one in proofs if one.proof.word == word), None)
    if shown is not None:
        name = f"{name_proof(shown)}: " if len(proofs) > 1 else ""
        return name + describe(shown.proof)
    if any(_list_own(history, part) for _, part in parts):
        return "The proofs of the run are about other files"
    checks = [check for _, part in parts for check in part.checks]
    return "Nothing was proven in the run" if checks else NO_CHECK[:1].upper() + NO_CHECK[1:]


def _list_approvals(history: History, run: Run, child: str) -> Iterator[Approval]:
    """Yield the newest answers of people about each step, then the gaps that they accepted."""
    answers = [one for one in list_confirmations(history, run.run_id) if not is_imported(history, one.index)]
    last = {(instance_of(history, one.fact.node_id).node_id, one.fact.asked): one for one in answers}
    for one in sorted(last.values(), key=lambda held: held.index):
        yield Approval(
            who=name_person(one.fact.who),
            source=one.fact.source,
            what=_cut(_describe_answer(history, one.fact)),
            note=_cut(one.fact.note),
            at=one.at,
            child=child,
        )
    gaps = gaps_at(history, run_graph(history, run.run_id).preferred_tip)
    named = {gap.gap_id: gap for gap in gaps}
    for gap in gaps:
        if (
            gap.reason != "settled_by_person"
            or gap.source is None
            or _is_from_elsewhere(history, gap.node_id)
        ):
            continue
        accepted = named.get(gap.resolves_gap_id)
        what = "a gap" if accepted is None else f"the gap “{explain_gap(accepted)}”"
        yield Approval(
            who=name_person(gap.who),
            source=gap.source,
            what=_cut(f"accepted {what}"),
            note=_cut(gap.summary),
            child=child,
        )


def _is_from_elsewhere(history: History, node_id: str | None) -> bool:
    node = history.nodes.get(node_id) if node_id else None  # type: ignore[call-overload]
    return node is not None and is_imported(history, node.index)


def _describe_answer(history: History, fact: ConfirmationRecorded) -> str:
    step = step_key(history.nodes[fact.node_id].state)
    if fact.answer == "declined":
        return f"rejected {step}"
    match fact.asked:
        case "choose":
            return f"chose {fact.option_id} at {step}"
        case "give":
            return f"answered {step}"
        case "allow_write":
            return f"approved the write of {step}"
        case "confirm" | None:
            return f"approved the report of {step}"


def _list_steps(history: History, run: Run, child: str) -> Iterator[StatedStep]:
    for node in way_to(history, run_graph(history, run.run_id).preferred_tip):
        step = completed_step(history, node)
        if not step or node.kind != "step":
            continue
        notes = notes_at(history, node.node_id)
        artifacts = attached_to(history, node.node_id).artifacts
        yield StatedStep(
            step=step,
            stated="" if notes is None else _cut(notes.text),
            artifacts=tuple(kept.artifact.kind for kept in artifacts),
            child=child,
            is_imported=is_imported(history, node.index),
        )


def _digest_command(proof: Proof) -> str:
    return digest(proof.command).removeprefix("sha256:")


def _cut(text: str) -> str:
    flat = " ".join(make_readable(text).split())
    return flat if len(flat) <= LONGEST_TEXT else flat[: LONGEST_TEXT - 1] + "…"


_NAME = r"[^\s/\\'\"`<>|:;,()]"
_PLACE = re.compile(rf"(?<![\w.~/:…-])(?:/(?!/)|[A-Za-z]:[\\/])(?:{_NAME}+[\\/])+({_NAME}*)")


def hide_places(value: Any) -> Any:
    """Return a JSON value in which every absolute path is cut to its last name: `…/pytest`."""
    match value:
        case str():
            return _PLACE.sub(r"…/\1", value)
        case list() | tuple():
            return [hide_places(one) for one in value]
        case dict():
            return {name: hide_places(one) for name, one in value.items()}
        case _:
            return value


# Reading one


class FormerReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """A receipt of a version before proofs, about one commit and judged from what was reported."""

    commit: str
    tree: str
    result: str
    is_clean: bool


class TreeReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """A receipt about a git tree."""

    project: str
    tree: str
    result: str
    run: StatedRun


def read_statement(statement: dict[str, Any]) -> TreeReceipt | FormerReceipt | None:
    """Return what a statement is about; None if Handrail did not make it."""
    try:
        (subject,) = statement["subject"]
        predicate = statement["predicate"]
        run = predicate["handrailRun"]
        if statement["predicateType"] != TEST_RESULT:
            return None
        tree, result = subject["digest"]["gitTree"], predicate["result"]
        if run["v"] == 1:
            facts = {"commit": subject["digest"]["gitCommit"], "is_clean": run["isClean"]}
            return msgspec.convert({**facts, "tree": tree, "result": result}, FormerReceipt)
        facts = {"project": subject["name"], "run": run}
        return msgspec.convert({**facts, "tree": tree, "result": result}, TreeReceipt)
    except (KeyError, TypeError, ValueError, msgspec.MsgspecError):
        return None
