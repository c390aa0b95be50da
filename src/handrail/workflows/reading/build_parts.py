"""Steps, choices, actions, template calls and loops, from a document that fits the grammar. Pure."""

from __future__ import annotations

import msgspec

from handrail.contract.outcome import Json
from handrail.workflows.compiled import UserOnly
from handrail.workflows.model import (
    PromptBlocks,
    PromptPart,
    RefPart,
    RepeatCount,
    RepeatForEach,
    RepeatUntil,
    RepeatWhile,
    SourceAction,
    SourceChoice,
    SourceFragment,
    SourceGate,
    SourceLoop,
    SourceOption,
    SourcePart,
    SourceRepeat,
    SourceStep,
    SourceTemplateCall,
)
from handrail.workflows.reading.build_conditions import (
    Object,
    Origin,
    build_confirmation,
    build_when,
    optional_when,
)
from handrail.workflows.reading.build_rules import build_rule
from handrail.workflows.reading.findings import escaped


def build_parts(parts: list[Object], pointer: str, origin: Origin) -> tuple[SourcePart, ...]:
    return tuple(_part(part, f"{pointer}/{index}", origin) for index, part in enumerate(parts))


def _part(value: Object, pointer: str, origin: Origin) -> SourcePart:
    match value.get("type", "step"):
        case "loop":
            return _loop(value, pointer, origin)
        case "template_call":
            return _template_call(value, pointer, origin)
        case "choice":
            return _choice(value, pointer, origin)
        case "action":
            return _action(value, pointer, origin)
        case _:
            return _step(value, pointer, origin)


def _step(value: Object, pointer: str, origin: Origin) -> SourceStep:
    output = value.get("output", {})
    return SourceStep(
        id=value["id"],
        title=value["title"],
        prompt=value.get("prompt", ""),
        blocks=_blocks(value, pointer, origin),
        fragments=_fragments(value, pointer, origin),
        guidance=tuple(value.get("guidance", ())),
        agent_role=value.get("agentRole", ""),
        require_confirmation=build_confirmation(value, pointer, origin),
        when=optional_when(value, pointer, origin),
        contract_ref=output.get("contractRef", ""),
        hints=tuple(output.get("hints", ())),
        rules=tuple(build_rule(rule) for rule in value.get("validation", ())),
        gates=_gates(value, pointer, origin),
        function_refs=tuple(value.get("functionRefs", ())),
        user_only=msgspec.convert(value["userOnly"], UserOnly) if "userOnly" in value else None,
        notes_optional=value.get("notesOptional", False),
        notes_required=value.get("notesOptional") is False,
        pointer=origin(pointer),
    )


def _blocks(step: Object, pointer: str, origin: Origin) -> PromptBlocks | None:
    if "promptBlocks" not in step:
        return None
    blocks, place = step["promptBlocks"], f"{pointer}/promptBlocks"
    required = blocks.get("outputRequired", {})
    return PromptBlocks(
        goal=_prompt_parts(blocks.get("goal", []), f"{place}/goal", origin),
        constraints=_prompt_parts(blocks.get("constraints", []), f"{place}/constraints", origin),
        procedure=_prompt_parts(blocks.get("procedure", []), f"{place}/procedure", origin),
        # Sorted, because the order of keys carries no meaning in JSON and must not reach the hash.
        output_required=tuple(
            (name, _prompt_part(required[name], f"{place}/outputRequired/{escaped(name)}", origin))
            for name in sorted(required)
        ),
        verify=_prompt_parts(blocks.get("verify", []), f"{place}/verify", origin),
    )


def _prompt_parts(value: Json, pointer: str, origin: Origin) -> tuple[PromptPart, ...]:
    """A block: a list of parts, or one alone."""
    if not isinstance(value, list):
        return (_prompt_part(value, pointer, origin),)
    return tuple(_prompt_part(part, f"{pointer}/{index}", origin) for index, part in enumerate(value))


def _prompt_part(value: Json, pointer: str, origin: Origin) -> PromptPart:
    return value if isinstance(value, str) else RefPart(ref_id=value["refId"], pointer=origin(pointer))


def _fragments(step: Object, pointer: str, origin: Origin) -> tuple[SourceFragment, ...]:
    return tuple(
        SourceFragment(
            id=fragment.get("id", ""),
            when=optional_when(fragment, f"{pointer}/promptFragments/{index}", origin),
            text=fragment["text"],
        )
        for index, fragment in enumerate(step.get("promptFragments", ()))
    )


def _gates(step: Object, pointer: str, origin: Origin) -> tuple[SourceGate, ...]:
    return tuple(
        SourceGate(
            assessment_id=gate["assessmentId"],
            followups=gate.get("followups", {}),
            pointer=origin(f"{pointer}/gates/{index}"),
        )
        for index, gate in enumerate(step.get("gates", ()))
    )


def _choice(value: Object, pointer: str, origin: Origin) -> SourceChoice:
    return SourceChoice(
        id=value["id"],
        title=value["title"],
        prompt=value["prompt"],
        options=tuple(
            SourceOption(
                id=option["id"],
                label=option["label"],
                description=option.get("description", ""),
                sets=option.get("set", {}),
            )
            for option in value["options"]
        ),
        non_assumable=value.get("nonAssumable"),
        when=optional_when(value, pointer, origin),
        pointer=origin(pointer),
    )


def _action(value: Object, pointer: str, origin: Origin) -> SourceAction:
    return SourceAction(
        id=value["id"],
        title=value["title"] if "title" in value else value["operation"],
        operation=value["operation"],
        params=value.get("params", {}),
        save_as=value.get("saveAs", ""),
        when=optional_when(value, pointer, origin),
        pointer=origin(pointer),
    )


def _template_call(value: Object, pointer: str, origin: Origin) -> SourceTemplateCall:
    return SourceTemplateCall(
        id=value.get("id", ""),
        title=value.get("title", ""),
        template_id=value["templateId"],
        args=value.get("args", {}),
        require_confirmation=build_confirmation(value, pointer, origin),
        when=optional_when(value, pointer, origin),
        pointer=origin(pointer),
    )


def _loop(value: Object, pointer: str, origin: Origin) -> SourceLoop:
    return SourceLoop(
        loop_id=value["loopId"] if "loopId" in value else value["id"],
        title=value.get("title", ""),
        repeat=_repeat(value, pointer, origin),
        max_iterations=int(value["maxIterations"]),
        body=build_parts(value["body"], f"{pointer}/body", origin),
        when=optional_when(value, pointer, origin),
        pointer=origin(pointer),
    )


def _repeat(loop: Object, pointer: str, origin: Origin) -> SourceRepeat:
    if "while" in loop:
        return RepeatWhile(condition=build_when(loop["while"], f"{pointer}/while", origin))
    if "until" in loop:
        return RepeatUntil(condition=build_when(loop["until"], f"{pointer}/until", origin))
    if "forEach" in loop:
        each = loop["forEach"]
        return RepeatForEach(input=each["input"], item=each["as"], index=each.get("indexAs", ""))
    count = loop["count"]
    if isinstance(count, dict):
        return RepeatCount(count=int(count["times"]), index=count.get("indexAs", ""))
    return RepeatCount(count=int(count))
