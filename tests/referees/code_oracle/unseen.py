"""Packages that nobody tuned to: renames, moves and traces, judged by others; any package can be named.

`python -m tests.referees.code_oracle.unseen js:ws@8.18.0/lib/ py:click==8.1.7/click` judges these, without
names the list below; `--per-kind N` asks for more of each. TypeScript's service and compiler and Node judge
JavaScript and TypeScript, Python's own parser and compiler judge Python. It fails on an edit or a trace that
is wrong and says `complete`, on a "no callers" that is silent about a use, and on a move whose way back
leaves other files different than its preview says.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

from handrail_code.edit.plan import Plan, Refusal
from handrail_code.facts.join import Found, Project
from handrail_code.facts.model import NONE
from handrail_code.languages.extensions import language_of
from handrail_code.languages.reading import read_facts
from handrail_code.scan.callers import TraceAnswer, trace_callers
from tests.code_tools.memory_source import MemorySource
from tests.code_tools.planning import apply_in_memory, list_unrestored, plan_move, plan_rename
from tests.code_tools.symbols import symbol_at
from tests.referees.code_oracle.comparing import (
    SETTINGS,
    ask_service,
    judge,
    judge_members,
    keep_forms_apart,
)
from tests.referees.code_oracle.kept import take_per_kind
from tests.referees.code_oracle.moving import Moved, check_moves, read_once
from tests.referees.code_oracle.packages import Package
from tests.referees.code_oracle.python_callers import Uses, list_python_uses
from tests.referees.code_oracle.python_comparing import NEW_NAME, find_damage, read_texts
from tests.referees.code_oracle.python_packages import PythonPackage, fetch_wheel
from tests.referees.equipment import NotAvailable

PER_KIND = 12
UNSEEN = (
    *("js:ws@8.18.0/lib/", "js:redux@5.0.1/src/", "js:chalk@5.3.0/source/", "js:pino@9.5.0/lib/"),
    *("js:reselect@5.1.1/src/", "js:p-queue@8.1.0/dist/", "js:nanoid@5.0.9/", "js:mobx@6.13.5/src/"),
    *("py:click==8.1.7/click", "py:tinydb==4.8.0/tinydb", "py:tenacity==9.0.0/tenacity"),
    *("py:marshmallow==3.21.3/marshmallow", "py:jinja2==3.1.4/jinja2", "py:httpcore==1.0.5/httpcore"),
    "py:structlog==24.4.0/structlog",
)
NAMED = re.compile(r"(?P<host>js|py):(?P<name>@?[^@=]+?)(?:@|==)(?P<version>[^/]+)/(?P<folder>.*)")


def main(arguments: Sequence[str]) -> int:
    words, per_kind = take_per_kind(arguments, PER_KIND)
    sums: Counter[str] = Counter()
    for word in words or UNSEEN:
        named = NAMED.fullmatch(word)
        if named is None:
            print(f"{word}: name a package as js:NAME@VERSION/FOLDER/ or py:NAME==VERSION/FOLDER.")
            return 2
        try:
            counts, faults = (_judge_javascript if named["host"] == "js" else _judge_python)(named, per_kind)
        except NotAvailable as trouble:
            print(f"{word}: skipped, {trouble}.", flush=True)
            continue
        sums += counts
        print(f"{word}: {_show(counts)}; wrong {len(faults)}")
        print("".join(f"  {fault}\n" for fault in faults), end="", flush=True)
        sums["wrong"] += len(faults)
    print(f"All: {_show(sums)}; wrong or silent {sums['wrong']}")
    return 1 if sums["wrong"] else 0


def _show(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {what}" for what, count in sorted(counts.items()) if what != "wrong")


def _judge_javascript(named: re.Match[str], per_kind: int) -> tuple[Counter[str], list[str]]:
    package = Package(name=named["name"], version=named["version"], kind="", folders=(named["folder"],))
    counts: Counter[str] = Counter()
    faults: list[str] = []
    for style in ("keep", "follow"):
        for each in judge(package, style, per_kind):
            counts[f"renames {each.verdict}"] += 1
            if each.verdict == "wrong" or each.is_silent:
                faults.append(f"rename, {style}: {each}")
    project, answers = ask_service(package, per_kind)
    for each in judge_members(project, package.name, answers):
        counts[f"members {each.verdict}"] += 1
        if each.verdict == "wrong" or each.is_silent:
            faults.append(f"rename of a member: {each}")
    for asked in answers["traces"]:
        uses = Uses(
            calls=frozenset((one["file"], one["start"]) for one in asked["uses"] if one["use"] == "call"),
            values=frozenset((one["file"], one["start"]) for one in asked["uses"] if one["use"] == "value"),
        )
        _judge_trace(project, asked["file"], asked["start"], uses, counts, faults)
    sources = [path for path in project.source.files() if path.startswith(named["folder"])]
    is_typed = any(path.endswith((".ts", ".tsx")) and not path.endswith(".d.ts") for path in sources)
    is_commonjs = any(facts.is_commonjs for path in sources if (facts := project.facts(path)) is not None)
    judged_by = "compiler" if is_typed else "require" if is_commonjs else "import"
    name = f"{named['name']}@{named['version']}"
    row = check_moves(Moved(name=name, sources=(named["folder"],), judge=judged_by))
    counts["moves made"] += row.done
    counts["moves refused"] += row.refused
    faults += ["moves: see the lines above"] * row.broken
    _judge_ways_back(project, sources, per_kind, counts, faults)
    return counts, faults


def _judge_ways_back(
    project: Project, sources: Sequence[str], per_kind: int, counts: Counter[str], faults: list[str]
) -> None:
    """Moves there and back on the files alone, each judged against what the preview of the first says."""
    paths = {*project.source.files(), *project.source.manifests(), *SETTINGS}
    texts = {path: text for path in sorted(paths) if (text := project.source.text(path)) is not None}
    found = [
        Found(path=path, index=at, definition=each)
        for path in sources
        if (facts := project.facts(path)) is not None
        for at, each in enumerate(facts.definitions)
        if each.container == NONE
    ]
    for turn, each in enumerate(found[:: max(1, len(found) // (per_kind * 4))]):
        beside = [path for path in sources if path != each.path and path[-3:] == each.path[-3:]]
        folder, _, file = each.path.rpartition("/")
        new = f"{folder}/moved_{file}".removeprefix("/")
        target = beside[turn % len(beside)] if beside and turn % 2 else new
        there = _move(texts, each.path, each.definition.name, target)
        if there is None:
            counts["ways back without a way there"] += 1
            continue
        changed = {path: there.get(path, b"") for path in texts | there if texts.get(path) != there.get(path)}
        told = list_unrestored(project, each, target, changed, sorted(texts.keys() - there.keys()))
        back = _move(there, target, each.definition.name, each.path)
        left = sorted(path for path in texts | (back or {}) if texts.get(path) != (back or {}).get(path))
        counts["ways back " + ("refused" if back is None else "named" if left else "exact")] += 1
        if (back is None) != (told is None or isinstance(told, Refusal)) or (
            back is not None and told != left
        ):
            shown = "is refused" if back is None else f"leaves {left}"
            faults.append(f"way back of {each.path} {each.definition.name}, {target}: {told}; it {shown}")


def _move(texts: dict[str, bytes], path: str, name: str, target: str) -> dict[str, bytes] | None:
    """All texts after a move; None where it is refused."""
    project = Project(MemorySource(texts, read_once, lambda path: language_of(path) is not None))
    facts = project.facts(path)
    for at, each in enumerate(facts.definitions if facts is not None else ()):
        symbol = project.symbol_of(path, at) if each.name == name and each.container == NONE else None
        if symbol is None:
            continue
        plan = plan_move(project, symbol, target)
        if isinstance(plan, Refusal):
            return None
        changed = apply_in_memory(plan, project.source)
        return {at: text for at, text in (texts | changed).items() if at not in plan.removed}
    return None


def _judge_python(named: re.Match[str], per_kind: int) -> tuple[Counter[str], list[str]]:
    package = PythonPackage(
        name=named["name"], version=named["version"], kind="", folder=named["folder"].rstrip("/")
    )
    texts = read_texts(fetch_wheel(package), package.folder)
    project = Project(MemorySource(texts, read_facts, lambda path: language_of(path) is not None))
    counts: Counter[str] = Counter()
    faults: list[str] = []
    for path, start, uses in _spread(list(list_python_uses(texts)), per_kind * 5):
        _judge_trace(project, path, start, uses, counts, faults)
        symbol = symbol_at(project, path, start)
        plan = None if symbol is None else plan_rename(project, symbol, NEW_NAME)
        if symbol is None or not isinstance(plan, Plan):
            counts["renames refused"] += 1
            continue
        counts["renames made"] += 1
        told = {(one.path, one.start) for one in plan.edits}
        told |= {(one.path, one.start) for one in plan.untouched}
        spelled = {place for place in uses.calls | uses.values if _is_spelled(texts, place, symbol.name)}
        damage = find_damage(project, plan, symbol.name)
        left = sorted(spelled - told) if not plan.reasons else []
        if damage or left:
            faults.append(f"rename {path}:{start} {symbol.name}: {damage or left}")
    return counts, faults


def _spread(found: list[tuple[str, int, Uses]], wanted: int) -> Iterator[tuple[str, int, Uses]]:
    step = max(1, len(found) // wanted)
    yield from found[::step][:wanted]


def _is_spelled(texts: dict[str, bytes], place: tuple[str, int], name: str) -> bool:
    path, start = place
    return texts[path][start : start + len(name.encode())] == name.encode()


def _judge_trace(
    project: Project, path: str, start: int, uses: Uses, counts: Counter[str], faults: list[str]
) -> None:
    facts = project.facts(path)
    at = next((at for at, one in enumerate(facts.definitions) if one.start == start), None) if facts else None
    if facts is None or at is None:
        faults.append(f"trace {path}:{start}: there is no such definition")
        return
    definition = facts.definitions[at]
    found = Found(path=path, index=at, definition=definition)
    told = trace_callers(project, found, 1)
    known = _list_calls(told)
    text = {one: project.source.text(one[0]) or b"" for one in known}
    name = definition.name.encode()
    extra = {one for one in known if text[one][one[1] :].startswith(name)} - uses.calls - uses.values
    if extra and project.slots.twins.of(path):
        # `m.d.ts` declares the function of `m.js`: whoever calls it there calls what is declared here. The
        # service takes them for two things, so only what we find with the two apart is compared with it.
        extra &= _list_calls(trace_callers(keep_forms_apart(project), found, 1))
    counts["traces complete" if not told.troubles else "traces with reasons"] += 1
    where = f"trace {path}:{start} {definition.name}"
    if extra:
        faults.append(f"{where}: these are no calls: {sorted(extra)}")
    if told.troubles or told.left_out:
        return
    if not known and (uses.calls or uses.values):
        faults.append(f"{where}: silent, {sorted(uses.calls | uses.values)}")
    elif uses.calls - known:
        faults.append(f"{where}: complete without {sorted(uses.calls - known)}")


def _list_calls(told: TraceAnswer) -> set[tuple[str, int]]:
    return {(node.spot_path, spot) for node in told.nodes for spot in node.spots}


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
