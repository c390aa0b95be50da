"""Put the parts of a template or a routine where it is called: names, ids, titles, conditions.
Pure.

A routine's own declarations are resolved here, because the calling workflow does not know them: its
conditions become inline ones, its functions and its stance go to the steps that need them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from typing import Any, TypeAlias, assert_never

from msgspec.structs import replace

from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.outcome import make_from
from handrail.contract.redaction import change_texts
from handrail.workflows.builtins.specs import TemplateContext, TemplateNeeds, TemplateSpec
from handrail.workflows.compiled import Count, ForEach, UserOnly
from handrail.workflows.conditions import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Compare,
    Condition,
    Facts,
    LoopControl,
    Not,
    Or,
    decided,
    holds,
)
from handrail.workflows.limits import MAX_ID_CHARACTERS, MAX_TITLE_CHARACTERS
from handrail.workflows.model import (
    ConditionRef,
    InlineCondition,
    PromptBlocks,
    PromptPart,
    RefPart,
    RepeatUntil,
    RepeatWhile,
    SourceAction,
    SourceChoice,
    SourceDelegate,
    SourceLoop,
    SourcePart,
    SourceRepeat,
    SourceStep,
    SourceTemplateCall,
    SourceWorkflow,
    When,
    map_blocks,
    names_set_by,
    walk_source,
)

# `{{name}}` in texts

PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*)\s*\}\}")
"""Pattern of `{{name}}` or `{{name.member}}`; the first group is the dotted name."""


def parse_placeholder(value: Any) -> str:
    """Return the dotted name if a value is one `{{name}}` and nothing else; otherwise empty."""
    whole = PLACEHOLDER.fullmatch(value.strip()) if isinstance(value, str) else None
    return whole[1] if whole else ""


def fill_names(text: str, values: Mapping[str, Any]) -> str:
    """Return the text with each known name replaced once; unknown names stay for the run to fill in."""
    return PLACEHOLDER.sub(lambda match: _filled(match, values), text)


def _filled(match: re.Match[str], values: Mapping[str, Any]) -> str:
    head, _, rest = match[1].partition(".")
    if head not in values:
        return match[0]
    value = values[head]
    renamed = parse_placeholder(value)
    if renamed:
        return "{{" + (f"{renamed}.{rest}" if rest else renamed) + "}}"
    for name in rest.split(".") if rest else ():
        if not isinstance(value, Mapping) or name not in value:
            return match[0]
        value = value[name]
    return phrase_value(value)


def phrase_value(value: Any) -> str:
    """Return a value for use in a sentence: texts as they are, lists with commas, the rest as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(phrase_value(each) for each in value)
    return canonical_bytes(value).decode()


# Parts


def place_parts(parts: tuple[SourcePart, ...], context: TemplateContext) -> tuple[SourcePart, ...]:
    """Return the parts of a template as parts of the calling workflow.

    A single part gets the id and the title of the call; the ids and titles of several begin with
    it.
    """
    names = _PlacedNames(context, alone=len(parts) == 1)
    moved = tuple(_placed(part, names, context.pointer, is_top=True) for part in parts)
    return moved if context.require_confirmation is False else _confirmed(moved, context.require_confirmation)


def join_ids(prefix: str, name: str) -> str:
    """Return one id made of two; if it would be too long, a digest replaces its end."""
    whole = f"{prefix}-{name}"
    if len(whole) <= MAX_ID_CHARACTERS:
        return whole
    return whole[: MAX_ID_CHARACTERS - 9] + "-" + sha256(whole.encode()).hexdigest()[:8]


def default_prefix(template_id: str) -> str:
    """Return the id of a call without one; the compiler numbers a second one."""
    return template_id.rpartition(".")[2]


class _PlacedNames:
    """Ids and titles of expanded parts."""

    def __init__(self, context: TemplateContext, *, alone: bool) -> None:
        self._context = context
        self._alone = alone

    def top(self, name: str) -> str:
        return self._context.prefix if self._alone else self.inner(name)

    def inner(self, name: str) -> str:
        return join_ids(self._context.prefix, name)

    def title(self, title: str) -> str:
        given = self._context.title
        if not given or self._alone:
            return given or title
        return f"{given}: {title}"[:MAX_TITLE_CHARACTERS]


