"""Prompts as an agent reads them: fixed headings in a fixed order, the same source the same text. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import msgspec

from handrail.contract.outcome import Json
from handrail.workflows.compiled import Contract, Gate, UserOnly
from handrail.workflows.contracts.samples import describe_fields
from handrail.workflows.model import PromptBlocks, PromptPart, RefPart
from handrail.workflows.prompt_sections import (
    ARTIFACT_TO_DELIVER,
    ASSESSMENT_TO_REPORT,
    QUESTIONS,
    make_section,
    make_user_section,
    show_example,
)

RefText: TypeAlias = Callable[[RefPart], str]


class Surrounding(msgspec.Struct, frozen=True, kw_only=True):
    """What stands around the author's own prompt, in the order in which it is read."""

    role: str = ""
    before: tuple[str, ...] = ()
    preconditions: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    guidance: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    user_only: UserOnly | None = None
    gates: tuple[Gate, ...] = ()
    contract: Contract | None = None
    example: dict[str, Json] = {}
    after: tuple[str, ...] = ()


def render_prompt(own: str, around: Surrounding) -> str:
    """The whole prompt. Without anything around it, it is the author's text."""
    role = around.role.strip()
    return _joined(
        [
            f"Role: {role}" if role else "",
            *around.before,
            make_section("Before you begin, make sure of this", _bullets(around.preconditions)),
            make_section(QUESTIONS, _bullets(around.questions)),
            own,
            make_section("Guidance", _bullets(around.guidance)),
            make_section("Hints", _bullets(around.hints)),
            make_section("Rules for every step", _bullets(around.rules)),
            make_user_section(around.user_only) if around.user_only else "",
            *(_gate(gate) for gate in around.gates),
            _artifact(around.contract, around.example),
            *around.after,
        ]
    )


def render_blocks(blocks: PromptBlocks, ref_text: RefText) -> str:
    """EXEC "PromptBlocks": the five blocks, each under its own heading."""

    def texts(parts: tuple[PromptPart, ...]) -> list[str]:
        return [part if isinstance(part, str) else ref_text(part) for part in parts]

    required = [(name, texts((part,))[0]) for name, part in blocks.output_required]
    return _joined(
        [
            make_section("Goal", _joined(texts(blocks.goal))),
            make_section("Constraints", _bullets(texts(blocks.constraints))),
            make_section("Procedure", _numbers(texts(blocks.procedure))),
            make_section("Output required", _bullets(f"{name}: {text.strip()}" for name, text in required)),
            make_section("Verify", _bullets(texts(blocks.verify))),
        ]
    )


def gate_example(gate: Gate) -> dict[str, Json]:
    """A report that lets the run go on: of each dimension the first level that demands nothing."""
    levels = {
        name: next((level for level in levels if level not in gate.followups), levels[0])
        for name, levels in gate.dimensions.items()
    }
    return {"kind": "wr.assessment", "assessmentId": gate.assessment_id, "dimensions": levels}


def _artifact(contract: Contract | None, example: dict[str, Json]) -> str:
    if contract is None:
        return ""
    body = _joined([contract.guidance, show_example(example), _bullets(describe_fields(contract.schema))])
    return make_section(f"{ARTIFACT_TO_DELIVER}{contract.artifact_kind}", body)


def _gate(gate: Gate) -> str:
    levels = _bullets(f"{name}: {', '.join(levels)}" for name, levels in sorted(gate.dimensions.items()))
    asked = f"Report one level for each dimension:\n{levels}"
    body = _joined([gate.purpose, asked, show_example(gate_example(gate))])
    return make_section(f"{ASSESSMENT_TO_REPORT}{gate.assessment_id}", body)


def _bullets(items: Iterable[str]) -> str:
    return "\n".join(f"- {_hung(item, 2)}" for item in items if item.strip())


def _numbers(items: Iterable[str]) -> str:
    kept = [item for item in items if item.strip()]
    return "\n".join(f"{place}. {_hung(item, 3)}" for place, item in enumerate(kept, 1))


def _hung(text: str, indent: int) -> str:
    """Later lines stand under the first, so that a list stays one list."""
    return text.strip().replace("\n", "\n" + " " * indent)


def _joined(pieces: Iterable[str]) -> str:
    return "\n\n".join(piece.strip() for piece in pieces if piece.strip())
