"""Moves and extracts what real packages declare, one after the other, and checks that they still work.

`python -m tests.referees.code_oracle.moving` prints a row per package; names of packages choose some, and
`--record` keeps the outcome beside the judges. Three judges that nobody here wrote: a package's own
tests, Node that loads every module, and TypeScript's compiler. It fails when something that worked before
does not work afterwards.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Literal, TypeAlias

import msgspec

from handrail_code.edit.plan import Refusal
from handrail_code.facts.join import Project
from handrail_code.facts.model import NONE, Definition, ReadFile
from handrail_code.languages.extensions import language_of
from handrail_code.languages.reading import read_facts
from tests.code_tools.memory_source import MemorySource
from tests.code_tools.planning import apply_in_memory, plan_extract, plan_move
from tests.referees.code_oracle import own_tests
from tests.referees.code_oracle.kept import OWN_TESTS, EditedPackage, check_packages
from tests.referees.code_oracle.packages import TYPESCRIPT, fetch
from tests.referees.equipment import NotAvailable

MOST_EDITS = 60
RUN_SECONDS = 240
Way: TypeAlias = Literal["move", "extract"]
WAYS: tuple[Way, ...] = ("move", "extract")
KINDS = ("function", "class", "variable", "type", "enum", "method")
NOT_INSTALLED = re.compile(r"TS2307: Cannot find module '[^.]")
"""A package that nobody installed here: each file that imports it says so, and moves make more files."""
LOAD = """
const seen = {};
for (const file of process.argv.slice(2)) {
  try {
    const it = await import(process.cwd() + "/" + file);
    seen[file] = Object.keys(it).sort().map((key) => key + ":" + typeof it[key]).concat(typeof it);
  } catch (trouble) { seen[file] = ["trouble " + String(trouble).slice(0, 300)]; }
}
console.log(JSON.stringify(seen)); process.exit(0);
"""


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """A package, the folder of its sources, and who judges it."""

    name: str
    sources: tuple[str, ...]
    judge: str
    ways: tuple[Way, ...] = ("move", "extract")
    """Several take turns."""
    entries: tuple[str, ...] = ()
    """Modules whose exported names must stay the same."""


MOVED = (
    *(
        Moved(name=each.name, sources=each.sources, judge=OWN_TESTS, ways=(way,))
        for way in WAYS
        for each in own_tests.TESTED
    ),
    Moved(name="semver@7.8.6", sources=("",), judge="require", entries=("index.js", "classes/semver.js")),
    Moved(name="commander@14.0.3", sources=("lib/",), judge="require", entries=("index.js",)),
    Moved(name="underscore@1.13.8", sources=("modules/",), judge="import", entries=("modules/index-all.js",)),
    Moved(name="immer@10.2.0", sources=("src/",), judge="compiler"),
    Moved(name="zod@3.25.76", sources=("src/v3/",), judge="compiler"),
    Moved(name="ajv@8.20.0", sources=("lib/",), judge="compiler"),
)
Report = dict[str, list[str]]


def main(arguments: Sequence[str]) -> int:
    checks = {moved.name.rpartition("@")[0]: partial(check_moves, moved) for moved in MOVED}
    return check_packages(checks, arguments)


def check_moves(moved: Moved) -> EditedPackage:
    with tempfile.TemporaryDirectory(prefix="handrail-moving-") as folder:
        place = os.path.join(folder, "package")
        shutil.copytree(fetch(moved.name), place)
        run = _judge(moved, place)
        before = run(place)
        counts, done = _move_all(moved, place)
        after = run(place)
    broken = list(_broken(moved, before, after))
    shown = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    passed = sum("trouble" not in "".join(lines) for lines in before.values())
    print(f"{moved.name} ({moved.judge}): {shown}; judged {len(before)}, good before {passed}")
    print("".join(f"  broken: {line}\n" for line in broken[:20]), end="", flush=True)
    if broken and "HANDRAIL_SHOW" in os.environ:
        print("\n".join(done))
    return EditedPackage(
        package=moved.name,
        edit=" or ".join(moved.ways),
        judge=moved.judge,
        done=sum(counts[way] for way in moved.ways),
        refused=sum(count for what, count in counts.items() if what not in moved.ways),
        good_before=passed,
        broken=len(broken),
    )


def _judge(moved: Moved, place: str) -> Callable[[str], Report]:
    if moved.judge == OWN_TESTS:
        tested = next(each for each in own_tests.TESTED if each.name == moved.name)
        os.symlink(own_tests.install(tested.name, tested.needs), os.path.join(place, "node_modules"))
        return lambda folder: {path: ["passed"] for path in own_tests.run_tests(tested, folder)}
    if moved.judge == "compiler":
        return lambda folder: _compile(moved, folder)
    with open(os.path.join(place, "package.json"), "rb") as file:
        needs = json.load(file).get("dependencies", {})
    if needs:
        listed = [f"{name}@{version}" for name, version in sorted(needs.items())]
        os.symlink(own_tests.install(moved.name, listed), os.path.join(place, "node_modules"))
    return lambda folder: _load(moved, folder)


def _broken(moved: Moved, before: Report, after: Report) -> Iterator[str]:
    for path, lines in sorted(before.items()):
        now = after.get(path, [])
        if moved.judge == "compiler":
            yield from (f"{path}: {line}" for line in _more(lines, now))
        elif path in moved.entries or moved.judge == OWN_TESTS:
            if now != lines:
                yield f"{path}: {sorted(set(lines) ^ set(now))[:5]}"
        elif any(line.startswith("trouble") for line in now) and lines[0][:7] != "trouble":
            yield f"{path}: {now}"


def _more(before: list[str], after: list[str]) -> list[str]:
    return sorted((Counter(after) - Counter(before)).elements())


def _node() -> str:
    node = shutil.which("node")
    if node is None:
        raise NotAvailable("node is not on PATH")
    return node


def _load(moved: Moved, place: str) -> Report:
    """The names and kinds of what every module exports, or why it does not load."""
    files = [
        path
        for path in own_tests.read_sources(place)
        if path.startswith(moved.sources) or path in moved.entries
    ]
    files = [path for path in files if path.endswith((".js", ".mjs", ".cjs")) and not path.startswith("bin/")]
    script = os.path.join(place, "load.mjs" if moved.judge == "import" else "load.cjs")
    with open(script, "w", encoding="utf-8") as file:
        file.write(LOAD if moved.judge == "import" else LOAD.replace("await import", "require"))
    seen: Report = {}
    # CommonJS in a process for each module, so that what it needs comes from its own imports.
    batches = [files] if moved.judge == "import" else [[path] for path in files]
    for batch in batches:
        done = _run([_node(), script, *batch], place)
        seen |= json.loads(done) if done.startswith("{") else {batch[0]: ["trouble " + done[:200]]}
    os.remove(script)
    return seen


def _compile(moved: Moved, place: str) -> Report:
    """What TypeScript's compiler says about all sources together, without the places."""
    compiler = os.path.join(fetch(TYPESCRIPT), "lib", "tsc.js")
    files = [path for path in own_tests.read_sources(place) if path.startswith(moved.sources)]
    settings = {
        "compilerOptions": {
            "noEmit": True,
            "target": "es2022",
            "module": "esnext",
            "moduleResolution": "bundler",
            "skipLibCheck": True,
            "strict": True,
            "isolatedModules": True,
            "types": [],
            "lib": ["es2022", "dom"],
        },
        "files": [path for path in files if path.endswith((".ts", ".tsx")) and "/tests/" not in path],
    }
    with open(os.path.join(place, "tsconfig.json"), "w", encoding="utf-8") as file:
        json.dump(settings, file)
    lines = _run([_node(), compiler, "-p", "tsconfig.json"], place).splitlines()
    if any(line.startswith("error TS") for line in lines):
        raise NotAvailable(f"the compiler refuses its settings: {lines[0][:200]}")
    said = sorted(line.partition(": error ")[2] for line in lines if ": error " in line)
    # The parts of a union are printed in the order in which the compiler met them: words are compared.
    said = [" ".join(sorted(re.findall(r"\w+", line))) for line in said if not NOT_INSTALLED.match(line)]
    print(f"{moved.name}: {len(settings['files'])} files, the compiler says {len(said)} errors", flush=True)
    return {"all sources": said}


