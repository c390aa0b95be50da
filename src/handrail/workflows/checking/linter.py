"""What is wrong with a workflow that reads and compiles: warnings and hints, all at once. Pure.

Errors come from the reader and the compiler: what they accept can be started.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from msgspec import UNSET

from handrail.contract.json.places import join_pointer
from handrail.contract.wording import mark_hidden, quote, spell_hidden
from handrail.workflows.checking.reachability import check_reachability
from handrail.workflows.checking.usage import check_usage, check_validation
from handrail.workflows.compiled import (
    Choice,
    CompiledWorkflow,
    Delegate,
    ForEach,
    InputSpec,
    Leaf,
    Loop,
    Part,
    Step,
    While,
    list_leaves,
    loop_variables,
)
from handrail.workflows.compiling.assemble import prompt_bytes
from handrail.workflows.compiling.compilation import Compilation, Trail
from handrail.workflows.conditions import ConditionId, LoopControl, comparisons
from handrail.workflows.limits import MAX_PROMPT_BYTES
from handrail.workflows.model import (
    PromptBlocks,
    PromptPart,
    SourceChoice,
    SourcePart,
    SourceStep,
    SourceWorkflow,
    walk_source,
)
from handrail.workflows.part_contents import conditions_at
from handrail.workflows.problem import Problem
from handrail.workflows.reading.findings import quote_name

# Soft words: they let an agent off the hook unless the sentence sets a floor

_SOFT = re.compile(
    r"\b(?:if|where|when|whenever|wherever) (?:at all )?(?:possible|feasible|practical|convenient)\b"
    r"|\bif time permits\b"
    r"|\b(?:as|if|where|when) (?:you )?(?:see fit|feel|deem|appropriate)\b"
    r"|\btry to\b|\battempt to\b|\bbest effort\b|\bideally\b|\bfeel free\b"
    r"|\bas much as (?:you can|possible)\b|\byou (?:may|might|could) want to\b|\bmore or less\b",
    re.IGNORECASE,
)
_FLOOR = re.compile(
    r"\bat least\b|\bno (?:fewer|less) than\b|\bminimum\b|\bmust\b|\botherwise\b|\belse\b|\bif not\b"
    r"|\bif (?:it|that|this) fails\b|\bnever\b|\bexactly\b|\d",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_QUOTED = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”")
"""A quotation is talked about, not asked for."""
_CODE = re.compile(r"(`+|~~~+).*?\1", re.DOTALL)


def find_soft_phrase(text: str) -> str:
    """The first soft phrase whose sentence has no floor; empty when there is none."""
    for sentence in _SENTENCE.finditer(_QUOTED.sub(" ", text)):
        found = _SOFT.search(sentence[0])
        if found is not None and _FLOOR.search(sentence[0]) is None:
            return found[0]
    return ""


def check_soft_words(parts: tuple[SourcePart, ...], trail: Trail) -> None:
    """One warning per step, for what its author wrote; builtin texts have their own tests."""
    for part in walk_source(parts):
        if not isinstance(part, SourceStep | SourceChoice):
            continue
        phrase = next((found for text in _texts(part) if (found := find_soft_phrase(text))), "")
        if phrase:
            message = f"{part.id} says {quote(phrase)} without saying what is enough."
            fix = "Say the least that must be done, or what to do otherwise; or remove the words."
            trail.report("soft_words", part.pointer, message, fix, "warning")
        if any("<!--" in text and "<!--" in _CODE.sub("", text) for text in _texts(part)):
            message = f"{part.id} has an HTML comment: the agent reads it, and no page shows it."
            fix = "Write it as text, or, if it is for authors, as a # comment in front matter or fence."
            trail.report("bad_value", part.pointer, message, fix, "warning")
        _check_hidden(part, trail)


def _check_hidden(part: SourceStep | SourceChoice, trail: Trail) -> None:
    """A character that nobody sees and a run does not show: what was reviewed is not what is read."""
    unseen = [
        text
        for text in (part.title, *_texts(part))
        if mark_hidden(text).count("\ufffd") > text.count("\ufffd")
    ]
    if unseen:
        codes = dict.fromkeys(re.findall(r"U\+[0-9A-F]{4,6}(?=>)", "".join(map(spell_hidden, unseen))))
        message = f"{part.id} has characters that nobody sees: {', '.join(codes)}."
        fix = "Remove them; a run shows U+FFFD in their place."
        trail.report("bad_value", part.pointer, message, fix, "warning")


def _texts(part: SourceStep | SourceChoice) -> list[str]:
    if isinstance(part, SourceChoice):
        return [part.prompt]
    fragments = [fragment.text for fragment in part.fragments]
    return [part.prompt, *_block_texts(part.blocks), *fragments, *part.guidance]


def _block_texts(blocks: PromptBlocks | None) -> list[str]:
    if blocks is None:
        return []
    parts: list[PromptPart] = [*blocks.goal, *blocks.constraints, *blocks.procedure]
    parts += [*(part for _, part in blocks.output_required), *blocks.verify]
    return [part for part in parts if isinstance(part, str)]


# Smaller things that an author wants to know before a run

NEAR_BUDGET_BYTES = MAX_PROMPT_BYTES * 4 // 5
CAPABILITIES_FEATURE = "wr.features.capabilities"
_RISKY = ("irreversible_action", "external_side_effect", "policy_or_compliance")


def check_prompt_sizes(workflow: CompiledWorkflow, pointers: dict[str, str], trail: Trail) -> None:
    for part in list_leaves(workflow.steps):
        size = prompt_bytes(part, workflow.functions)
        if size > NEAR_BUDGET_BYTES:
            message = f"The prompt of {part.id} has {size} of at most {MAX_PROMPT_BYTES} bytes."
            fix = "Split the step before it grows; agents also follow short prompts better."
            trail.report("near_budget", pointers.get(part.id, ""), message, fix, "warning")


def check_titles(workflow: CompiledWorkflow, pointers: dict[str, str], trail: Trail) -> None:
    first: dict[str, str] = {}
    for part in list_leaves(workflow.steps):
        if part.title in first:
            message = f"{part.id} has the title of {first[part.title]}: {quote(part.title)}."
            fix = "Give them different titles; people see only those."
            trail.report("duplicate_title", f"{pointers.get(part.id, '')}/title", message, fix, "hint")
        first.setdefault(part.title, part.id)


def check_first_step(workflow: CompiledWorkflow, pointers: dict[str, str], trail: Trail) -> None:
    """No step before the first one can ask for a value, so what is read until then must come at the start."""
    told: set[str] = set()
    for where, condition_id, variables in _read_at_first(workflow, pointers, workflow.steps, frozenset()):
        read = list(comparisons(workflow.conditions[condition_id]))
        # Whoever asks whether a value is there knows that it may be missing.
        asked = {one.input for one in read if one.op == "exists"}
        names = {one.input.partition(".")[0] for one in read if one.input not in asked}
        for name in sorted(names - variables - {""}):
            spec = workflow.inputs.get(name, InputSpec())
            if not spec.required and spec.default is UNSET and name not in told:
                told.add(name)
                message = f"{quote_name(name)} is read before any step asks for it; a start need not send it."
                fix = "Make the input required, give it a default, or read it in a later step."
                trail.report("read_too_early", where, message, fix, "warning")


_Read: TypeAlias = tuple[str, ConditionId, frozenset[str]]
"""Where a condition stands, its id, and the variables of the loops around it."""


def _read_at_first(
    workflow: CompiledWorkflow, pointers: dict[str, str], parts: tuple[Part, ...], variables: frozenset[str]
) -> Iterator[_Read]:
    """Conditions that are looked at before an agent can have been asked for anything."""
    for part in parts:
        # The question of a step is told before its texts.
        for place, name in sorted(conditions_at(part), key=lambda one: one[0].startswith("/promptFragments")):
            is_later = place == "/until" or (
                place == "/while" and isinstance(workflow.conditions[name], LoopControl)
            )
            if not is_later:
                yield f"{pointers.get(part.id, '')}{place}", name, variables
        if isinstance(part, Loop):
            yield from _read_at_first(workflow, pointers, part.body, variables | loop_variables(part))
        if not part.when and _runs_once(workflow, part):
            return


def _runs_once(workflow: CompiledWorkflow, part: Part) -> bool:
    """Whether a part without a condition is certain to show a step."""
    match part:
        case Loop(repeat=While(condition=name)):
            return isinstance(workflow.conditions[name], LoopControl)
        case Loop(repeat=ForEach()) | Delegate():
            return False
        case _:
            return True


def check_capabilities(source: SourceWorkflow, workflow: CompiledWorkflow, trail: Trail) -> None:
    """A preferred or disabled capability changes nothing unless a prompt says so."""
    handing = [part.id for part in list_leaves(workflow.steps) if isinstance(part, Delegate)]
    if handing and source.capabilities.get("delegation") == "disabled":
        message = f"delegation is disabled, and {quote_name(handing[0])} hands out work all the same."
        fix = "Write preferred or required, or let the step do the work itself."
        trail.report("bad_value", "/capabilities/delegation", message, fix, "warning")
        return
    if any(feature.id == CAPABILITIES_FEATURE for feature in source.features):
        return
    for name, use in sorted(source.capabilities.items()):
        if use != "required":
            message = f"{name} is {use}, but no prompt will say so."
            fix = f"Add {CAPABILITIES_FEATURE} to features."
            trail.report("missing_feature", join_pointer("/capabilities", name), message, fix, "hint")


def check_recommendation(source: SourceWorkflow, workflow: CompiledWorkflow, trail: Trail) -> None:
    """The recommendation is what the author considers safe; it must fit what the steps ask of the user."""
    recommended = source.recommended
    asking = [part.id for part in list_leaves(workflow.steps) if _asks_user(part)]
    if recommended.autonomy == "full_auto_never_stop" and asking:
        message = f"full_auto_never_stop is recommended, but {asking[0]} needs the user."
        fix = "Recommend full_auto_stop_on_user_deps, which stops exactly there."
        trail.report("bad_recommendation", "/recommended/autonomy", message, fix, "warning")
    risky = [
        part.id
        for part in list_leaves(workflow.steps)
        if isinstance(part, Choice) and part.non_assumable in _RISKY
    ]
    if recommended.risk_policy == "aggressive" and risky:
        message = f"aggressive is recommended, but {risky[0]} is a choice that needs care."
        fix = "Recommend balanced or conservative."
        trail.report("bad_recommendation", "/recommended/riskPolicy", message, fix, "warning")


def _asks_user(part: Leaf) -> bool:
    match part:
        case Choice(non_assumable=kind):
            return kind is not None
        case Step(user_only=need):
            return need is not None and not need.input
        case _:
            return False


# All checks


def check(source: SourceWorkflow, compilation: Compilation) -> tuple[Problem, ...]:
    """Everything the author should look at; nothing if it did not compile, because that comes first."""
    if compilation.pinned is None:
        return ()
    workflow, pointers = compilation.pinned.workflow, compilation.pointers
    trail = Trail()
    check_reachability(workflow, pointers, trail)
    check_first_step(workflow, pointers, trail)
    check_validation(workflow, pointers, trail)
    check_soft_words(source.steps, trail)
    check_usage(source, workflow, trail)
    check_prompt_sizes(workflow, pointers, trail)
    check_recommendation(source, workflow, trail)
    check_capabilities(source, workflow, trail)
    check_titles(workflow, pointers, trail)
    return tuple(trail.problems)
