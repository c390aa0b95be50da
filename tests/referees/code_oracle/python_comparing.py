"""Renames of one Python package by jedi, rope, pyright and us, place by place; whether ours keep meanings."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import symtable
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, TypeAlias

import msgspec

from handrail_code.edit.plan import Plan
from handrail_code.facts.join import Project
from handrail_code.facts.model import NONE, FileFacts
from handrail_code.languages.extensions import language_of
from handrail_code.languages.reading import read_facts
from tests.code_tools.memory_source import MemorySource
from tests.code_tools.planning import apply_in_memory, plan_rename
from tests.code_tools.symbols import symbol_at
from tests.referees.code_oracle.ask_pyright import PYRIGHT, ask_pyright, find_server
from tests.referees.code_oracle.judged import Place
from tests.referees.code_oracle.python_packages import PythonPackage, fetch_wheel
from tests.referees.code_oracle.python_questions import Question, choose
from tests.referees.equipment import NotAvailable, python_party

HERE = os.path.dirname(os.path.abspath(__file__))
ASK = os.path.join(HERE, "ask_python.py")
ASK_PYRIGHT = os.path.join(HERE, "ask_pyright.py")
ASK_SECONDS = 1200
NEW_NAME = "handrail_new_name"
MEMBER, IMPORT = "we edit a member of a module", "we edit an import of the name"
UNPROVEN = ("", MEMBER, IMPORT)
"""What crosses files: the compiler's tables cannot say that it is right, so one of the others has to."""
REFEREES = ("jedi", "rope", "pyright")
PythonVerdict: TypeAlias = Literal["identical", "refused", "missing", "more", "both", "no answer"]
"""Beside one of the others: `missing` where it edits places that we leave, `more` the other way round."""


class PythonJudged(msgspec.Struct, frozen=True, kw_only=True):
    package: str
    question: Question
    verdicts: dict[str, PythonVerdict]
    causes: dict[str, tuple[str, ...]]
    """For each of the others, why places differ."""
    refusal: str = ""
    wrong: str = ""
    """What an edit of ours breaks; empty, or the run fails."""


def judge_python(package: PythonPackage, per_kind: int) -> list[PythonJudged]:
    root = fetch_wheel(package)
    texts = read_texts(root, package.folder)
    questions = choose(texts, per_kind)
    answers = _ask(root, questions)
    if "pyright" in find_referees():
        asked = _ask_pyright(root, texts, questions)
        answers = [one | {"pyright": other} for one, other in zip(answers, asked, strict=True)]
    project = Project(MemorySource(texts, read_facts, lambda path: language_of(path) is not None))
    return [
        _judge_one(project, package, question, answer, texts)
        for question, answer in zip(questions, answers, strict=True)
    ]


@cache
def find_referees() -> tuple[str, ...]:
    """Those that can be asked here; why one cannot is printed."""
    try:
        find_server()
    except NotAvailable as trouble:
        print(f"Without pyright: {trouble}.")
        return REFEREES[:2]
    return REFEREES


def _judge_one(
    project: Project,
    package: PythonPackage,
    question: Question,
    answer: Mapping[str, Any],
    texts: Mapping[str, bytes],
) -> PythonJudged:
    symbol = symbol_at(project, question.file, question.start)
    plan = None if symbol is None else plan_rename(project, symbol, NEW_NAME, "follow")
    if not isinstance(plan, Plan):
        code = "no symbol" if plan is None else plan.code
        verdicts: dict[str, PythonVerdict] = {
            name: "no answer" if isinstance(answer[name], str) else "refused" for name in find_referees()
        }
        return PythonJudged(
            package=package.name, question=question, verdicts=verdicts, causes={}, refusal=code
        )
    made = {(edit.path, edit.start, edit.end) for edit in plan.edits}
    theirs = {name: _in_bytes(answer[name], texts) for name in find_referees()}
    verdicts = {}
    causes = {}
    unexplained = ""
    for name in find_referees():
        places = theirs[name]
        verdicts[name] = _compare(made, places)
        if places is None:
            continue
        missing = {_explain_missing(project, question, place) for place in places - made}
        extra = {_explain_extra(project, place) for place in made - places}
        causes[name] = tuple(sorted(missing | extra))
    known = [places for places in theirs.values() if places is not None]
    for place in sorted(made):
        is_alone = bool(known) and not any(place in places for places in known)
        if is_alone and _explain_extra(project, place) in UNPROVEN:
            unexplained = f"only we edit {place[0]}:{place[1]}"
    return PythonJudged(
        package=package.name,
        question=question,
        verdicts=verdicts,
        causes=causes,
        wrong=find_damage(project, plan, question.name) or unexplained,
    )


def _compare(made: set[Place], places: set[Place] | None) -> PythonVerdict:
    if places is None:
        return "no answer"
    if made == places:
        return "identical"
    if made < places:
        return "missing"
    return "more" if made > places else "both"


def _explain_missing(project: Project, question: Question, place: Place) -> str:
    """Why we leave a place alone that another tool edits."""
    path, start, _ = place
    facts = project.facts(path)
    if not isinstance(facts, FileFacts):
        return "it edits a file outside of the package"
    for member in facts.members:
        if member.start == start:
            if member.role == "keyword":
                return "it edits a keyword of a call that we do not resolve"
            return "it edits a member, whose object it infers"
    uses = {use.start: use for use in facts.uses}
    use = uses.get(start)
    if use is None:
        return "it edits the name in a string or a comment"
    if use.binding == NONE:
        return "it edits a name that nothing here binds"
    if question.kind == "import" and path != question.file:
        return "it edits what other files call the same module"
    return "it edits another binding of the same name"