def _run(command: Sequence[str], place: str) -> str:
    try:
        done = subprocess.run(
            command,
            cwd=place,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            encoding="utf-8",
            timeout=RUN_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise NotAvailable(f"{os.path.basename(command[0])} took longer than {RUN_SECONDS} s") from None
    return done.stdout


@cache
def read_once(path: str, text: bytes) -> ReadFile:
    return read_facts(path, text)


def _move_all(moved: Moved, place: str) -> tuple[Counter[str], list[str]]:
    """Up to so many edits, each on the outcome of the one before; ways and targets take turns."""
    texts = own_tests.read_sources(place)
    counts: Counter[str] = Counter()
    done: list[str] = []
    gone: set[str] = set()
    tried: set[tuple[str, str]] = set()
    while len(done) < MOST_EDITS:
        project = Project(MemorySource(texts, read_once, lambda path: language_of(path) is not None))
        found = _next_definition(project, moved, tried)
        if found is None:
            break
        path, index, definition = found
        symbol = project.symbol_of(path, index)
        if symbol is None:
            continue
        target = _target(project, path, definition, len(tried))
        is_exporting = len(tried) % 3 == 0
        way = moved.ways[len(tried) % len(moved.ways)]
        plan = (plan_move if way == "move" else plan_extract)(project, symbol, target, is_exporting)
        if isinstance(plan, Refusal):
            counts[f"refused {plan.code}"] += 1
            continue
        changed = apply_in_memory(plan, project.source)
        texts = {path: text for path, text in (texts | changed).items() if path not in plan.removed}
        gone |= set(plan.removed)
        counts[way] += 1
        done.append(f"{way} {path} {definition.name} -> {target}")
    for path in gone - texts.keys():
        if os.path.exists(os.path.join(place, path)):
            os.remove(os.path.join(place, path))
    for path, text in texts.items():
        os.makedirs(os.path.dirname(os.path.join(place, path)), exist_ok=True)
        with open(os.path.join(place, path), "wb") as file:
            file.write(text)
    return counts, done


def _next_definition(
    project: Project, moved: Moved, tried: set[tuple[str, str]]
) -> tuple[str, int, Definition] | None:
    for path in project.source.files():
        facts = project.facts(path)
        if facts is None or not path.startswith(moved.sources) or "moved_" in path or "/tests/" in path:
            continue
        for index, definition in enumerate(facts.definitions):
            is_nested = definition.binding == NONE or facts.bindings[definition.binding].scope != 0
            if definition.kind not in KINDS or (path, definition.name) in tried:
                continue
            if is_nested and definition.kind not in ("function", "class", "method"):
                continue
            tried.add((path, definition.name))
            return path, index, definition
    return None


def _target(project: Project, path: str, definition: Definition, turn: int) -> str:
    """A new file beside it, a new file in a folder below, or another file that is there."""
    folder, file = os.path.split(path)
    extension = os.path.splitext(file)[1]
    name = "moved_" + definition.name.replace("$", "_") + extension
    if turn % 3 == 1:
        return os.path.join(folder, "deeper", name)
    if turn % 3 == 2:
        for other in project.source.files():
            if os.path.split(other)[0] == folder and other != path and other.endswith(extension):
                return other
    return os.path.join(folder, name)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
