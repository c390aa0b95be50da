"""Every planted mistake is told at its place, and what the answer offers gives back what was meant."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

import pytest

from handrail.operations.workflow_catalog import RegistryOperations
from handrail.operations.workflows.examine_workflows import Examined, WorkflowText, examine_texts
from handrail.wiring import registry
from handrail.workflows.catalog import Catalog, read_checked_contract
from handrail.workflows.problem import Problem, edit_rows
from handrail.workflows.spellings.spelling import decode_document
from tests.cases import every_case
from tests.operations.intended_files import BASES, SPELLINGS, Base, Mistake, put, spelled, take
from tests.operations.planted_mistakes import MISTAKES, UNCERTAIN, WORDS_OF_OURS

SOURCES: dict[Base, str] = {
    "workflow": "intended.json",
    "foreign": "elsewhere.json",
    "contract": "contracts/project.contracts.table.json",
    "overlay": "over.json",
    "markdown": "intended.md",
    "yaml": "intended.yaml",
}
EXTENDED = WorkflowText(source="intended.json", text=json.dumps(BASES["workflow"]))
MOST_REPAIRS = 5

each = every_case("mistake", MISTAKES)


@lru_cache(maxsize=64)
def examined(base: Base, text: str) -> Examined:
    catalog = Catalog(entries=(), operations=RegistryOperations(registry()))
    beside = [EXTENDED] if base == "overlay" else []
    return examine_texts(catalog, [WorkflowText(source=SOURCES[base], text=text), *beside])[0]


def errors(found: Examined) -> list[Problem]:
    return [problem for problem in found.problems if problem.severity == "error"]


def meaning(base: Base, text: str) -> Any:
    """What a file compiles to: the hash of a workflow, the whole of a contract."""
    if base == "contract":
        return read_checked_contract(text.encode(), SOURCES[base]).contract
    pinned = examined(base, text).pinned
    return None if pinned is None else pinned.workflow_hash


def edited(base: Base, text: str, problem: Problem) -> str:
    """The text with the problem's edit applied, as any program could do it."""
    for row in edit_rows(problem.edit):
        if row["op"] == "rewrite":
            text = rewritten(text, row)
        else:
            document: Any = decode_document(text.encode(), SPELLINGS.get(base, "json"))
            patched(document, row)
            text = spelled(base, document)
    return text


def rewritten(text: str, row: dict[str, Any]) -> str:
    lines = text.splitlines(keepends=True)[: row["line"] - 1]
    start = sum(map(len, lines)) + int(row["column"]) - 1
    return text[:start] + str(row.get("text", "")) + text[start + int(row.get("length", 0)) :]


def patched(document: Any, row: dict[str, Any]) -> None:
    """RFC 6902, the four operations that are used."""
    match row["op"]:
        case "remove":
            take(document, row["path"])
        case "move":
            put(document, row["path"], take(document, row["from"]))
        case "replace":
            take_and_put(document, row)
        case "add":
            put(document, row["path"], row["value"])
        case other:
            raise AssertionError(f"no operation of a JSON Patch: {other}")


def take_and_put(document: Any, row: dict[str, Any]) -> None:
    """What is replaced must be there."""
    holder: Any = document
    for part in row["path"].split("/")[1:]:
        plain = part.replace("~1", "/").replace("~0", "~")
        holder = holder[int(plain)] if isinstance(holder, list) else holder[plain]
    put(document, row["path"], row["value"])


def repaired(mistake: Mistake) -> tuple[str, int]:
    """The broken text after every edit that is offered, one after another."""
    text = mistake.broken
    for applied in range(MOST_REPAIRS):
        offered = [problem for problem in errors(examined(mistake.base, text)) if problem.edit]
        if not offered:
            return text, applied
        text = edited(mistake.base, text, offered[0])
    return text, MOST_REPAIRS


@every_case("base", list(BASES))
def test_what_was_meant_is_without_any_error(base: Base) -> None:
    text = spelled(base, BASES[base])

    assert errors(examined(base, text)) == []
    assert meaning(base, text) is not None


def test_program_can_repair_all_but_the_listed_mistakes() -> None:
    certain = [mistake for mistake in MISTAKES if mistake.is_certain]

    assert len(MISTAKES) >= 200
    assert len({mistake.name for mistake in MISTAKES}) == len(MISTAKES)
    assert {mistake.name for mistake in MISTAKES if not mistake.is_certain} == set(UNCERTAIN)
    assert {mistake.name for mistake in certain if mistake.meant} >= set(WORDS_OF_OURS)
    own = len(certain) - len(WORDS_OF_OURS)
    print(f"\nplanted {len(MISTAKES)}, repaired {len(certain)}, of these with the author's words alone {own}")


@pytest.mark.thorough
@each
def test_a_planted_mistake_is_told_at_its_place_with_its_code(mistake: Mistake) -> None:
    text = mistake.broken

    found = errors(examined(mistake.base, text))

    assert found, "the mistake was not noticed"
    first = found[0]
    assert (first.code, first.pointer) == (mistake.code, mistake.pointer)
    if first.code != "missing_key":  # what is missing has the place of what it is missing in
        assert first.line == text[: text.index(mistake.marker)].count("\n") + 1
    assert first.fix.endswith((".", "?"))


@pytest.mark.thorough
@each
def test_what_is_offered_gives_back_what_was_meant(mistake: Mistake) -> None:
    text, applied = repaired(mistake)

    if mistake.is_certain:
        assert applied > 0
        assert errors(examined(mistake.base, text)) == []
        assert meaning(mistake.base, text) == meaning(mistake.base, mistake.intended)
    else:
        assert applied == 0, "only the author knows what was meant, and a program was offered an edit"


@pytest.mark.thorough
@pytest.mark.parametrize("base", ["markdown", "yaml"])
def test_a_mistake_is_told_alike_in_every_spelling(base: Base) -> None:
    compared = 0
    for mistake in MISTAKES[::4]:
        if mistake.base != "workflow" or mistake.text[0]:
            continue
        text = spelled(base, json.loads(mistake.broken))
        document = decode_document(text.encode(), SPELLINGS[base])
        if document is None:
            assert errors(examined(base, text)), mistake.name
            continue
        compared += 1

        ours, theirs = errors(examined(base, text)), errors(examined("workflow", json.dumps(document)))

        assert {told(one) for one in ours} == {told(one) for one in theirs}, mistake.name
        meant = {(one.code, one.pointer): one for one in theirs}
        for one in ours:
            if one.edit:
                after = edited("workflow", json.dumps(document), meant[one.code, one.pointer])
                held = decode_document(edited(base, text, one).encode(), SPELLINGS[base])
                assert held == json.loads(after), mistake.name

    assert compared > 15


def told(problem: Problem) -> tuple[object, ...]:
    """Without what each spelling says in its own way: quotes, places, edits, texts of a page."""
    message = problem.message.partition(" at line ")[0]
    fix = "" if problem.code == "missing_key" else re.sub(r'["` ]', "", problem.fix)
    return problem.code, problem.pointer, message, fix, bool(problem.edit)