def _placed(part: SourcePart, names: _PlacedNames, pointer: str, *, is_top: bool = False) -> SourcePart:
    """Return a part with the caller's names; one inside a loop keeps its title, because the loop gets the
    call's title.
    """
    own = names.top if is_top else names.inner
    title = names.title(part.title) if is_top and part.title else part.title
    match part:
        case SourceLoop():
            body = tuple(_placed(inner, names, pointer) for inner in part.body)
            return replace(part, loop_id=own(part.loop_id), title=title, body=body, pointer=pointer)
        case SourceTemplateCall():
            name = part.id or default_prefix(part.template_id)
            return replace(part, id=own(name), title=title, pointer=pointer)
        case SourceStep():
            return replace(_at(part, pointer), id=own(part.id), title=title, pointer=pointer)
        case SourceChoice() | SourceAction() | SourceDelegate():
            return replace(part, id=own(part.id), title=title, pointer=pointer)
        case never:
            assert_never(never)


def _at(step: SourceStep, pointer: str) -> SourceStep:
    """Return a step whose inner places are that of the call, because the author's file has no others."""

    def move(part: PromptPart) -> PromptPart:
        return replace(part, pointer=pointer) if isinstance(part, RefPart) else part

    blocks = None if step.blocks is None else map_blocks(step.blocks, move)
    return replace(step, blocks=blocks, gates=tuple(replace(gate, pointer=pointer) for gate in step.gates))


def _confirmed(parts: tuple[SourcePart, ...], confirmation: bool | When) -> tuple[SourcePart, ...]:
    """Ask for confirmation at the last step; loops are searched from the end."""
    for index in range(len(parts) - 1, -1, -1):
        changed = _asking(parts[index], confirmation)
        if changed is not None:
            return (*parts[:index], changed, *parts[index + 1 :])
    return parts


def _asking(part: SourcePart, confirmation: bool | When) -> SourcePart | None:
    """Return the part with the confirmation; None if it cannot have one."""
    match part:
        case SourceStep() | SourceTemplateCall():
            asked = True if part.require_confirmation is True else confirmation
            return replace(part, require_confirmation=asked)
        case SourceLoop(body=body):
            changed = _confirmed(body, confirmation)
            return None if changed is body else replace(part, body=changed)
        case SourceChoice() | SourceAction() | SourceDelegate():
            return None
        case never:
            assert_never(never)


# Conditions of a routine once its arguments are known: decided, renamed or left alone


def bind_condition(condition: Condition, args: Mapping[str, Any]) -> Condition:
    """Return the condition in terms of the calling workflow.

    A comparison with an argument that is a value is decided now. One with an argument that is
    `{{name}}` reads that input instead. Everything else is left to the run.
    """
    match condition:
        case Compare():
            return _bound_comparison(condition, args)
        case And(of=parts):
            return _join(And, [bind_condition(part, args) for part in parts])
        case Or(of=parts):
            return _join(Or, [bind_condition(part, args) for part in parts])
        case Not(of=part):
            return _opposite(bind_condition(part, args))
        case AlwaysTrue() | AlwaysFalse() | LoopControl():
            return condition
        case never:
            assert_never(never)


def _bound_comparison(condition: Compare, args: Mapping[str, Any]) -> Condition:
    head, _, rest = condition.input.partition(".")
    if head not in args:
        return condition
    renamed = parse_placeholder(args[head])
    if renamed:
        return replace(condition, input=f"{renamed}.{rest}" if rest else renamed)
    return decided(holds(condition, Facts(values={head: args[head]})))


def _join(joint: type[And | Or], parts: list[Condition]) -> Condition:
    """Return one condition made of several, without those that are decided already."""
    neutral, final = decided(joint is And), decided(joint is Or)
    open_parts = tuple(part for part in parts if part != neutral)
    if final in parts or not open_parts:
        return final if final in parts else neutral
    return open_parts[0] if len(open_parts) == 1 else joint(of=open_parts)


def _opposite(condition: Condition) -> Condition:
    match condition:
        case AlwaysTrue():
            return AlwaysFalse()
        case AlwaysFalse():
            return AlwaysTrue()
        case _:
            return Not(of=condition)


# Rewriting the texts that an agent or a person reads

Rewrite: TypeAlias = Callable[[Any], Any]
"""A function that rewrites the texts of a JSON value; a text that is read stays a text."""


