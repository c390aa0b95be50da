"""Warnings and hints about a workflow that reads and compiles, all at once. Pure.

Errors come from the reader and the compiler: what they accept can be started.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias, assert_never

from msgspec import UNSET

from handrail.contract.json.places import join_pointer
from handrail.contract.wording import mark_hidden, quote, spell_hidden
from handrail.workflows.checking.reachability import check_reachability
from handrail.workflows.compiled import (
    Action,
    AllOf,
    AnyOf,
    Choice,
    CompiledWorkflow,
    ContainsRule,
    Delegate,
    ForEach,
    InputSpec,
    Leaf,
    LengthRule,
    Loop,
    Part,
    PatternRule,
    Rule,
    SchemaRule,
    Step,
    While,
    list_leaves,
    loop_variables,
    walk_parts,
)
from handrail.workflows.compiling.compilation import Compilation, condition_names, placeholder_names
from handrail.workflows.conditions import ConditionId, LoopControl, comparisons
from handrail.workflows.model import (
    ConditionRef,
    PromptBlocks,
    PromptPart,
    SourceChoice,
    SourcePart,
    SourceStep,
    SourceTemplateCall,
    SourceWorkflow,
    walk_source,
)
from handrail.workflows.part_contents import conditions_at, conditions_of, strings_in, texts_of
from handrail.workflows.problem import Findings, Problem, quote_name

# Declarations that nothing uses, validation that proves nothing, validation that nothing passes

# Declared and never used: usually a misspelt name somewhere else


def check_usage(source: SourceWorkflow, workflow: CompiledWorkflow, trail: Findings) -> None:
    conditions = _condition_ids(workflow.steps) | _authored_refs(source.steps)
    conditions |= {getattr(slot.when, "condition_id", "") for slot in source.slots}
    used = _used_inputs(source, workflow)
    _report(source.inputs, used, "/inputs", "input", trail)
    if source.kind == "workflow":  # what calls a routine may read what the routine sets
        _check_choices(source.steps, used, trail)
    steps = [part for part in walk_source(source.steps) if isinstance(part, SourceStep)]
    called = {one for step in steps for one in step.function_refs}
    _report(source.functions, called, "/functions", "function", trail)
    for place, name in enumerate(source.conditions):
        if name not in conditions:
            _warn(f"/conditions/{place}", f"The condition {quote_name(name)}", trail)
    reported = {gate.assessment_id for step in steps for gate in step.gates}
    for assessment in source.assessments:
        if assessment.id not in reported:
            _warn(assessment.pointer, f"The assessment {quote_name(assessment.id)}", trail)


def _check_choices(parts: tuple[SourcePart, ...], used: set[str], trail: Findings) -> None:
    """Warn of a choice whose options all have the same effect; one that sets nothing is asked for
    the record.
    """
    for part in walk_source(parts):
        if not isinstance(part, SourceChoice):
            continue
        sets = [option.sets for option in part.options]
        names = sorted({name for one in sets for name in one})
        apart = [name for name in names if any(one.get(name) != sets[0].get(name) for one in sets)]
        if names and not used.intersection(name.partition(".")[0] for name in apart):
            why = (
                f"nothing reads {', '.join(map(quote_name, apart))}" if apart else "its options set the same"
            )
            message = f"The choice {quote_name(part.id)} decides nothing: {why}."
            fix = "Set a value that a condition or a text reads."
            trail.report("unused", part.pointer, message, fix)


def _report(declared: dict[str, Any], used: set[str], pointer: str, what: str, trail: Findings) -> None:
    for name in declared:
        if name not in used:
            _warn(join_pointer(pointer, name), f"The {what} {quote_name(name)}", trail)


def _warn(pointer: str, what: str, trail: Findings) -> None:
    trail.report("unused", pointer, f"{what} is never used.", "Use it, or remove it.")


def _used_inputs(source: SourceWorkflow, workflow: CompiledWorkflow) -> set[str]:
    parts = list(walk_parts(workflow.steps))
    # An argument may be resolved while its template is expanded and leave no trace.
    calls = [part.args for part in walk_source(source.steps) if isinstance(part, SourceTemplateCall)]
    actions = [part.params for part in parts if isinstance(part, Action)]
    shown = [text for part in list_leaves(workflow.steps) for text in (part.title, *texts_of(part, {}))]
    described = [option.description for part in parts if isinstance(part, Choice) for option in part.options]
    texts = (*shown, *described, *source.functions.values(), *strings_in([calls, actions]))
    used = {name for text in texts for name in placeholder_names(text)}
    used |= {
        name for one in _condition_ids(workflow.steps) for name in condition_names(workflow.conditions[one])
    }
    used |= {spec.counted_by.partition(".")[0] for spec in workflow.inputs.values()}
    for part in parts:
        if isinstance(part, Loop) and isinstance(part.repeat, ForEach):
            used.add(part.repeat.input.partition(".")[0])
        if isinstance(part, Step) and part.user_only is not None:
            used.add(part.user_only.input)
        if isinstance(part, Delegate):
            used.add(part.for_each.partition(".")[0])
    return used


def _condition_ids(parts: tuple[Part, ...]) -> set[ConditionId]:
    return {name for part in walk_parts(parts) for name in conditions_of(part)}


def _authored_refs(parts: tuple[SourcePart, ...]) -> set[ConditionId]:
    """Return declared conditions of template calls; once joined with others, they no longer have an id."""
    whens = [
        when
        for part in walk_source(parts)
        for when in (part.when, getattr(part, "require_confirmation", None))
    ]
    return {when.condition_id for when in whens if isinstance(when, ConditionRef)}


_FLAGS = frozenset(
    {
        *("complete", "completed", "done", "finished", "success", "successful", "passed", "verified"),
        *("validated", "ready", "ok", "approved"),
    }
)
_FILLERS = frozenset(
    {
        *("is", "are", "all", "has", "have", "been", "everything", "the", "this", "task", "step", "work"),
        *("status", "verification", "validation", "review", "test", "tests", "true", "yes", "1"),
    }
)
_WORD = re.compile(r"[a-z0-9]+")
_PATTERN_CLASS = re.compile(r"\\[bBsSdDwW]|\(\?[a-z]+\)")


def check_validation(workflow: CompiledWorkflow, pointers: dict[str, str], trail: Findings) -> None:
    for step in list_leaves(workflow.steps):
        if not isinstance(step, Step):
            continue
        pointer = pointers.get(step.id, "")
        if step.rules and all(_is_flag(rule) for rule in step.rules):
            fix = "Ask for evidence: what was run and what it showed, or wr.contracts.verification_report."
            message = f"The validation of {step.id} accepts a claim that it is done, without any evidence."
            trail.report("flag_only_validation", f"{pointer}/validation", message, fix)
        contract = workflow.contracts.get(step.contract)
        if contract is not None and _is_flag_schema(contract.schema):
            message = f"The contract {step.contract} asks for nothing but a flag."
            fix = "Let it ask for evidence: what was run and what it showed."
            trail.report("flag_only_validation", f"{pointer}/output", message, fix)


def _is_flag(rule: Rule) -> bool:
    """Whether a bare statement passes, such as "complete = true" and nothing else."""
    match rule:
        case ContainsRule(value=value):
            return _is_claim(value)
        case PatternRule(pattern=pattern):
            return _is_claim(_PATTERN_CLASS.sub(" ", pattern))
        case LengthRule(minimum=least):
            return least < 20
        case SchemaRule(schema=schema):
            return _is_flag_schema(schema)
        case AllOf(of=rules):
            return all(_is_flag(inner) for inner in rules)
        case AnyOf(of=rules):
            return any(_is_flag(inner) for inner in rules)
        case never:
            assert_never(never)


def _is_claim(text: str) -> bool:
    words = set(_WORD.findall(text.lower()))
    return bool(words & _FLAGS) and words <= _FLAGS | _FILLERS


def _is_flag_schema(schema: dict[str, Any]) -> bool:
    """Whether true and false are all that is required."""
    properties = schema.get("properties")
    required = schema.get("required")
    if not isinstance(properties, dict) or not isinstance(required, list):
        return False
    asked = [properties.get(name) for name in required if name != "kind"]
    return bool(asked) and all(
        isinstance(one, dict) and (one.get("type") == "boolean" or one.get("const") is True) for one in asked
    )


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
"""Quotations in which soft words do not count, because they are mentioned and not used."""
_CODE = re.compile(r"(`+|~~~+).*?\1", re.DOTALL)


def find_soft_phrase(text: str) -> str:
    """Return the first soft phrase whose sentence sets no minimum; empty if there is none."""
    for sentence in _SENTENCE.finditer(_QUOTED.sub(" ", text)):
        found = _SOFT.search(sentence[0])
        if found is not None and _FLOOR.search(sentence[0]) is None:
            return found[0]
    return ""


def check_soft_words(parts: tuple[SourcePart, ...], trail: Findings) -> None:
    """Warn once per step about its author's text; builtin texts have their own tests."""
    for part in walk_source(parts):
        if not isinstance(part, SourceStep | SourceChoice):
            continue
        phrase = next((found for text in _texts(part) if (found := find_soft_phrase(text))), "")
        if phrase:
            message = f"{part.id} says {quote(phrase)} without saying what is enough."
            fix = "Say the least that must be done, or what to do otherwise; or remove the words."
            trail.report("soft_words", part.pointer, message, fix)
        if any("<!--" in text and "<!--" in _CODE.sub("", text) for text in _texts(part)):
            message = f"{part.id} has an HTML comment: the agent reads it, and no page shows it."
            fix = "Write it as text, or, if it is for authors, as a # comment in front matter or fence."
            trail.report("bad_value", part.pointer, message, fix)
        _check_hidden(part, trail)


