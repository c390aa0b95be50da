"""What an author wrote, read from JSON; everything wrong with it is reported at once. Pure."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.contract.canonical import decode_json
from handrail.contract.outcome import Fault
from handrail.contract.suggest import nearest
from handrail.workflows.problem import Problem, ProblemCode

MAX_SOURCE_BYTES = 1_000_000
MAX_STEPS = 1_000
MAX_PROMPT_BYTES = 32_768
MAX_TITLE_CHARACTERS = 200
MAX_DESCRIPTION_CHARACTERS = 2_000

WorkflowKind: TypeAlias = Literal["workflow", "routine"]
IdStatus: TypeAlias = Literal["namespaced", "legacy"]

_NAMESPACED = re.compile(r"[a-z][a-z0-9_-]*\.[a-z][a-z0-9_-]*", re.ASCII)
_LEGACY = re.compile(r"[a-z][a-z0-9_-]*", re.ASCII)
_STEP_ID = re.compile(r"[a-z0-9_-]{1,64}", re.ASCII)

_WORKFLOW_KEYS = ("id", "kind", "name", "description", "version", "agentRole", "steps")
_STEP_KEYS = ("id", "title", "prompt", "agentRole", "requireConfirmation")


class SourceStep(msgspec.Struct, frozen=True, kw_only=True):
    """One authored step."""

    id: str
    title: str
    prompt: str
    agent_role: str = ""
    require_confirmation: bool = False


class SourceWorkflow(msgspec.Struct, frozen=True, kw_only=True):
    """A whole authored workflow, free of problems."""

    id: str
    kind: WorkflowKind
    name: str
    description: str
    version: str
    agent_role: str
    steps: tuple[SourceStep, ...]


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of reading one file: a workflow, or why there is none."""

    workflow: SourceWorkflow | None
    problems: tuple[Problem, ...]


def id_status(workflow_id: str) -> IdStatus:
    return "namespaced" if "." in workflow_id else "legacy"


def read_source(content: bytes) -> Reading:
    """Decode and check one workflow file."""
    try:
        document = decode_json(content, max_bytes=MAX_SOURCE_BYTES)
    except Fault as fault:
        problem = Problem(
            code="unreadable",
            message=fault.message,
            pointer="",
            fix="Write one JSON object in UTF-8, without a byte-order mark.",
        )
        return Reading(workflow=None, problems=(problem,))
    reader = _Reader()
    workflow = reader.workflow(document)
    problems = tuple(reader.problems)
    return Reading(workflow=None if problems else workflow, problems=problems)