def _explain_extra(project: Project, place: Place) -> str:
    """Why we edit a place that another tool leaves; empty where nothing explains it."""
    path, start, _ = place
    facts = project.facts(path)
    if not isinstance(facts, FileFacts):
        return ""
    if path.endswith(".pyi"):
        return "we edit the stub as well"
    for member in facts.members:
        if member.start == start and member.role == "keyword":
            return "we edit the keyword of a resolved call"
        if member.start == start:
            return MEMBER
    for use in facts.uses:
        if use.start != start:
            continue
        if use.role == "export":
            return "we edit the name in `__all__`"
        if use.role == "type":
            return "we edit a type in a string or a comment"
        if use.role == "import":
            return IMPORT
        if use.binding == NONE:
            return "we edit a name that comes through a star import"
        return "we edit a use of the same binding"
    return IMPORT


def find_damage(project: Project, plan: Plan, name: str) -> str:
    """Python's compiler is asked whether each file still compiles, and whether each name is where it was."""
    changed = apply_in_memory(plan, project.source)
    for path, text in changed.items():
        try:
            compile(text, path, "exec", dont_inherit=True)
            before = symtable.symtable((project.source.text(path) or b"").decode(), path, "exec")
            after = symtable.symtable(text.decode(), path, "exec")
        except (SyntaxError, ValueError) as trouble:
            return f"{path} compiles no more: {trouble}"
        if not _is_same(before, after, name):
            return f"{path}: a name is in another scope than before"
    return ""


def _is_same(before: symtable.SymbolTable, after: symtable.SymbolTable, name: str) -> bool:
    """The same scopes with the same names, but for the one that was changed, in the same places."""
    waiting = [(before, after)]
    while waiting:
        old, new = waiting.pop()
        if len(old.get_children()) != len(new.get_children()):
            return False
        waiting.extend(zip(old.get_children(), new.get_children(), strict=True))
        left, right = _symbols(old), _symbols(new)
        gone, come = set(left) - set(right), set(right) - set(left)
        if not gone <= {name} or not come <= {NEW_NAME} or len(come) < len(gone):
            return False
        if any(left[each] != right[each] for each in set(left) & set(right) - {name}):
            return False
        if gone and left[name] != right[NEW_NAME]:
            return False
    return True


def _symbols(table: symtable.SymbolTable) -> dict[str, tuple[bool, ...]]:
    return {
        _without_class(each.get_name()): (
            each.is_global(),
            each.is_local(),
            each.is_free(),
            each.is_parameter(),
            each.is_imported(),
            each.is_assigned(),
        )
        for each in table.get_symbols()
    }


def _without_class(name: str) -> str:
    """`__a` of a class has the name of the class in it, in the compiler's tables."""
    return re.sub(r"^_\w+?__(?=\w)", "__", name)


def _in_bytes(places: list[list[Any]] | str, texts: Mapping[str, bytes]) -> set[Place] | None:
    if isinstance(places, str):
        return None
    found = set()
    for path, start, end in places:
        text = texts.get(path, b"").decode()
        found.add((path, len(text[:start].encode()), len(text[:end].encode())))
    return found


def read_texts(root: str, package: str) -> dict[str, bytes]:
    texts = {}
    for folder, folders, files in os.walk(os.path.join(root, package)):
        folders[:] = sorted(each for each in folders if each != "__pycache__")
        for file in sorted(files):
            path = os.path.relpath(os.path.join(folder, file), root)
            if language_of(path):
                with open(os.path.join(root, path), "rb") as opened:
                    texts[path] = opened.read()
    return texts


def _ask(root: str, questions: Sequence[Question]) -> list[dict[str, Any]]:
    """Their answers, kept beside the package: they depend on the script, the versions and the questions."""
    asked = {
        "root": root,
        "new": NEW_NAME,
        "questions": msgspec.to_builtins(questions),
    }

    def ask() -> str:
        done = subprocess.run(
            [python_party("code-python"), "-P", ASK],
            input=json.dumps(asked),
            capture_output=True,
            check=False,
            encoding="utf-8",
            timeout=ASK_SECONDS,
        )
        if done.returncode != 0:
            raise NotAvailable(f"jedi and rope failed: {done.stderr.strip()[-300:]}")
        return done.stdout

    with open(_requirements(), encoding="utf-8") as wanted:
        answers: list[dict[str, Any]] = _keep(root, ASK, wanted.read(), questions, ask)
    return answers


def _ask_pyright(root: str, texts: Mapping[str, bytes], questions: Sequence[Question]) -> list[Any]:
    def ask() -> str:
        return json.dumps(ask_pyright(root, texts, questions, NEW_NAME))

    try:
        answers: list[Any] = _keep(root, ASK_PYRIGHT, PYRIGHT, questions, ask)
    except NotAvailable as trouble:
        print(f"pyright has no answers for {root}: {trouble}.")
        return [str(trouble)] * len(questions)
    return answers


def _keep(
    root: str, script: str, versions: str, questions: Sequence[Question], ask: Callable[[], str]
) -> Any:
    with open(script, "rb") as file:
        content = file.read() + versions.encode() + json.dumps(msgspec.to_builtins(questions)).encode()
    kept = os.path.join(os.path.dirname(root), f"answers-{hashlib.sha256(content).hexdigest()[:16]}.json")
    if not os.path.exists(kept):
        answered = ask()
        with open(kept + ".part", "w", encoding="utf-8") as written:
            written.write(answered)
        os.replace(kept + ".part", kept)
    with open(kept, encoding="utf-8") as read:
        return json.load(read)


def _requirements() -> str:
    return os.path.join(os.path.dirname(HERE), "requirements", "code-python.txt")
