"""A robot runs the line that a refused code token prints, word by word: it leads on and writes nothing."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from tests.journeys.code_project import CodeProject
from tests.journeys.test_code_tools import code
from tests.worktree.project import write

__all__ = ["code"]
EDITS = (
    "--rename myFunc --to fetchData",
    "--rename twice --to both",
    "--move helper --to-module src/names.js",
    "--extract twice --to-module src/other.js",
)


def suggested_line(told: dict[str, Any]) -> str:
    """The line of a fix, as it is printed."""
    return str(told["recovery"]["suggestion"]).partition(": ")[2]


@pytest.mark.parametrize("edit", [*EDITS, "--replace helper --with-file ../new.js"])
def test_the_fix_of_a_used_token_leads_on_word_by_word(code: CodeProject, edit: str) -> None:
    text = write(code.root.parent, "new.js", "export function helper(name) {\n  return name;\n}\n")
    edit = edit.replace("../new.js", shlex.quote(str(text)))
    token = code.told(f"js-edit {edit} --ai-mode")["continuation_tokens"]["apply"]
    code.told("js-edit --continuation T --fix", T=token)

    _, told = code.line("js-edit --continuation T --fix", T=token)
    found = code.told(suggested_line(told))

    assert told["recovery"].keys() == {"suggestion"}
    assert found["results"]


@pytest.mark.thorough
@pytest.mark.promise("code.cont.stale-write")
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("trouble", ["gone", "renamed", "changed", "damaged", "expired"])
def test_fix_of_a_refused_apply_token_leads_on_word_by_word(
    code: CodeProject, edit: str, trouble: str
) -> None:
    token = code.told(f"js-edit {edit} --ai-mode")["continuation_tokens"]["apply"]
    name = edit.split()[1]
    match trouble:
        case "gone":
            for path in ("src/app.js", "src/util.js"):
                (code.root / path).unlink()
        case "renamed":
            code.told(
                "js-edit --continuation T --fix",
                T=code.preview(name, "another")["continuation_tokens"]["apply"],
            )
        case "changed":
            for path in ("src/app.js", "src/util.js"):
                (code.root / path).write_text("// first\n" + code.text(path), encoding="utf-8")
        case "damaged":
            token = token[:-9] + ("b" if token[-9] == "a" else "a") + token[-8:]
        case _:
            code.clock.seconds += 7_200
    before = code.texts()

    status, told = code.line("js-edit --continuation T --fix", T=token)
    code.told(suggested_line(told))

    assert status != 0
    assert code.texts() == before
