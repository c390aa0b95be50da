"""The test cases that runners wrote through the hooks of Handrail. Every line is checked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from handrail.ports.trials import MOST_CASE_NAME, MOST_CASES, CaseOutcome, TestCase, UnloadedFile

_WORST: dict[CaseOutcome, int] = {"passed": 0, "skipped": 1, "error": 2, "failed": 3}
_DIGEST_LENGTH = 16
FOREIGN = "something else wrote into the list of test cases"


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The cases of one trial."""

    cases: tuple[TestCase, ...] | None = None
    unloaded: tuple[UnloadedFile, ...] = ()
    is_ended_early: bool = False
    trouble: str = ""
    """Why the cases do not count, or are incomplete; empty if they count."""


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    k: str
    at: Literal["begin", "case", "unloaded", "end"]
    run: str
    name: str = ""
    file: str = ""
    outcome: CaseOutcome = "passed"
    missing: str = ""
    trouble: str = ""
    early: bool = False


def read_case_file(content: bytes, nonce: str) -> Found:
    """Return what the hooks wrote; no cases if no runner with a hook was started."""
    if not content:
        return Found()
    read = msgspec.json.Decoder(_Line)
    begun: set[str] = set()
    ended: set[str] = set()
    is_early = False
    cases: list[TestCase] = []
    unloaded: list[UnloadedFile] = []
    for row in content.splitlines():
        try:
            line = read.decode(row)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return Found(cases=(), is_ended_early=True, trouble=FOREIGN)
        if line.k != nonce:
            return Found(cases=(), is_ended_early=True, trouble=FOREIGN)
        match line.at:
            case "begin":
                begun.add(line.run)
            case "end":
                ended.add(line.run)
                is_early = is_early or line.early
            case "case":
                cases.append(
                    TestCase(name=line.name, file=line.file, outcome=line.outcome, missing_name=line.missing)
                )
            case "unloaded":
                unloaded.append(UnloadedFile(file=line.file, missing_name=line.missing, trouble=line.trouble))
    is_early = is_early or begun != ended
    return make_found(
        cases,
        unloaded,
        is_ended_early=is_early,
        trouble="the test runner ended before its tests were finished" if is_early else "",
    )


def make_found(
    cases: Iterable[TestCase],
    unloaded: Iterable[UnloadedFile],
    *,
    is_ended_early: bool = False,
    trouble: str = "",
) -> Found:
    """Return cases by name, each once with the worst of its outcomes, and files by name."""
    worst: dict[tuple[str, str], TestCase] = {}
    for case in cases:
        name = _shorten(case.name)
        key = (name, case.file)
        worse = worst.get(key)
        if worse is None or _WORST[case.outcome] > _WORST[worse.outcome]:
            worst[key] = msgspec.structs.replace(case, name=name)
    if len(worst) > MOST_CASES:
        return Found(trouble=f"it has more than {MOST_CASES} test cases")
    files: dict[str, UnloadedFile] = {}
    for one in unloaded:
        known = files.get(one.file)
        if known is None or (one.missing_name and not known.missing_name):
            files[one.file] = msgspec.structs.replace(one, trouble=_shorten(one.trouble))
    return Found(
        cases=tuple(worst[key] for key in sorted(worst)),
        unloaded=tuple(files[file] for file in sorted(files)),
        is_ended_early=is_ended_early,
        trouble=trouble,
    )


def _shorten(name: str) -> str:
    if len(name) <= MOST_CASE_NAME:
        return name
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
    return f"{name[: MOST_CASE_NAME - _DIGEST_LENGTH - 1]}~{mark}"


def describe(place: dict[str, Any]) -> str:
    """Return the value of the variable by which a hook finds its file."""
    return msgspec.json.encode(place).decode()