def rewrite_texts(part: SourcePart, rewrite: Rewrite) -> SourcePart:
    """Return the part with every text for agents or people rewritten; ids, conditions and loop
    bodies stay.
    """

    def text(value: str) -> str:
        return phrase_value(rewrite(value))

    match part:
        case SourceStep():
            return replace(
                part,
                title=text(part.title),
                prompt=text(part.prompt),
                blocks=None if part.blocks is None else _blocks(part.blocks, text),
                fragments=tuple(replace(each, text=text(each.text)) for each in part.fragments),
                guidance=tuple(text(each) for each in part.guidance),
                agent_role=text(part.agent_role),
                hints=tuple(text(each) for each in part.hints),
            )
        case SourceChoice():
            options = tuple(
                replace(
                    each, label=text(each.label), description=text(each.description), sets=rewrite(each.sets)
                )
                for each in part.options
            )
            return replace(part, title=text(part.title), prompt=text(part.prompt), options=options)
        case SourceAction():
            return replace(part, title=text(part.title), params=rewrite(part.params))
        case SourceDelegate():
            children = tuple(
                replace(each, inputs=rewrite(each.inputs), brief=text(each.brief)) for each in part.children
            )
            return replace(part, title=text(part.title), children=children)
        case SourceTemplateCall():
            return replace(part, title=text(part.title), args=rewrite(part.args))
        case SourceLoop():
            return replace(part, title=text(part.title))
        case never:
            assert_never(never)


def _blocks(blocks: PromptBlocks, text: Callable[[str], str]) -> PromptBlocks:
    return map_blocks(blocks, lambda part: text(part) if isinstance(part, str) else part)


_ROUTINE = re.compile(r"^routine[-_]")


# The template of a routine


def routine_template_id(workflow_id: str) -> str:
    """Return the template id of a routine: `wr.routine_plan_review` is called as
    `wr.templates.routine.plan_review`.

    Routines of a project keep their namespace: `acme.routine_x` is `acme.templates.routine.x`.
    """
    namespace, _, name = workflow_id.rpartition(".")
    return f"{namespace or 'wr'}.templates.routine.{_ROUTINE.sub('', name)}"


def make_routine_template(routine: SourceWorkflow) -> TemplateSpec:
    """Return the template for a routine; its declared inputs are the arguments."""

    def expand(args: dict[str, Any], context: TemplateContext) -> tuple[SourcePart, ...]:
        binding = _Binding(routine, args)
        parts = tuple(done for part in _with_stance(routine) for done in binding.part(part))
        return place_parts(parts, context)

    return TemplateSpec(
        id=routine_template_id(routine.id),
        title=routine.name,
        summary=routine.description,
        args=routine.inputs,
        expand=expand,
        example_args={
            name: spec.enum[0] if spec.enum else "{{" + name + "}}"
            for name, spec in routine.inputs.items()
            if spec.required
        },
        takes_inputs=True,
        names_inputs=tuple(sorted(set(_looped_inputs(routine.steps)) & set(routine.inputs))),
        brings=make_from(TemplateNeeds, routine),
    )


def _looped_inputs(parts: tuple[SourcePart, ...]) -> Iterator[str]:
    repeats = (part.repeat for part in walk_source(parts) if isinstance(part, SourceLoop))
    return (repeat.input for repeat in repeats if isinstance(repeat, ForEach))


def _with_stance(routine: SourceWorkflow) -> tuple[SourcePart, ...]:
    """Add role and guidance to every step, preconditions and questions to the first."""
    parts = tuple(_in_role(part, routine) for part in routine.steps)
    before = (
        *(f"Before you begin: {text}" for text in routine.preconditions),
        *(f"Settle first, from what is known or with the user: {text}" for text in routine.questions),
    )
    for index, part in enumerate(parts):
        if before and isinstance(part, SourceStep):
            opened = replace(part, guidance=(*before, *part.guidance))
            return (*parts[:index], opened, *parts[index + 1 :])
    return parts


def _in_role(part: SourcePart, routine: SourceWorkflow) -> SourcePart:
    match part:
        case SourceStep():
            known = [name for name in part.function_refs if name in routine.functions]
            texts = tuple(f"{name}: {routine.functions[name]}" for name in dict.fromkeys(known))
            return replace(
                part,
                agent_role=part.agent_role or routine.agent_role,
                guidance=(*part.guidance, *routine.guidance, *texts),
                function_refs=tuple(name for name in part.function_refs if name not in routine.functions),
            )
        case SourceLoop():
            return replace(part, body=tuple(_in_role(inner, routine) for inner in part.body))
        case SourceChoice() | SourceAction() | SourceDelegate() | SourceTemplateCall():
            return part
        case never:
            assert_never(never)


