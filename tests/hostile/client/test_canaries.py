"""No operation tells a private file apart: two worlds that differ only in what such files hold answer alike.

Every operation of the registry is called with paths, patterns, quotations and links that lead to a canary.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.contract.outcome import Failure
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from tests.hostile.repository.checkout import run_git
from tests.hostile.spelled import carries
from tests.journeys.test_no_oracle import CONTRACT, FLOW, begin, open_home, report
from tests.worktree.project import commit, write

pytestmark = pytest.mark.thorough

GUESS = "the canary sings"
SECRETS = ("four times by day", "nine times at night")
"""What differs between the worlds; no argument holds it."""
PRIVATE = (
    ".handrail/server/token",
    ".handrail/data/keys/canary",
    ".handrail/data/confirmed/canary",
    ".handrail/data/sessions/canary",
    ".git/canary",
    ".env",
    ".handrail/keys/canary.json",
    ".git/canary.yaml",
    ".env.json",
    "../neighbour/src/theirs.py",
)
TOLD = re.compile(
    r"[A-Za-z0-9_+/-]{40,}|[a-z]{2}1[A-Za-z0-9_-]{20,}|[a-z]{3}_[a-z0-9]{10,}(?:_[a-z0-9]+)*|(?:sha\d+|t1):[0-9a-f]+"
    r"|\b[0-9a-f]{16,64}\b|\d{4}-\d\d-\d\dT[0-9:.+Z]+|\b\d+(?:\.\d+)?\b"
)
"""Names, digests, times and numbers: they differ from world to world anyway."""
ARGUMENTS = (
    *PRIVATE,
    "src/link",
    "src/folder/server/token",
    ".handrail/server/token:1",
    "<root>/.handrail/server/token",
    "**/canary*",
    "canary",
    GUESS,
    f"{GUESS} four.*",
)
TOKENS = ("ackToken", "stateToken", "checkpointToken")
ACTING = frozenset({"run.continue", "run.checkpoint"})
_LOOKED_AT_ELSEWHERE = frozenset({"check.run", "store.selftest"})
"""Starts programs of the user, with the user's rights, or works on a scratch store for minutes."""

IN_ITS_OWN_ORDER = "session.export"
"""Full of random ids, by which it is sorted: only searched for the secrets."""


def build(place: Path, secret: str) -> tuple[Runtime, Path]:
    root = place / "owner"
    write(root, "src/a.py", "a = 1\n")
    run_git(root, "init", "-q", ".")
    commit(root)
    write(root, ".handrail/workflows/project.place.json", json.dumps(FLOW))
    write(root, ".handrail/contracts/project.contracts.quoting.json", json.dumps(CONTRACT))
    for path in PRIVATE:
        write(root, path, _spell(path, f"{GUESS} {secret}"))
    (root / "src/link").symlink_to("../.handrail/server/token")
    (root / "src/folder").symlink_to("../.handrail")
    write(root, ".handrail/config.json", json.dumps({"workflowDirectories": ["flows", ".handrail/keys"]}))
    (root / "flows").mkdir()
    (root / "flows/link.json").symlink_to("../.handrail/keys/canary.json")
    (root / "flows/name.json").hardlink_to(root / ".handrail/keys/canary.json")
    (root / "flows/credentials.json").symlink_to("../.env.json")
    return open_home(root), root


def _spell(path: str, said: str) -> str:
    """As a workflow with mistakes in it, where the name is one of a workflow: mistakes are told in full."""
    if path.endswith(".json"):
        return json.dumps({"id": said, said: said})
    return f"id: {said}\n{said}: x\n" if path.endswith(".yaml") else f"{said}\n"


def list_calls(runtime: Runtime, root: Path, known: dict[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every operation with each of its open members at each argument; required ones are filled in."""
    for held in runtime.registry.operations():
        if held.effect == "process" or held.name in _LOOKED_AT_ELSEWHERE:
            continue
        fields = msgspec.structs.fields(held.input)
        names = {one.encode_name for one in fields} - set(() if held.name in ACTING else TOKENS)
        base = {name: value for name, value in known.items() if name in names}
        required = {one.encode_name: "x" for one in fields if one.required}
        yield held.name, {**required, **base}
        for one in fields:
            for text in ARGUMENTS:
                spelled = text.replace("<root>", str(root))
                for value in (spelled, [spelled], {"x": spelled}, {"notesMarkdown": spelled}):
                    if _fits(one, value):
                        yield held.name, {**required, **base, one.encode_name: value}


def _fits(field: msgspec.structs.FieldInfo, value: Any) -> bool:
    try:
        msgspec.convert(value, field.type)
    except msgspec.ValidationError:
        return False
    return True


def tell(runtime: Runtime, root: Path, name: str, params: dict[str, Any]) -> str:
    outcome = perform(runtime, name, params)
    said = msgspec.structs.asdict(outcome)
    if isinstance(outcome, Failure):
        said["kind"] = outcome.kind.code
    text = json.dumps(msgspec.to_builtins(said, enc_hook=str), sort_keys=True)
    carried = [secret for secret in SECRETS if carries(text.encode(), secret.encode())]
    return TOLD.sub("#", text.replace(str(root.parent), "<place>")) + "".join(carried)


def test_no_answer_depends_on_what_a_private_file_holds(tmp_path: Path) -> None:
    worlds = [build(tmp_path / name, secret) for name, secret in zip(("qqx", "qqz"), SECRETS, strict=True)]
    starts = [begin(runtime) for runtime, _ in worlds]
    known = [
        {"session": one["session"]["sessionId"], "sessionId": one["session"]["sessionId"]}
        | {name: one[name] for name in ("ackToken", "checkpointToken")}
        | {"workflowId": "project.place", "run": one["session"]["sessionId"]}
        for one in starts
    ]
    calls = [list(list_calls(*world, held)) for world, held in zip(worlds, known, strict=True)]
    differing: list[str] = []

    for (name, one), (_, other) in zip(*calls, strict=True):
        answers = [tell(*world, name, params) for world, params in zip(worlds, (one, other), strict=True)]
        is_alike = name == IN_ITS_OWN_ORDER or answers[0] == answers[1]
        if not is_alike or any(one.endswith(SECRETS) for one in answers):
            differing.append(f"{name} {one}: {answers[0][:300]} | {answers[1][:300]}")

    assert len({name for name, _ in calls[0]}) > 50
    assert differing == []


@pytest.mark.parametrize("path", [*PRIVATE, "src/link", "src/folder/server/token"])
def test_a_quotation_of_a_canary_is_answered_alike(tmp_path: Path, path: str) -> None:
    said = []
    for at, secret in enumerate(SECRETS):
        runtime, root = build(tmp_path / str(at), secret)
        token = begin(runtime)["ackToken"]
        output = {"notesMarkdown": "n", "artifacts": [report(path, f"{GUESS} {SECRETS[0]}")]}
        said.append(
            tell(runtime, root, "run.continue", {"ackToken": token, "output": output, "dryRun": True})
        )

    assert said[0] == said[1]
