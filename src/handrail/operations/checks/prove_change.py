"""`check.prove`: run checks on old and new tests with old and new code, and report what they show.

It needs no run, no store and no account; if a run is in progress, the proof is recorded there. Nothing in
the project is written: the runs take place in copies, and results are stored in the home.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import E_CHECK_FAILED, E_CONFLICT, E_INTERRUPTED, E_TIMEOUT
from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import Isolation
from handrail.contract.outcome import Fault, Payload, make_from, refuse_argument
from handrail.contract.parameters import MintedId, NamedId, ProjectPath
from handrail.contract.wording import spell_argv
from handrail.evidence.proof import LABELS, Cells, Proof, ProofWord, choose_worst
from handrail.evidence.rendering import describe, render_markdown
from handrail.operations.checks.compared_ends import (
    Ends,
    FoundCheck,
    Untried,
    find_declared_checks,
    find_ends,
)
from handrail.operations.checks.found_commands import find_commands
from handrail.operations.checks.prove_in_run import ProvenRun, find_proven_run, record_proofs
from handrail.operations.checks.trial_runs import ProofAsk, prove_check
from handrail.ports.workspace import DeclaredCheck
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import ReadPorts, WritePorts, project_of

MOST_CHECKS = 20
MOST_ARGUMENTS = 1_000
MOST_SUGGESTED = 5
_OF_TESTS = ("tests", "check")
_TYPED_SECONDS = 600
_LINE = ("handrail", "prove", "--")


class ProveChange(Input, frozen=True, kw_only=True):
    """The checks, and the change to prove."""

    names: (
        Annotated[
            list[NamedId],
            Meta(description="Declared checks; every one of them by default.", max_length=MOST_CHECKS),
        ]
        | UnsetType
    ) = UNSET
    argv: (
        Annotated[
            list[Annotated[str, Meta(max_length=100_000)]],
            Meta(
                description="Or a program and its arguments, word by word.",
                min_length=1,
                max_length=MOST_ARGUMENTS,
            ),
        ]
        | UnsetType
    ) = UNSET
    run: (
        Annotated[
            MintedId,
            Meta(
                description="Record it in this run [the only one in progress here].",
                min_length=1,
                max_length=128,
            ),
        ]
        | UnsetType
    ) = UNSET
    base: (
        Annotated[
            str,
            Meta(
                description="The commit at the start [of a run its start, else the merge base with the "
                "default branch].",
                min_length=1,
                max_length=250,
            ),
        ]
        | UnsetType
    ) = UNSET
    head: (
        Annotated[
            str,
            Meta(description="The commit at the end [the working tree].", min_length=1, max_length=250),
        ]
        | UnsetType
    ) = UNSET
    expect: Annotated[ProofWord, Meta(description="Fail unless this is the word.")] | UnsetType = UNSET
    in_place: (
        Annotated[
            bool,
            Meta(description="Write the files of each run into the project itself, and bring them back."),
        ]
        | UnsetType
    ) = UNSET
    fresh: Annotated[bool, Meta(description="Run everything again, whatever is remembered.")] | UnsetType = (
        UNSET
    )
    shown_as: Annotated[Literal["markdown"], Meta(description="Add the result as Markdown.")] | UnsetType = (
        msgspec.field(default=UNSET, name="as")
    )
    project: ProjectPath | UnsetType = UNSET


class ProvenCheck(Payload, frozen=True, kw_only=True):
    """What the runs of one check show: a proof, and its sentence."""

    word: ProofWord
    sentence: str
    """What the word means here, in one sentence."""
    check: str = ""
    command: str = ""
    base: str = ""
    head: str = ""
    cells: Cells = Cells()
    names: tuple[str, ...] = ()
    names_total: int = 0
    reason: str = ""
    new_tests: int = 0
    red_before: int = 0
    still_red: int = 0
    by_exit_status: bool = False
    isolation: Isolation = ""
    duration_ms: int = 0
    remarks: tuple[str, ...] = ()


class SuggestedCheck(Payload, frozen=True, kw_only=True):
    """A command that the project's files suggest, if no check is declared."""

    command: tuple[str, ...]
    line: str
    """The command line that proves the change with it."""
    because: str
    """The file that suggests it."""


