"""Builtin templates, proven steps that a workflow calls by name; and every builtin by its id. Pure."""

from __future__ import annotations

from typing import Any

from handrail.workflows.builtins.contracts import CONTRACTS
from handrail.workflows.builtins.contracts import PREFIX as CONTRACTS_PREFIX
from handrail.workflows.builtins.placement import phrase_value, place_parts
from handrail.workflows.builtins.prompt_texts import CAPABILITIES, FEATURES, REFS
from handrail.workflows.builtins.prompt_texts import PREFIX as REFS_PREFIX
from handrail.workflows.builtins.specs import (
    Builtin,
    ContractSpec,
    FeatureSpec,
    RefSpec,
    TemplateContext,
    TemplateSpec,
)
from handrail.workflows.compiled import InputSpec
from handrail.workflows.model import PromptBlocks, RefPart, SourcePart, SourceStep

PREFIX = "wr.templates."


def _ref(name: str) -> RefPart:
    return RefPart(ref_id=REFS_PREFIX + name, pointer="")


def _capability_probe(args: dict[str, Any], context: TemplateContext) -> tuple[SourcePart, ...]:
    spec = next(each for each in CAPABILITIES if each.id == args["capability"])
    step = SourceStep(
        id="probe",
        title=f"Probe: {spec.title}",
        prompt=spec.probe,
        contract_ref=CONTRACTS_PREFIX + "capability_observation",
        notes_optional=True,
        pointer="",
    )
    return place_parts((step,), context)


def _verification_pass(args: dict[str, Any], context: TemplateContext) -> tuple[SourcePart, ...]:
    subject = args["subject"]
    checks = tuple(
        f"Run this check and keep its exit code: {check}" for check in map(phrase_value, args["checks"])
    )
    blocks = PromptBlocks(
        goal=(f"You are done when new evidence shows whether {subject} does what was asked.",),
        constraints=(
            "Change nothing in this step, not even to make a check pass. Write what you would change into "
            "the notes.",
            "A result from before the last edit does not count.",
            _ref("evidence_before_claims"),
        ),
        procedure=(
            "Read the request and every promise in the notes of earlier steps again. Write each one as a "
            "claim that can be false.",
            *checks,
            "For each claim: choose the cheapest observation that would refute it, make it, and keep the "
            "command or the place with its result.",
            "Test at least one failure: wrong input, missing file, interrupted work.",
            "Read the whole diff since the work began, and explain each changed file.",
            "Set the verdict: passed if every claim is confirmed, failed if one is refuted, "
            "incomplete if you could not check an important one.",
        ),
        output_required=(
            (
                "artifact",
                "The report: every claim with its evidence, and what you did not check.",
            ),
            (
                "notes",
                "The verdict in one sentence, then each refuted claim with its smallest fix.",
            ),
        ),
        verify=(
            "Another person could repeat every piece of evidence from what is written.",
            "No claim relies on reading alone if a command can show it.",
        ),
    )
    step = SourceStep(
        id="verify",
        title="Verify by evidence",
        blocks=blocks,
        contract_ref=CONTRACTS_PREFIX + "verification_report",
        pointer="",
    )
    return place_parts((step,), context)


_DELEGATE = (
    "Delegate each perspective to an agent of its own, all with the same facts: the subject, its place, "
    "the perspective, and the form of a finding. Do not show them each other's answers.",
    "If no agent can be started, report that once as an artifact of kind wr.capability_observation "
    "(capability "
    "delegation, status unavailable), and review from each perspective yourself, one after the other.",
)
_ALONE = (
    "Take the perspectives one after the other. Start each from the subject, not from earlier findings.",
)


def _parallel_review(args: dict[str, Any], context: TemplateContext) -> tuple[SourcePart, ...]:
    subject = args["subject"]
    is_alone = context.capabilities.get("delegation") == "disabled"
    look = SourceStep(
        id="look",
        title="Review from several perspectives",
        blocks=PromptBlocks(
            goal=(f"You are done when every perspective has its own findings about {subject}.",),
            constraints=(
                "Only read and run. Do not edit anything in this step.",
                "Do not judge or merge findings yet. Keep contradictions between perspectives.",
            ),
            procedure=(
                *(_ALONE if is_alone else _DELEGATE),
                *(f"Perspective: {perspective}" for perspective in map(phrase_value, args["perspectives"])),
                "Give each finding a place (file and line, or section), the problem, the input or situation "
                "that shows it, and how you saw it.",
            ),
            output_required=(
                (
                    "notes",
                    "Under a heading per perspective: what you read, the findings, what you did not review.",
                ),
            ),
            verify=("Each perspective has at least one finding, or says which attempts found none.",),
        ),
        pointer="",
    )
    conclude = SourceStep(
        id="conclude",
        title="Conclude the review",
        blocks=PromptBlocks(
            goal=(f"You are done when you have one list of proven findings about {subject}, and a verdict.",),
            constraints=(_ref("synthesis_under_disagreement"),),
            procedure=(
                "Merge findings with the same cause. Resolve contradictions by a new look at the subject.",
                "Prove each remaining finding yourself: run it, or quote the lines that prove it. "
                "Drop what you cannot show, or make it a question.",
                "Give each one a severity by its effect on users, and the smallest fix.",
                "Reject if there is a blocker. Approve only without blockers and major findings.",
            ),
            output_required=(
                ("artifact", "The review findings, what you reviewed and what you did not."),
                ("notes", "The verdict and its reason; dropped findings in one line each, with why."),
            ),
            verify=("Every finding names evidence that you saw in this step.",),
        ),
        contract_ref=CONTRACTS_PREFIX + "review_findings",
        pointer="",
    )
    return place_parts((look, conclude), context)


