"""CONT's sections 6 and 7, run line by line: every command as printed, every printed key answered."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.code_project import CodeProject
from tests.journeys.test_code_workflows import REFACTOR
from tests.worktree.project import write

pytestmark = pytest.mark.promise("code.cont.printed")

MENU = """
$ js-scan --search "myFunc" --ai-mode --json
{
  "results": [...],
  "continuation_tokens": {
    "analyze:0": "TOKEN_A",
    "analyze:1": "TOKEN_B",
    "ripple:0": "TOKEN_C"
  }
}
$ js-scan --continuation TOKEN_A --json
$ js-scan --continuation TOKEN_B --json
$ js-scan --continuation TOKEN_C --json
"""
PREVIEW = """
$ js-edit --file src/app.js --locate myFunc --ai-mode --json
{
  "location": {...},
  "continuation_tokens": {
    "extract_preview": "TOKEN_EXTRACT_PREVIEW",
    "rename_preview": "TOKEN_RENAME_PREVIEW"
  }
}
$ js-edit --continuation TOKEN_EXTRACT_PREVIEW --json
{
  "status": "preview",
  "changes": [...],
  "continuation_tokens": {
    "apply": "TOKEN_APPLY",
    "cancel": "TOKEN_CANCEL"
  }
}
"""
CANCEL = "$ js-edit --continuation TOKEN_CANCEL --json"
APPLY = """
$ js-edit --continuation TOKEN_APPLY --fix --json
{
  "status": "success",
  "files_modified": [...]
}
"""
ORCHESTRATION = """
$ js-tools --workflow my-refactor.json --checkpoint-mode --json
{
  "current_step": "decide",
  "awaiting_input": true,
  "continuation_tokens": {
    "choice:yes": "TOKEN_YES",
    "choice:no": "TOKEN_NO"
  }
}
$ js-tools --workflow-resume TOKEN_YES --json
"""
INVALID = """
$ js-scan --continuation "invalid_token" --json
{
  "status": "error",
  "code": "INVALID_TOKEN",
  "message": "...",
  "recovery": {
    "suggestion": "...: js-scan --search 'myFunc'",
    "recovery_token": "TOKEN_REISSUE"
  }
}
$ js-scan --continuation TOKEN_REISSUE --json
"""
EXPIRED = """
$ js-scan --continuation "expired_token" --json
{
  "status": "error",
  "code": "TOKEN_EXPIRED",
  "message": "...",
  "recovery": {
    "suggestion": "...",
    "can_refresh": true,
    "refresh_token": "TOKEN_REFRESH"
  }
}
$ js-scan --continuation TOKEN_REFRESH --json
"""
STALE = """
$ js-edit --continuation "token_extract" --fix --json
{
  "status": "warning",
  "code": "RESULTS_STALE",
  "message": "...",
  "digest_mismatch": {
    "expected": "sha256:...",
    "actual": "sha256:..."
  },
  "recovery": {
    "suggestion": "...",
    "reissue_token": "TOKEN_REISSUE"
  }
}
$ js-edit --continuation TOKEN_REISSUE --json
"""


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CodeProject:
    project = CodeProject(tmp_path)
    monkeypatch.chdir(project.root)
    return project


def test_the_patterns_of_section_6_work_as_printed(code: CodeProject) -> None:
    find, preview, decide, apply = REFACTOR["steps"]
    decide_first = [find, decide | {"prompt": "Rename it?"}, preview, apply]

    play(code, MENU)
    play(code, PREVIEW + CANCEL)
    code.clock.seconds += 1
    play(code, PREVIEW + APPLY.lstrip())
    write(code.root, "my-refactor.json", json.dumps(REFACTOR | {"steps": decide_first}))
    play(code, ORCHESTRATION)


def test_the_errors_of_section_7_are_told_as_printed(code: CodeProject) -> None:
    found = code.told("js-scan --search myFunc --ai-mode")["continuation_tokens"]["analyze:0"]
    located = code.told("js-edit --file src/app.js --locate myFunc --ai-mode")["continuation_tokens"]
    extract = code.told("js-edit --continuation T", T=located["extract_preview"])["continuation_tokens"]

    play(code, INVALID, invalid_token=damage(found))
    write(code.root, "src/app.js", code.text("src/app.js").replace("nobody", "somebody"))
    play(code, STALE, token_extract=extract["apply"])
    code.clock.seconds += 7_200
    play(code, EXPIRED, expired_token=found)


@pytest.mark.parametrize(
    "line",
    [
        "js-scan --search my --scope src --kind function,variable --exported --limit 5 --ai-mode",
        "js-scan --trace myFunc --down --depth 2 --ai-mode",
        "js-edit --file src/app.js --locate myFunc --ai-mode",
        "js-edit --extract twice --to-module src/other.js --export-needs --ai-mode",
    ],
)
def test_the_line_that_a_refusal_suggests_gets_tokens(code: CodeProject, line: str) -> None:
    token = next(iter(code.told(line)["continuation_tokens"].values()))

    status, refused = code.line(f"{line.partition(' ')[0]} --continuation T", T=damage(token))
    suggested = refused["recovery"]["suggestion"].partition(": ")[2]
    again = code.told(suggested)["continuation_tokens"]

    assert (status, refused["code"]) == (6, "INVALID_TOKEN")
    assert again.keys() == code.told(line)["continuation_tokens"].keys()


def test_a_word_that_is_no_token_is_told_how_to_get_one(code: CodeProject) -> None:
    for script, first in (
        ("js-scan --continuation", "js-scan --search NAME --ai-mode"),
        ("js-edit --continuation", "js-edit --locate NAME --ai-mode"),
    ):
        status, told = code.line(f"{script} invalid_token --json")

        assert (status, told["status"], told["code"]) == (6, "error", "INVALID_TOKEN")
        assert told["recovery"] == {"suggestion": f"Get a new token by running: {first}"}


def damage(token: str) -> str:
    """One character of the signature is another one."""
    return token[:-9] + ("b" if token[-9] == "a" else "a") + token[-8:]


def play(code: CodeProject, printed: str, **tokens: str) -> None:
    """Runs each line, takes each token from where it is printed, and finds each key that is printed."""
    for line, answer in _read(printed):
        status, told = code.line(line, **tokens)
        if answer:
            tokens |= dict(_check(answer, told, line))
        else:
            assert status == 0, (line, told)


def _read(printed: str) -> Iterator[tuple[str, Any]]:
    for part in printed.strip().removeprefix("$ ").split("\n$ "):
        line, _, answer = part.partition("\n")
        whole = answer.replace("[...]", '["..."]').replace("{...}", '{"...": "..."}')
        yield line, json.loads(whole) if whole.strip() else None


def _check(printed: Any, told: Any, where: str) -> Iterator[tuple[str, str]]:
    """Yields the tokens by their printed names."""
    match printed:
        case {"...": "..."} | ["..."]:
            assert told, where
        case dict():
            assert printed.keys() <= told.keys(), (where, sorted(told))
            for key, value in printed.items():
                yield from _check(value, told[key], f"{where}: {key}")
        case str() if printed.startswith("TOKEN_"):
            assert told, where
            yield printed, told
        case str() if "..." in printed:
            assert re.fullmatch(re.escape(printed).replace(r"\.\.\.", ".+") + "( .*)?", told), (where, told)
        case _:
            assert told == printed, where