class ProvenChange(Payload, frozen=True, kw_only=True):
    """The worst word of all checks, and each check with its runs."""

    word: ProofWord
    checks: tuple[ProvenCheck, ...]
    suggestions: tuple[SuggestedCheck, ...] = ()
    markdown: str = ""
    run_id: str = ""
    """The run in which it is recorded; empty if in none."""
    step_id: str = ""
    """The pending step that it is recorded for; empty if the run is finished, or there is none."""


def prove_change(rt: WritePorts, request: ProveChange) -> ProvenChange:
    """Prove each check on the change.

    Raise Fault E_CHECK_FAILED if the word is FAILS, or differs from the expected one.
    """
    project = project_of(rt, request.project)
    _require_one_kind(request)
    target = _find_target(rt, project, request)
    start_tree = None if target is None else target.base
    base, head = ("" if name is UNSET else name for name in (request.base, request.head))
    try:
        ends = find_ends(rt, project, base, head, start_tree)
        found = _find_checks(rt, project, request, ends)
    except Untried as trouble:
        return _record(rt, request, target, [_make_untried(str(trouble))])
    if not found:
        suggestions = _suggest(rt, project, ends)
        return _answer(request, [_make_untried("no check is declared")], suggestions)
    if request.in_place is True:
        _require_clean(rt, project, ends)
    with rt.interruptions.defer():
        proofs = []
        for one in found:
            proofs.append(
                prove_check(
                    rt,
                    project,
                    ProofAsk(
                        found=one,
                        ends=ends,
                        is_in_place=request.in_place is True,
                        is_fresh=request.fresh is True,
                    ),
                )
            )
            _end_if_stopped(rt)
    return _record(rt, request, target, proofs)


def _find_target(rt: WritePorts, project: str, request: ProveChange) -> ProvenRun | None:
    """Return the run that the proof belongs to.

    A run that the call does not name is used only for what it would ask for: declared checks on its own
    change.
    """
    is_standalone = any(one is not UNSET for one in (request.argv, request.base, request.head))
    if request.run is UNSET and is_standalone:
        return None
    if request.run is not UNSET and request.argv is not UNSET:
        raise refuse_argument(
            "Only a declared check is recorded in a run, and a command was given.",
            "argv",
            "is given beside a run",
            "a declared check",
            hint="Leave out the -- and what follows it, or leave out --run.",
        )
    return find_proven_run(rt, project, request.run)


def _record(
    rt: WritePorts, request: ProveChange, target: ProvenRun | None, proofs: list[Proof]
) -> ProvenChange:
    """Record the proofs if a run is meant, then return the answer. Raise Fault E_CHECK_FAILED."""
    if target is not None:
        record_proofs(rt, target, proofs)
    return _answer(request, proofs, target=target)


def _require_one_kind(request: ProveChange) -> None:
    if request.names is UNSET or request.argv is UNSET:
        return
    raise refuse_argument(
        "Name declared checks or give a command after --, not both.",
        "argv",
        "is given beside a name",
        "one of the two",
        hint="Leave out the names, or the -- and what follows it.",
    )


def _find_checks(rt: ReadPorts, project: str, request: ProveChange, ends: Ends) -> tuple[FoundCheck, ...]:
    """Return the checks to run. Raise Fault VALIDATION_ERROR."""
    if request.argv is UNSET:
        return find_declared_checks(rt, project, ends, () if request.names is UNSET else request.names)
    typed = DeclaredCheck(name="", command=tuple(request.argv), timeout_seconds=_TYPED_SECONDS)
    return (FoundCheck(check=typed, remarks=("the command was typed, not declared",)),)