def _handoff_summary(args: dict[str, Any], context: TemplateContext) -> tuple[SourcePart, ...]:
    audience = args["audience"]
    step = SourceStep(
        id="handoff",
        title="Hand over",
        blocks=PromptBlocks(
            goal=(f"You are done when the reader can continue from the summary alone. Reader: {audience}.",),
            constraints=(
                "Write nothing that the notes and reports of this run do not support.",
                _ref("honest_gaps"),
            ),
            procedure=(
                "Read the recap of the whole run, not only the last steps.",
                "List what was delivered and its place, in the order in which the reader needs it.",
                "Run the command that best shows the result again, and keep its output.",
                "List every open point with its reason and the next action. Include assumptions, gaps and "
                "divergences recorded in the run.",
                "Set the status: done only if no open point can change the result.",
            ),
            output_required=(
                ("artifact", "The handoff."),
                (
                    "notes",
                    "At most twenty lines for a person: result, how to see it, open points, next action.",
                ),
            ),
            verify=("Every place and command in the summary exists and works as written.",),
        ),
        contract_ref=CONTRACTS_PREFIX + "handoff",
        pointer="",
    )
    return place_parts((step,), context)


TEMPLATES: tuple[TemplateSpec, ...] = (
    TemplateSpec(
        id=PREFIX + "capability_probe",
        title="Probe a capability",
        summary="One step that tests an optional capability and reports the result.",
        args={
            "capability": InputSpec(
                type="string",
                enum=tuple(capability.id for capability in CAPABILITIES),
                required=True,
                description="The capability to try.",
            )
        },
        expand=_capability_probe,
        example_args={"capability": "web_browsing"},
    ),
    TemplateSpec(
        id=PREFIX + "handoff_summary",
        title="Hand over",
        summary="One step that reports to a reader without this chat what was done, how it was checked, what "
        "is open.",
        args={
            "audience": InputSpec(
                type="string",
                default="The next engineer",
                description="Who reads it, as a sentence's subject.",
            )
        },
        expand=_handoff_summary,
        example_args={"audience": "The release manager"},
    ),
    TemplateSpec(
        id=PREFIX + "parallel_review",
        title="Review from several perspectives",
        summary="Independent reviews, in parallel or one after the other, then one conclusion with proof.",
        args={
            "subject": InputSpec(
                type="string", required=True, description="What is reviewed, as a noun phrase."
            ),
            "perspectives": InputSpec(
                type="array",
                default=[
                    "correctness: which input or order of events gives a wrong result?",
                    "failure: what happens when it is interrupted, repeated, overloaded or attacked?",
                    "use: what will surprise the caller, the operator or the next reader?",
                ],
                description="Short texts; each one is reviewed independently.",
            ),
        },
        expand=_parallel_review,
        example_args={"subject": "the change on this branch"},
    ),
    TemplateSpec(
        id=PREFIX + "verification_pass",
        title="Verify by evidence",
        summary="One step that turns what was promised into claims and confirms or refutes each by evidence.",
        args={
            "subject": InputSpec(
                type="string",
                default="the work of this run",
                description="What is verified, as a noun phrase.",
            ),
            "checks": InputSpec(
                type="array",
                default=[],
                description="Commands or observations that must be among the evidence.",
            ),
        },
        expand=_verification_pass,
        example_args={"subject": "the new export", "checks": ["the test suite of the export"]},
    ),
)


# The one list of builtins, which feeds the compiler, the catalog, the docs and the editor schema

_TEMPLATES = {spec.id: spec for spec in TEMPLATES}
_FEATURES = {spec.id: spec for spec in FEATURES}
_CONTRACTS = {spec.id: spec for spec in CONTRACTS}
_REFS = {name: spec for spec in REFS for name in (spec.id, *spec.other_ids)}


def find_template(template_id: str) -> TemplateSpec | None:
    """Return a template. Routines are not here: the compiler makes theirs with `make_routine_template`."""
    return _TEMPLATES.get(template_id)


def find_feature(feature_id: str) -> FeatureSpec | None:
    return _FEATURES.get(feature_id)


def find_contract(contract_id: str) -> ContractSpec | None:
    return _CONTRACTS.get(contract_id)


def find_ref(ref_id: str) -> RefSpec | None:
    """Return a ref by its id, or by the name that files of other tools use."""
    return _REFS.get(ref_id)


def all_builtins() -> tuple[Builtin, ...]:
    """Return every builtin, kind by kind, by id."""
    return (*TEMPLATES, *FEATURES, *CONTRACTS, *REFS, *CAPABILITIES)