def _check_hidden(part: SourceStep | SourceChoice, trail: Findings) -> None:
    """Warn of invisible characters that a run does not show, because reviewers then read a different text."""
    unseen = [
        text
        for text in (part.title, *_texts(part))
        if mark_hidden(text).count("\ufffd") > text.count("\ufffd")
    ]
    if unseen:
        codes = dict.fromkeys(re.findall(r"U\+[0-9A-F]{4,6}(?=>)", "".join(map(spell_hidden, unseen))))
        message = f"{part.id} has characters that nobody sees: {', '.join(codes)}."
        fix = "Remove them; a run shows U+FFFD in their place."
        trail.report("bad_value", part.pointer, message, fix)


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

CAPABILITIES_FEATURE = "wr.features.capabilities"
_RISKY = ("irreversible_action", "external_side_effect", "policy_or_compliance")


def check_first_step(workflow: CompiledWorkflow, pointers: dict[str, str], trail: Findings) -> None:
    """Warn of values that no step can ask for, because they are read before the first step; a start must
    give them.
    """
    reported: set[str] = set()
    for where, condition_id, variables in _read_at_first(workflow, pointers, workflow.steps, frozenset()):
        read = list(comparisons(workflow.conditions[condition_id]))
        # Whoever asks whether a value is there knows that it may be missing.
        asked = {one.input for one in read if one.op == "exists"}
        names = {one.input.partition(".")[0] for one in read if one.input not in asked}
        for name in sorted(names - variables - {""}):
            spec = workflow.inputs.get(name, InputSpec())
            if not spec.required and spec.default is UNSET and name not in reported:
                reported.add(name)
                message = f"{quote_name(name)} is read before any step asks for it; a start need not send it."
                fix = "Make the input required, give it a default, or read it in a later step."
                trail.report("read_too_early", where, message, fix)


