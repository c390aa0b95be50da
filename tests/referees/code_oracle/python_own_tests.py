"""Renames names of a Python package, one after the other, and runs the package's own tests again."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter

from handrail_code.edit.plan import Refusal
from handrail_code.facts.join import Project
from handrail_code.facts.model import ReadFile
from handrail_code.languages.extensions import language_of
from handrail_code.languages.reading import read_facts
from tests.code_tools.memory_source import MemorySource
from tests.code_tools.planning import apply_in_memory, plan_rename
from tests.referees.code_oracle.python_outcome import OwnTests
from tests.referees.code_oracle.python_packages import PythonPackage, fetch_wheel
from tests.referees.equipment import python_party

TEST_SECONDS = 300
MOST_RENAMES = 250
SUFFIX = "_new"


def run_own_tests(package: PythonPackage) -> OwnTests:
    """The package's own tests before and after the renames. A test that broke is printed."""
    with tempfile.TemporaryDirectory(prefix="handrail-own-tests-") as folder:
        place = os.path.join(folder, "unpacked")
        shutil.copytree(fetch_wheel(package), place)
        before = run_package_tests(package, place)
        counts = _rename_all(package, place)
        after = run_package_tests(package, place)
    for name in sorted(before - after):
        print(f"  broken in {package.name}: {name}")
    return OwnTests(
        package=package.name,
        renamed=counts["renamed"],
        refused=counts["refused"],
        members=counts["members"],
        passed_before=len(before),
        passed_after=len(before & after),
    )


def run_package_tests(package: PythonPackage, place: str) -> set[str]:
    """The tests that pass, by their names."""
    report = os.path.join(place, "report.xml")
    tests = os.path.join(package.folder, package.tests)
    plain = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-o", "python_files=test_*.py"]
    subprocess.run(
        [python_party("code-python-tests"), "-m", "pytest", *plain, f"--junitxml={report}", tests],
        cwd=place,
        env={"PATH": os.environ.get("PATH", ""), "PYTHONPATH": place, "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=TEST_SECONDS,
    )
    if not os.path.exists(report):
        return set()
    cases = ET.parse(report).iter("testcase")
    return {f"{case.get('classname')}.{case.get('name')}" for case in cases if not list(case)}


def _rename_all(package: PythonPackage, place: str) -> Counter[str]:
    texts = _read(place, package)
    known: dict[tuple[str, bytes], ReadFile] = {}

    def read(path: str, text: bytes) -> ReadFile:
        if (path, text) not in known:
            known[path, text] = read_facts(path, text)
        return known[path, text]

    counts: Counter[str] = Counter()
    tried: set[tuple[str, str, int]] = set()
    while counts.total() < MOST_RENAMES:
        project = Project(MemorySource(texts, read, lambda path: language_of(path) is not None))
        found = _next_name(project, package, tried)
        if found is None:
            break
        symbol = project.symbol_of(*found)
        plan = None if symbol is None else plan_rename(project, symbol, symbol.name + SUFFIX)
        if plan is None or isinstance(plan, Refusal):
            counts["members" if plan is None else "refused"] += 1
            continue
        changed = apply_in_memory(plan, project.source)
        for path, text in changed.items():
            compile(text, path, "exec", dont_inherit=True)
        texts |= changed
        counts["renamed"] += 1
    for path, text in texts.items():
        with open(os.path.join(place, path), "wb") as file:
            file.write(text)
    return counts


def _next_name(
    project: Project, package: PythonPackage, tried: set[tuple[str, str, int]]
) -> tuple[str, int] | None:
    """A definition that was not tried; the order is the same in every run, and mixes kinds and files."""
    waiting = []
    for path in project.source.files():
        facts = project.facts(path)
        if facts is None or path.startswith(f"{package.folder}/{package.tests}/"):
            continue
        for index, definition in enumerate(facts.definitions):
            key = (path, definition.name, index)
            if key not in tried and not definition.name.endswith(SUFFIX):
                order = hashlib.sha256(f"{path}:{definition.name}:{index}".encode()).digest()
                waiting.append((order, key))
    if not waiting:
        return None
    _, (path, name, index) = min(waiting)
    tried.add((path, name, index))
    return path, index


def _read(place: str, package: PythonPackage) -> dict[str, bytes]:
    texts = {}
    for folder, folders, files in os.walk(os.path.join(place, package.folder)):
        folders[:] = sorted(each for each in folders if each != "__pycache__")
        for file in sorted(files):
            path = os.path.relpath(os.path.join(folder, file), place)
            if language_of(path):
                with open(os.path.join(place, path), "rb") as opened:
                    texts[path] = opened.read()
    return texts
