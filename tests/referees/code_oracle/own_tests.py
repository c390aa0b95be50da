"""Renames every name of a package, one after the other, and runs the package's own tests again.

`python -m tests.referees.code_oracle.own_tests` prints, per package, how many names changed and were refused;
names of packages choose some, and `--record` keeps the outcome beside the judges. It fails when a test
file that passed before does not pass afterwards.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from functools import partial

import msgspec

from handrail_code.edit.plan import Refusal
from handrail_code.facts.join import Project
from handrail_code.facts.source import MANIFEST
from handrail_code.languages.extensions import language_of
from handrail_code.languages.reading import read_facts
from tests.code_tools.memory_source import MemorySource
from tests.code_tools.planning import apply_in_memory, plan_rename
from tests.referees.code_oracle.kept import OWN_TESTS, EditedPackage, check_packages
from tests.referees.code_oracle.packages import fetch
from tests.referees.equipment import CACHE, NotAvailable

TEST_SECONDS = 120
INSTALL_SECONDS = 240
SUFFIX = "_new"


class Tested(msgspec.Struct, frozen=True, kw_only=True):
    """A package that publishes its tests, what they need, and the sources whose names change."""

    name: str
    needs: tuple[str, ...]
    sources: tuple[str, ...]
    tests: str = "test"


TESTED = (
    Tested(name="minimist@1.2.8", needs=("tape@5.9.0",), sources=("index.js",)),
    Tested(
        name="qs@6.17.1",
        needs=(
            *("tape@5.9.0", "es-define-property@1", "side-channel@1", "safer-buffer@2", "object-inspect@1"),
            *("mock-property@1", "iconv-lite@0.5", "has-proto@1", "for-each@0.3", "es-value-fixtures@1"),
            *("has-symbols@1", "has-property-descriptors@1", "has-override-mistake@1", "has-bigints@1"),
        ),
        sources=("lib/",),
    ),
    Tested(
        name="object-inspect@1.13.4",
        needs=(
            *("tape@5.9.0", "has-tostringtag@1", "for-each@0.3", "mock-property@1", "has-symbols@1"),
            *("string.prototype.repeat@1", "semver@6", "make-arrow-function@1", "globalthis@1"),
            *("functions-have-names@1", "es-value-fixtures@1", "error-cause@1", "core-js@2"),
        ),
        sources=("index.js", "util.inspect.js"),
    ),
)


def main(arguments: Sequence[str]) -> int:
    return check_packages(
        {tested.name.split("@")[0]: partial(_check, tested) for tested in TESTED}, arguments
    )


def _check(tested: Tested) -> EditedPackage:
    with tempfile.TemporaryDirectory(prefix="handrail-own-tests-") as folder:
        place = os.path.join(folder, "package")
        shutil.copytree(fetch(tested.name), place)
        os.symlink(install(tested.name, tested.needs), os.path.join(place, "node_modules"))
        before = run_tests(tested, place)
        counts = _rename_all(tested, place)
        after = run_tests(tested, place)
    broken = sorted(before - after)
    shown = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    print(f"{tested.name}: {shown}; test files passed: {len(before)} before, {len(after)} after")
    print("".join(f"  broken: {path}\n" for path in broken), end="", flush=True)
    return EditedPackage(
        package=tested.name,
        edit="rename",
        judge=OWN_TESTS,
        done=counts["renamed"],
        refused=counts["refused"],
        good_before=len(before),
        broken=len(broken),
    )


def install(name: str, needs: Sequence[str]) -> str:
    """The folder with what a package needs."""
    place = os.path.join(CACHE, "code", f"needs-{name.replace('/', '+')}")
    if not os.path.exists(os.path.join(place, "complete")):
        npm = shutil.which("npm")
        if npm is None:
            raise NotAvailable("npm is not on PATH")
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, MANIFEST), "w", encoding="utf-8") as file:
            file.write("{}")
        quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        command = [npm, "install", *quiet, *needs]
        done = subprocess.run(
            command, cwd=place, capture_output=True, check=False, encoding="utf-8", timeout=INSTALL_SECONDS
        )
        if done.returncode != 0:
            raise NotAvailable(f"npm install for {name} failed: {done.stderr.strip()[:200]}")
        with open(os.path.join(place, "complete"), "w", encoding="utf-8") as file:
            file.write("")
    return os.path.join(place, "node_modules")


def run_tests(tested: Tested, place: str) -> set[str]:
    """The test files that end well, each in a process of its own."""
    node = shutil.which("node")
    if node is None:
        raise NotAvailable("node is not on PATH")
    passed = set()
    for file in sorted(os.listdir(os.path.join(place, tested.tests))):
        if not file.endswith(".js"):
            continue
        path = os.path.join(tested.tests, file)
        done = subprocess.run(
            [node, path],
            cwd=place,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=TEST_SECONDS,
        )
        if done.returncode == 0:
            passed.add(path)
    return passed


def _rename_all(tested: Tested, place: str) -> Counter[str]:
    texts = read_sources(place)
    counts: Counter[str] = Counter()
    tried: set[tuple[str, str, int]] = set()
    while True:
        project = Project(MemorySource(texts, read_facts, lambda path: language_of(path) is not None))
        found = _next_name(project, tested, tried)
        if found is None:
            break
        path, index = found
        symbol = project.symbol_of(path, index)
        if symbol is None:
            counts["without a symbol"] += 1
            continue
        plan = plan_rename(project, symbol, symbol.name + SUFFIX)
        if isinstance(plan, Refusal):
            counts["refused"] += 1
            continue
        changed = apply_in_memory(plan, project.source)
        texts |= changed
        counts["renamed"] += 1
    for path, text in texts.items():
        with open(os.path.join(place, path), "wb") as file:
            file.write(text)
    return counts


def _next_name(project: Project, tested: Tested, tried: set[tuple[str, str, int]]) -> tuple[str, int] | None:
    """A definition that was not tried: changed names carry the suffix, others are told by their order."""
    for path in project.source.files():
        facts = project.facts(path)
        if facts is None or not path.startswith(tested.sources):
            continue
        for index, definition in enumerate(facts.definitions):
            key = (path, definition.name, index)
            if key not in tried and not definition.name.endswith(SUFFIX):
                tried.add(key)
                return path, index
    return None


def read_sources(place: str) -> dict[str, bytes]:
    texts = {}
    for folder, folders, files in os.walk(place):
        folders[:] = sorted(each for each in folders if each not in ("node_modules", "dist", "example"))
        for file in sorted(files):
            path = os.path.relpath(os.path.join(folder, file), place)
            if file == MANIFEST or language_of(path):
                with open(os.path.join(place, path), "rb") as opened:
                    texts[path] = opened.read()
    return texts


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
