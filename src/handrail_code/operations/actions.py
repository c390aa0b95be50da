"""`ports.OwnAction` by a code tool: a call without tokens for anybody, and a write bound to its preview."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from handrail.contract.catalogue import RESULTS_STALE
from handrail.contract.outcome import Fault, Json, Success
from handrail.contract.tokens.continuation import (
    Continuation,
    NextAction,
    missing_parameters,
    read_unproven,
    restore_parameters,
)
from handrail.engine.judge.actions import PLAN
from handrail.ports.actions import Preview
from handrail.runtime.hub import decode_input
from handrail.runtime.runtime import WritePorts
from handrail_code.operations.code_answers import plain_fields
from handrail_code.operations.continuing import TokenDesk
from handrail_code.operations.planned_files import hash_content
from handrail_code.operations.project_source import ProjectSource, read_sources

_FRAME = frozenset({"continuation_tokens", "next_actions", "warnings", "skipped"})
"""What an answer says to a caller and not about the code."""
_PLANNED = "planned"
_EDIT = "js-edit"


class CodeAction:
    """One call of a code tool in the project of the run."""

    def __init__(self, rt: WritePorts, project: str, operation: str, params: dict[str, Any]) -> None:
        self._rt = rt
        self._project = project
        self._called = rt.registry.operation(operation)
        self._params = params

    def call(self) -> dict[str, Json]:
        """What it answers, with the plan of a preview."""
        answer = self._perform({"aiMode": True, **self._params})
        result = {name: value for name, value in answer.items() if name not in _FRAME}
        if result.get("results"):
            result["first"] = result["results"][0]  # a placeholder names members, not items
        token = answer["continuation_tokens"].get("apply", "")
        if token:
            held = _read(token, plain_fields(self._decode(self._params)))
            result |= {
                PLAN: held.context.results_digest,
                _PLANNED: {"action": held.action, "parameters": held.parameters}
                | {name: self._params[name] for name in ("languages",) if name in self._params},
            }
        return result

    def apply(self, preview: Preview) -> dict[str, Json]:
        """Write the plan of a preview, unless its files are there already.

        Raises Fault RESULTS_STALE where they are neither those before nor those after it.
        """
        if self._is_applied(preview):
            return preview.describe_applied(already=True)
        planned, parameters = preview.planned, preview.planned.parameters
        desk = TokenDesk(self._rt, self._project, _EDIT)
        writing = NextAction(id="apply", label="Write it", guard=True)
        token = desk.mint(planned.action, parameters, preview.plan, writing, None)
        spelled = {one.name: one.encode_name for one in msgspec.structs.fields(self._called.input)}
        large = {spelled[name]: parameters[name] for name in missing_parameters(_read(token, {}))}
        params = {**self._params, "continuation": token, **large}
        params |= {"languages": planned.languages} if planned.languages else {}
        try:
            self._perform(params | ({"refetch": True} if large else {}))
        except Fault as fault:
            if fault.kind is RESULTS_STALE and self._is_applied(preview):  # another process was quicker
                return preview.describe_applied(already=True)
            raise
        return preview.describe_applied()

    def _perform(self, params: dict[str, Any]) -> dict[str, Any]:
        success = self._called.perform(self._rt, self._decode({**params, "project": self._project}))
        assert isinstance(success, Success), "a code tool answers with a document"
        assert isinstance(success.data, dict), "a code tool answers with an object"
        return success.data

    def _decode(self, params: dict[str, Any]) -> Any:
        return decode_input(self._called, params)

    def _is_applied(self, preview: Preview) -> bool:
        """Whether every file that the plan changes is as the plan leaves it."""

        def compare(source: ProjectSource) -> bool:
            return all(hash_content(source.text(one.file)) == one.after_hash for one in preview.changes)

        return bool(preview.changes) and read_sources(self._rt, self._project, compare)


def _read(token: str, given: Mapping[str, Json]) -> Continuation:
    """What a token that was minted here holds, its large parameters brought back from what was given."""
    held = read_unproven(token)
    assert held is not None, "it was minted a moment ago"
    return restore_parameters(held, dict(given)) or held
