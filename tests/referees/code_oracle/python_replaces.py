"""Replaces definitions of real Python packages by texts, and asks Python's own compiler about the outcome.

`python -m tests.referees.code_oracle.python_replaces` prints a row per package; `--record` keeps the outcome
beside the judges. Each definition is replaced by its own text without indentation, which must give the
same bytes; by that text with a line changed, which must compile wherever we accept it; and by that text with
`pass` at its end, after which the package's own tests must still pass. It fails where one of them does not.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from textwrap import indent

import msgspec

from handrail_code.edit.plan import Plan
from handrail_code.facts.join import Found, Project
from handrail_code.facts.model import Definition
from handrail_code.languages.extensions import language_of
from handrail_code.languages.python.indentation import indent_text
from tests.code_tools.memory_source import MemorySource
from tests.code_tools.planning import apply_in_memory, plan_replace
from tests.referees.code_oracle.moving import read_once
from tests.referees.code_oracle.python_comparing import read_texts
from tests.referees.code_oracle.python_own_tests import run_package_tests
from tests.referees.code_oracle.python_packages import PYTHON_PACKAGES, PythonPackage, fetch_wheel
from tests.referees.equipment import NotAvailable

KEPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_replaces.json")
MOST_DEFINITIONS = 10
MOST_LINES = 4
MOST_BYTES = 100_000
"""Of a file; tables of data are no programs, and each text makes one be read again."""
KINDS = ("function", "class", "method")


class ReplacedPackage(msgspec.Struct, frozen=True, kw_only=True):
    package: str
    same: int
    """Definitions that their own text leaves byte for byte as they were."""
    other: int
    accepted: int
    """Changed texts that we would write."""
    refused: int
    broken: int
    """Accepted ones that do not compile."""
    passed_before: int
    passed_after: int
    """Own tests; 0 where the package brings none."""


def main(arguments: Sequence[str]) -> int:
    names = [word for word in arguments if not word.startswith("--")]
    rows = []
    for package in PYTHON_PACKAGES:
        if names and package.name not in names:
            continue
        try:
            rows.append(_check(package))
        except NotAvailable as trouble:
            print(f"Skipped: {trouble}.")
            return 0
        print(rows[-1], flush=True)
    is_good = all(
        row.other == row.broken == 0 and row.passed_after >= row.passed_before and row.same for row in rows
    )
    if "--record" in arguments and is_good:
        with open(KEPT, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(rows), indent=1) + b"\n")
    return 0 if is_good else 1


def _check(package: PythonPackage) -> ReplacedPackage:
    texts = read_texts(fetch_wheel(package), package.folder)
    project = Project(MemorySource(texts, read_once, lambda path: language_of(path) is not None))
    counts: Counter[str] = Counter()
    chosen = list(_list_definitions(project, texts))
    for found in chosen[:: max(1, len(chosen) // MOST_DEFINITIONS)]:
        text = texts[found.path]
        own = _own_text(text, found.definition)
        made = _replace(project, found, indent_text(own, ""))
        counts["same" if made == text else "other"] += 1
        if made != text:
            print(f"  other: {found.path} {found.definition.name}")
        for changed in _change_lines(indent_text(own, "")):
            made = _replace(project, found, changed)
            if made is None:
                counts["refused"] += 1
            else:
                counts["accepted"] += 1
                counts["broken"] += _complain(found, changed, made)
    passed = _run_tests(package, texts) if package.tests else (0, 0)
    return ReplacedPackage(
        package=f"{package.name} {package.version}",
        same=counts["same"],
        other=counts["other"],
        accepted=counts["accepted"],
        refused=counts["refused"],
        broken=counts["broken"],
        passed_before=passed[0],
        passed_after=passed[1],
    )


def _list_definitions(project: Project, texts: dict[str, bytes]) -> Iterator[Found]:
    for path in sorted(texts):
        facts = project.facts(path)
        if facts is None or facts.troubles or path.endswith(".pyi") or len(texts[path]) > MOST_BYTES:
            continue
        for index, definition in enumerate(facts.definitions):
            if definition.kind in KINDS and definition.digest:
                yield Found(path=path, index=index, definition=definition)


def _own_text(text: bytes, definition: Definition) -> str:
    """Its lines from the first column on."""
    start = text.rfind(b"\n", 0, definition.extent_start) + 1
    return text[start : definition.extent_end].decode().replace("\r\n", "\n")


def _change_lines(own: str) -> Iterator[str]:
    """A line is left out, or stands further to the left or to the right."""
    lines = own.split("\n")
    for number in range(0, len(lines), max(1, len(lines) // MOST_LINES)):
        before, line, after = lines[:number], lines[number], lines[number + 1 :]
        for changed in ([], [indent(line, "  ")], [line.removeprefix("    ")], [line.removeprefix("  ")]):
            if changed != [line]:
                yield "\n".join([*before, *changed, *after])


def _replace(project: Project, found: Found, new_text: str) -> bytes | None:
    plan = plan_replace(project, found, new_text)
    if not isinstance(plan, Plan):
        return None
    changed = apply_in_memory(plan, project.source)
    return changed[found.path]


def _complain(found: Found, changed: str, made: bytes) -> int:
    try:
        compile(made, found.path, "exec", dont_inherit=True)
    except SyntaxError as trouble:
        print(f"  broken: {found.path} {found.definition.name}: {trouble}\n{indent(changed, '    | ')}")
        return 1
    return 0


def _run_tests(package: PythonPackage, texts: dict[str, bytes]) -> tuple[int, int]:
    with tempfile.TemporaryDirectory(prefix="handrail-replaces-") as folder:
        place = os.path.join(folder, "unpacked")
        shutil.copytree(fetch_wheel(package), place)
        before = run_package_tests(package, place)
        for path, text in _extend_all(package, texts).items():
            with open(os.path.join(place, path), "wb") as file:
                file.write(text)
        after = run_package_tests(package, place)
    for name in sorted(before - after):
        print(f"  broken in {package.name}: {name}")
    return len(before), len(before & after)


def _extend_all(package: PythonPackage, texts: dict[str, bytes]) -> dict[str, bytes]:
    """Every function ends in `pass`, one after the other."""
    texts = dict(texts)
    for path in sorted(texts):
        if path.startswith(f"{package.folder}/{package.tests}/") or path.endswith(".pyi"):
            continue
        for number in range(MOST_DEFINITIONS):
            project = Project(MemorySource(texts, read_once, lambda each: language_of(each) is not None))
            functions = [
                found
                for found in _list_definitions(project, {path: texts[path]})
                if found.definition.kind in ("function", "method")
            ]
            if number >= len(functions):
                break
            own = indent_text(_own_text(texts[path], functions[number].definition), "")
            made = _replace(project, functions[number], f"{own}\n    pass")
            texts[path] = made or texts[path]
    return texts


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