class _Binding:
    """The arguments of one call, inserted into the parts of a routine."""

    def __init__(self, routine: SourceWorkflow, args: Mapping[str, Any]) -> None:
        own = set(names_set_by(routine.steps))
        self._conditions = routine.conditions
        self._args = {
            name: value for name, value in args.items() if name in routine.inputs and name not in own
        }

    def part(self, part: SourcePart) -> tuple[SourcePart, ...]:
        """Return the part with its arguments; none if they decide that it never runs."""
        when = self._when(part.when)
        if _never(when):
            return ()
        moved = rewrite_texts(replace(part, when=when), self._filled)
        match moved:
            case SourceStep():
                return (self._step(moved),)
            case SourceLoop():
                body = tuple(done for inner in moved.body for done in self.part(inner))
                return (replace(moved, body=body, repeat=self._repeat(moved.repeat)),) if body else ()
            case SourceTemplateCall(require_confirmation=asked):
                return (replace(moved, require_confirmation=self._asked(asked)),)
            case SourceDelegate():
                children = tuple(replace(one, when=self._when(one.when)) for one in moved.children)
                return (replace(moved, children=children),)
            case SourceChoice() | SourceAction():
                return (moved,)
            case never:
                assert_never(never)

    def _filled(self, value: Any) -> Any:
        """Return a value with its argument: a value that is one `{{name}}` becomes the argument, whatever
        its type.
        """
        return change_texts(value, self._filled_text)

    def _filled_text(self, text: str) -> Any:
        name = parse_placeholder(text)
        if name in self._args and not parse_placeholder(self._args[name]):
            return self._args[name]
        return fill_names(text, self._args)

    def _when(self, when: When | None) -> When | None:
        """Return the condition, inline and bound; None if it always holds. An unknown id stays, to be
        reported later.
        """
        match when:
            case None:
                return None
            case ConditionRef(condition_id=name, pointer=pointer):
                if name not in self._conditions:
                    return when
                condition = bind_condition(self._conditions[name], self._args)
            case InlineCondition(pointer=pointer):
                condition = bind_condition(when.condition, self._args)
            case never:
                assert_never(never)
        if isinstance(condition, AlwaysTrue):
            return None
        return InlineCondition(condition=condition, pointer=pointer)

    def _kept(self, when: When) -> When:
        """Return a condition even if it always holds, for places that need one."""
        found = self._when(when)
        return InlineCondition(condition=AlwaysTrue(), pointer=when.pointer) if found is None else found

    def _asked(self, asked: bool | When) -> bool | When:
        if isinstance(asked, bool):
            return asked
        found = self._when(asked)
        if found is None:
            return True
        return False if _never(found) else found

    def _step(self, step: SourceStep) -> SourceStep:
        fragments = []
        for fragment in step.fragments:
            when = self._when(fragment.when)
            if not _never(when):
                fragments.append(replace(fragment, when=when))
        return replace(
            step,
            fragments=tuple(fragments),
            require_confirmation=self._asked(step.require_confirmation),
            user_only=self._user_only(step.user_only),
        )

    def _user_only(self, needed: UserOnly | None) -> UserOnly | None:
        """Return the rule that only the user gives a value: answered by the argument, bound to its input,
        or unchanged.
        """
        if needed is None or needed.input not in self._args:
            return needed
        renamed = parse_placeholder(self._args[needed.input])
        return replace(needed, input=renamed) if renamed else None

    def _repeat(self, repeat: SourceRepeat) -> SourceRepeat:
        match repeat:
            case RepeatWhile(condition=condition) | RepeatUntil(condition=condition):
                return replace(repeat, condition=self._kept(condition))
            case ForEach(input=name):
                return replace(repeat, input=parse_placeholder(self._args.get(name)) or name)
            case Count():
                return repeat
            case never:
                assert_never(never)


def _never(when: When | None) -> bool:
    return isinstance(when, InlineCondition) and isinstance(when.condition, AlwaysFalse)