_Read: TypeAlias = tuple[str, ConditionId, frozenset[str]]
"""Place of a condition, its id, and the variables of the loops around it."""


def _read_at_first(
    workflow: CompiledWorkflow, pointers: dict[str, str], parts: tuple[Part, ...], variables: frozenset[str]
) -> Iterator[_Read]:
    """Yield conditions that are read before an agent can be asked for anything."""
    for part in parts:
        # The question of a step is reported before its texts.
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


def check_capabilities(source: SourceWorkflow, workflow: CompiledWorkflow, trail: Findings) -> None:
    """Warn of a preferred or disabled capability that no prompt mentions, because it then changes nothing."""
    handing = [part.id for part in list_leaves(workflow.steps) if isinstance(part, Delegate)]
    if handing and source.capabilities.get("delegation") == "disabled":
        message = f"delegation is disabled, and {quote_name(handing[0])} delegates work all the same."
        fix = "Write preferred or required, or let the step do the work itself."
        trail.report("bad_value", "/capabilities/delegation", message, fix)
        return
    if any(feature.id == CAPABILITIES_FEATURE for feature in source.features):
        return
    for name, use in sorted(source.capabilities.items()):
        if use != "required":
            message = f"{name} is {use}, but no prompt will say so."
            fix = f"Add {CAPABILITIES_FEATURE} to features."
            trail.report(
                "missing_feature", join_pointer("/capabilities", name), message, fix, severity="hint"
            )


def check_recommendation(source: SourceWorkflow, workflow: CompiledWorkflow, trail: Findings) -> None:
    """Warn of a recommendation, the author's view of what is safe, that contradicts what steps ask of the
    user.
    """
    recommended = source.recommended
    asking = [part.id for part in list_leaves(workflow.steps) if _asks_user(part)]
    if recommended.autonomy == "full_auto_never_stop" and asking:
        message = f"full_auto_never_stop is recommended, but {asking[0]} needs the user."
        fix = "Recommend full_auto_stop_on_user_deps, which stops exactly there."
        trail.report("bad_recommendation", "/recommended/autonomy", message, fix)
    risky = [
        part.id
        for part in list_leaves(workflow.steps)
        if isinstance(part, Choice) and part.non_assumable in _RISKY
    ]
    if recommended.risk_policy == "aggressive" and risky:
        message = f"aggressive is recommended, but {risky[0]} is a choice that needs care."
        fix = "Recommend balanced or conservative."
        trail.report("bad_recommendation", "/recommended/riskPolicy", message, fix)


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
    """Return all warnings and hints; none if the workflow did not compile, because errors come first."""
    if compilation.pinned is None:
        return ()
    workflow, pointers = compilation.pinned.workflow, compilation.pointers
    trail = Findings("warning")
    check_reachability(workflow, pointers, trail)
    check_first_step(workflow, pointers, trail)
    check_validation(workflow, pointers, trail)
    check_soft_words(source.steps, trail)
    check_usage(source, workflow, trail)
    check_recommendation(source, workflow, trail)
    check_capabilities(source, workflow, trail)
    return tuple(trail.problems)
