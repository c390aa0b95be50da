"""Renames of one package by TypeScript's service and by us, place by place."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

from handrail_code.edit.plan import Plan, Refusal
from handrail_code.facts.join import Project, Style
from handrail_code.facts.model import FileFacts
from handrail_code.facts.resolution import Twins
from handrail_code.facts.source import MANIFEST
from handrail_code.facts.spelled_names import Exported
from handrail_code.languages.extensions import language_of
from handrail_code.languages.reading import read_facts
from tests.code_tools.memory_source import MemorySource
from tests.code_tools.planning import plan_rename
from tests.code_tools.symbols import symbol_at
from tests.referees.code_oracle.judged import Judged, Place, Verdict
from tests.referees.code_oracle.packages import TYPESCRIPT, Package, fetch
from tests.referees.equipment import NotAvailable

HERE = os.path.dirname(os.path.abspath(__file__))
ASK = os.path.join(HERE, "ask.cjs")
ASK_SECONDS = 600
BY_TYPES = "a member, which the service finds by types"
SETTINGS = (MANIFEST, "tsconfig.json", "jsconfig.json")


def judge(package: Package, style: Style, per_kind: int) -> list[Judged]:
    project, answers = ask_service(package, per_kind)
    judged = []
    for answer in answers["answers"]:
        places = answer[style]
        if isinstance(places, list):  # otherwise the service itself refuses
            judged.append(_judge_one(project, package, style, answer, places))
    return judged


def ask_service(package: Package, per_kind: int) -> tuple[Project, dict[str, Any]]:
    """The package as we read it, and what the service says about it."""
    root = fetch(f"{package.name}@{package.version}")
    source = MemorySource(_read_texts(root, package), read_facts, lambda path: language_of(path) is not None)
    return Project(source), _ask(root, list(source.files()), per_kind)


def _judge_one(
    project: Project, package: Package, style: Style, answer: dict[str, Any], places: list[dict[str, Any]]
) -> Judged:
    def verdict(found: Verdict, **more: Any) -> Judged:
        return Judged(
            package=package.name,
            kind=answer["kind"],
            name=answer["name"],
            path=answer["file"],
            start=answer["start"],
            verdict=found,
            **more,
        )

    symbol = symbol_at(project, answer["file"], answer["start"])
    if symbol is None:
        return verdict("refused", why="no symbol")
    plan = plan_rename(project, symbol, answer["name"] + "_new", style)
    if isinstance(plan, Refusal):
        return verdict("refused", why=plan.code)
    wanted = {(place["file"], place["start"], place["end"]) for place in places}
    made = {(edit.path, edit.start, edit.end) for edit in plan.edits}
    if wanted == made:
        return verdict("identical")
    if made > wanted and _is_same_by_form(project, answer, style, wanted):
        return verdict("identical")
    missing, extra = tuple(sorted(wanted - made)), tuple(sorted(made - wanted))
    explanations = {_explain(project, answer["name"], place) for place in missing} if not extra else {""}
    why = "; ".join(sorted(explanations)) if "" not in explanations else ""
    if not why and not extra and style == "follow":
        why = _explain_split(plan)
    told = {(each.path, each.start) for each in plan.untouched}
    # With `follow` the service goes on into the property of `{a} = x`; a local name that we split is whole.
    is_other = style == "follow" and bool(_explain_split(plan))
    is_silent = not plan.reasons and not is_other and any(place[:2] not in told for place in missing)
    return verdict(
        "wrong" if extra else "missing", missing=missing, extra=extra, why=why, is_silent=is_silent
    )


def _is_same_by_form(project: Project, answer: dict[str, Any], style: Style, wanted: set[Place]) -> bool:
    """The service leaves one of two forms behind: `m.d.ts` and `m.js`, or a file for another condition.

    What it does change is compared with what we change where they are two for us as well.
    """
    apart = keep_forms_apart(project)
    symbol = symbol_at(apart, answer["file"], answer["start"])
    plan = None if symbol is None else plan_rename(apart, symbol, answer["name"] + "_new", style)
    return isinstance(plan, Plan) and wanted == {(edit.path, edit.start, edit.end) for edit in plan.edits}


def keep_forms_apart(project: Project) -> Project:
    """The project as the service sees it: each form of a module is a module of its own."""
    apart = Project(project.source, Twins(frozenset(), ()))
    apart.slots.alternatives = _list_none  # type: ignore[method-assign]  # here they are to stay apart
    return apart


def _list_none(slot: Exported) -> Iterator[Exported]:
    del slot
    return iter(())


def _explain_split(plan: Plan) -> str:
    """A name that we split has its other side where we cannot go."""
    if any(": " in edit.replacement for edit in plan.edits):
        return BY_TYPES
    if any(" as " in edit.replacement for edit in plan.edits):
        return "the name comes from a module outside of the judged files"
    return ""


def _explain(project: Project, name: str, place: Place) -> str:
    """Why we leave this place alone; empty where we should not."""
    path, start, end = place
    facts = project.facts(path)
    if not isinstance(facts, FileFacts):
        return "outside of the judged files"
    text = (project.source.text(path) or b"")[start:end].decode()
    for export in facts.exports:
        span = export.exported_span
        if span is not None and span.start == start and export.imported == "default":
            return "the service renames `x` in `export {default as x}`, and none of its importers"
    if text != name:
        return "the service renames another name, an alias"
    for found in facts.imports:
        span = found.imported_span
        if span is not None and span.start == start and found.kind == "type":
            return "the service renames a type import in a comment, and not the CommonJS export that it names"
    if any(member.start == start for member in facts.members):
        return BY_TYPES
    uses = {use.start: use for use in facts.uses}
    use = uses.get(start)
    if use is not None and use.role in ("shorthand", "pattern"):
        return BY_TYPES
    for export in facts.exports:
        if export.exported == "default" and export.binding == -1:
            return "the service takes the parts of a default expression for its name"
    return ""


def _read_texts(root: str, package: Package) -> dict[str, bytes]:
    texts = {}
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(each for each in folders if each != "node_modules")
        for file in sorted(files):
            path = os.path.relpath(os.path.join(folder, file), root)
            if file in SETTINGS or (language_of(path) and path.startswith(package.folders)):
                with open(os.path.join(root, path), "rb") as opened:
                    texts[path] = opened.read()
    return texts


def _ask(root: str, files: list[str], per_kind: int) -> dict[str, Any]:
    """The service's answers, kept beside the package: they depend on the script and the question alone."""
    with open(ASK, "rb") as script:
        question = b"\n".join([script.read(), TYPESCRIPT.encode(), b"%d" % per_kind, *map(str.encode, files)])
    kept = os.path.join(os.path.dirname(root), f"answers-{hashlib.sha256(question).hexdigest()[:16]}.json")
    if not os.path.exists(kept):
        node = shutil.which("node")
        if node is None:
            raise NotAvailable("node is not on PATH")
        done = subprocess.run(
            [node, ASK, fetch(TYPESCRIPT), root, str(per_kind)],
            input="\n".join(files),
            capture_output=True,
            check=False,
            encoding="utf-8",
            timeout=ASK_SECONDS,
        )
        if done.returncode != 0:
            raise NotAvailable(f"the service failed: {done.stderr.strip()[-300:]}")
        with open(kept + ".part", "w", encoding="utf-8") as file:
            file.write(done.stdout)
        os.replace(kept + ".part", kept)
    with open(kept, encoding="utf-8") as file:
        answers: dict[str, Any] = json.load(file)
    return answers