class _Reader:
    """Collects problems while it reads, so that an author sees all of them in one run."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def workflow(self, document: Any) -> SourceWorkflow | None:
        if not isinstance(document, dict):
            self._report(
                "not_an_object", "", "A workflow file holds one JSON object.", "Wrap the content in { }."
            )
            return None
        self._refuse_unknown_keys(document, _WORKFLOW_KEYS, "")
        kind = document.get("kind", "workflow")
        if kind not in ("workflow", "routine"):
            self._report(
                "bad_value", "/kind", "kind is neither workflow nor routine.", 'Write "kind": "workflow".'
            )
        return SourceWorkflow(
            id=self._workflow_id(document),
            kind="routine" if kind == "routine" else "workflow",
            name=self._text(document, "name", "", most_characters=MAX_TITLE_CHARACTERS),
            description=self._text(document, "description", "", most_characters=MAX_DESCRIPTION_CHARACTERS),
            version=self._text(document, "version", "", default="1.0.0", most_characters=32),
            agent_role=self._text(
                document, "agentRole", "", default="", most_characters=MAX_DESCRIPTION_CHARACTERS
            ),
            steps=self._steps(document.get("steps")),
        )

    def _workflow_id(self, document: dict[str, Any]) -> str:
        workflow_id = self._text(document, "id", "", most_characters=128)
        if workflow_id and not (_NAMESPACED.fullmatch(workflow_id) or _LEGACY.fullmatch(workflow_id)):
            self._report(
                "bad_id",
                "/id",
                "The id is not namespace.name with exactly one dot.",
                "Use lower-case letters, digits, _ and -, such as project.bug_investigation.",
            )
        return workflow_id

    def _steps(self, steps: Any) -> tuple[SourceStep, ...]:
        if not isinstance(steps, list) or not steps:
            self._report("no_steps", "/steps", "steps is not a list with at least one step.", "Add a step.")
            return ()
        if len(steps) > MAX_STEPS:
            fix = "Split the workflow, or move repeated work into one step."
            self._report("too_large", "/steps", f"{len(steps)} steps are more than {MAX_STEPS}.", fix)
            return ()
        read = tuple(self._step(step, f"/steps/{place}") for place, step in enumerate(steps))
        seen: set[str] = set()
        for place, step in enumerate(read):
            if step.id and step.id in seen:
                message = f"Another step already has the id {step.id}."
                self._report("duplicate_id", f"/steps/{place}/id", message, "Give every step its own id.")
            seen.add(step.id)
        return read

    def _step(self, step: Any, pointer: str) -> SourceStep:
        if not isinstance(step, dict):
            self._report("wrong_type", pointer, "A step is a JSON object.", "Wrap the step in { }.")
            return SourceStep(id="", title="", prompt="")
        self._refuse_unknown_keys(step, _STEP_KEYS, pointer)
        step_id = self._text(step, "id", pointer, most_characters=64)
        if step_id and not _STEP_ID.fullmatch(step_id):
            fix = "Use 1 to 64 lower-case letters, digits, _ and -."
            self._report("bad_id", f"{pointer}/id", "The step id has other characters than [a-z0-9_-].", fix)
        confirmation = step.get("requireConfirmation", False)
        if not isinstance(confirmation, bool):
            fix = "Write true or false."
            self._report(
                "wrong_type", f"{pointer}/requireConfirmation", "requireConfirmation is not a boolean.", fix
            )
        return SourceStep(
            id=step_id,
            title=self._text(step, "title", pointer, most_characters=MAX_TITLE_CHARACTERS),
            prompt=self._prompt(step, pointer),
            agent_role=self._text(
                step, "agentRole", pointer, default="", most_characters=MAX_DESCRIPTION_CHARACTERS
            ),
            require_confirmation=confirmation is True,
        )

    def _prompt(self, step: dict[str, Any], pointer: str) -> str:
        prompt = self._text(step, "prompt", pointer)
        size = len(prompt.encode())
        if size > MAX_PROMPT_BYTES:
            message = f"The prompt has {size} bytes, more than {MAX_PROMPT_BYTES}."
            self._report("too_large", f"{pointer}/prompt", message, "Split the step.")
        return prompt

    def _text(
        self,
        holder: dict[str, Any],
        key: str,
        pointer: str,
        default: str | None = None,
        most_characters: int | None = None,
    ) -> str:
        """A text value; without a default it must be there and must not be blank."""
        value = holder.get(key, default)
        place = f"{pointer}/{key}"
        if value is None and key not in holder:
            self._report("missing_key", pointer, f"{key} is missing.", f'Add "{key}".')
            return ""
        if not isinstance(value, str):
            self._report("wrong_type", place, f"{key} is not a text.", f'Write "{key}": "…".')
            return ""
        if default is None and not value.strip():
            self._report("bad_value", place, f"{key} is empty.", f"Say something in {key}.")
        if most_characters is not None and len(value) > most_characters:
            message = f"{key} has {len(value)} characters, more than {most_characters}."
            self._report("too_large", place, message, "Shorten it.")
        return value

    def _refuse_unknown_keys(self, holder: dict[str, Any], known: tuple[str, ...], pointer: str) -> None:
        for key in sorted(set(holder) - set(known)):
            near = nearest(key, known, 1)
            fix = f"Did you mean {near[0]}?" if near else f"Known keys: {', '.join(known)}."
            escaped = key.replace("~", "~0").replace("/", "~1")
            self._report(
                "unknown_key", f"{pointer}/{escaped}", f"The key {key[:80]!r} is not known here.", fix
            )

    def _report(self, code: ProblemCode, pointer: str, message: str, fix: str) -> None:
        self.problems.append(Problem(code=code, message=message, pointer=pointer, fix=fix))