def _require_clean(rt: ReadPorts, project: str, ends: Ends) -> None:
    """Check that the project is as its last commit. Raise Fault E_CONFLICT, VALIDATION_ERROR."""
    if ends.taken is None:
        raise refuse_argument(
            "--in-place proves the working tree, so it does not go with --head.",
            "inPlace",
            "does not go with head",
            hint="Check that commit out first, then leave out --head.",
        )
    if rt.trees().is_clean(project, ends.taken) is not True:
        raise Fault(
            E_CONFLICT,
            "The project has uncommitted changes, and --in-place would write over them.",
            details={"reason": "uncommitted_changes"},
            hint="Commit or stash them first, or leave out --in-place.",
        )


def _end_if_stopped(rt: ReadPorts) -> None:
    """Raise Fault E_INTERRUPTED or E_TIMEOUT if the call must stop."""
    match rt.interruptions.stop_reason():
        case "":
            return
        case "signal":
            raise Fault(
                E_INTERRUPTED,
                "The proof was stopped; nothing in the project was changed.",
                details={"committed": False},
                hint="Run the same command again: runs that ended are remembered.",
            )
        case "deadline":
            raise Fault(
                E_TIMEOUT,
                "The proof took longer than --timeout allows; nothing in the project was changed.",
                details={"committed": False},
                hint="Run it again with a longer --timeout: runs that ended are remembered.",
            )


# The answer


def _answer(
    request: ProveChange,
    proofs: list[Proof],
    suggestions: tuple[SuggestedCheck, ...] = (),
    target: ProvenRun | None = None,
) -> ProvenChange:
    """Return the answer. Raise Fault E_CHECK_FAILED."""
    word = choose_worst([proof.word for proof in proofs])
    proven = ProvenChange(
        word=word,
        checks=tuple(make_from(ProvenCheck, proof, sentence=describe(proof)) for proof in proofs),
        suggestions=suggestions,
        markdown="" if request.shown_as is UNSET else render_markdown(proofs),
        run_id="" if target is None else target.node.run_id,
        step_id="" if target is None else target.step_id,
    )
    is_expected = word != "fails" if request.expect is UNSET else word == request.expect
    if is_expected:
        return proven
    worst = next(proof for proof in proofs if proof.word == word)
    name = f"{worst.check}: " if worst.check else ""
    wanted = "" if request.expect is UNSET else f" Expected was {LABELS[request.expect]}."
    raise Fault(
        E_CHECK_FAILED,
        f"{name}{LABELS[word]}. {describe(worst)}.{wanted}"[:1_000],
        details={"proof": msgspec.to_builtins(proven)},
        hint="" if word == "fails" else "docs/how-to/prove-a-change.md says what to do about each word.",
    )


def _make_untried(reason: str) -> Proof:
    return Proof(word="not_tried", reason=reason)


def _suggest(rt: ReadPorts, project: str, ends: Ends) -> tuple[SuggestedCheck, ...]:
    def load(path: str) -> str:
        content = rt.trees().read(project, ends.after[path].object_id)
        return "" if content is None else content.decode("utf-8", "replace")

    found = [one for one in find_commands(ends.after.keys(), load) if one.name in _OF_TESTS]
    return tuple(
        SuggestedCheck(command=one.command, line=spell_argv((*_LINE, *one.command)), because=one.because)
        for one in found[:MOST_SUGGESTED]
    )


OPERATION = Operation(
    name="check.prove",
    effect="process",
    where="client",
    starts_programs=True,
    summary="Prove a change: run checks on old and new tests with old and new code.",
    input=ProveChange,
    output=ProvenChange,
    perform=prove_change,
    shape=Shape(
        levels={"minimal": ("word",), "standard": None, "full": None},
        select="top",
        drop_order=("markdown", "suggestions"),
        windows=("checks",),
        untrusted=("checks", "suggestions", "markdown"),
    ),
    errors=(E_CHECK_FAILED.code, E_CONFLICT.code, "SESSION_NOT_FOUND", "SESSION_LOCKED"),
)
