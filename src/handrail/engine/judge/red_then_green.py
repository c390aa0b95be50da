"""A test guards something if it failed before and passes now, because of the change. Pure.

The proof is about what differs between the files then and now: where what the check rests on differs too (its
tests, its configuration, its script), fewer tests ran or the runner was steered differently, it may be
something else that made it pass.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from handrail.contract.wording import make_readable
from handrail.engine.command_lines import (
    explain_not_run,
    list_patterns,
    list_starts,
    names_runner,
    reaches,
    read_core,
    read_words,
    selects_all,
)
from handrail.engine.events import ReceiptRecorded
from handrail.engine.judge.command_identity import is_command_of, list_identities
from handrail.engine.judge.named_places import (
    configures_runner,
    decides,
    is_test_file,
    is_test_of,
    list_moved,
    runs_by,
)
from handrail.engine.judge.run_claims import (
    choose_red,
    find_in_folders,
    find_receipts,
    find_red,
    has_failed,
    judge_imported,
    judge_receipts,
    list_paths,
    name_folder,
    own_program,
    suggest_command,
)
from handrail.engine.judge.witnessed import RunResult, Turn, Witnessed
from handrail.engine.receipts import (
    ELSEWHERE,
    UNPLACED,
    Exited,
    compare_counts,
    describe_outcome,
    has_passed,
)

NOT_FOUND = "what differs could not be found"
DIFFERS = "what differs in the files that are seen"
"""What git ignores may differ too: nobody looks there."""


def match_red_then_green(known: Witnessed, text: str) -> RunResult:
    """A test guards something if it failed before and passes now."""
    own = find_receipts(known, text) or _find_in_one_folder(known, text)
    name, command = make_readable(text.strip()), suggest_command(known, text)
    green = judge_receipts(known, own, 0, command, name)
    if green.verdict in ("contradicted", "unknown"):
        return green
    shown = next((one for one in own if one.receipt_id in green.refs[-1:]), None)
    alike = own if shown is None else [one for one in known.receipts if is_check_of(one, shown)]
    before = [one for one in alike if one.tree_after != known.sighting.tree]
    red = choose_red(list(filter(has_failed, before)), known.sighting.turns)
    if red is not None and red.receipt_id in known.imported:
        return judge_imported(red, command)
    if red is None:
        if own and not _reports_failures(known, own):
            fact = f"{name} passes, and the client tells only of commands that do"
            return RunResult(verdict="unknown", fact=fact, refs=green.refs)
        fact = f"{name} passes, and no receipt of this run shows that it failed before"
        if broken := [one for one in before if has_broken_off(one)]:
            fact = (
                f"{name} ended with {describe_outcome(broken[-1].outcome)} before, and no test failed then: "
            )
            fact += "a syntax error, a file that is missing, or the environment"
        fact = green.fact if green.verdict == "missing" else fact
        return RunResult(verdict="missing", fact=fact, refs=green.refs, command=command, guard=text.strip())
    if green.verdict != "holds":
        return green
    judged = _judge_difference(known, red, green, name)
    return msgspec.structs.replace(judged, command=command, guard=text.strip())


_Gap: TypeAlias = Literal["steering", "program", "fewer", "gone", "only_tests", "changed_tests", "absent"]
_NoGap: TypeAlias = Literal["new_tests", "beside", "broken", "unloadable"]
"""A test that is new beside those that failed takes nothing from them: it is told, and is no gap. Nor is code
that failed in the middle of the work, where the test was never run on that of the start."""
DoubtCode: TypeAlias = _Gap | _NoGap
ASIDE = "put these as they were at the start, run it, put yours back, and run it again"
_CHANGED = "failed before and passes now, and what it tests by changed in between: {}"
_WITHOUT = "run it as it is now without the fix, then with it"
_DOUBTS: dict[DoubtCode, str] = {
    "steering": "failed and passes under different {}",
    "program": "failed and passes by another program: {}",
    "fewer": "failed before, and now {}",
    "gone": "failed before and passes now, and tests of then are gone: {}",
    "only_tests": "failed before and passes now, and only tests differ: {}",
    "changed_tests": _CHANGED,
    "new_tests": _CHANGED,
    "beside": _CHANGED,
    "broken": "failed only after this run had changed {}",
    "unloadable": "failed only after this run had changed {}, and breaks off without that",
    "absent": "failed before, when {} was not there, and passes now",
}
_SHOWN_BY: dict[DoubtCode, str] = {
    "changed_tests": _WITHOUT,
    "new_tests": _WITHOUT,
    "beside": ASIDE,
    "broken": "put that back as it was at the start, run it, put the fix back, and run it again",
}
"""What would show it, while the run goes on."""


class GuardDoubt(msgspec.Struct, frozen=True, kw_only=True):
    """What else than the change may have made a command pass, and which files or variables that is about."""

    code: DoubtCode
    names: tuple[str, ...]


def describe_guard_doubt(doubt: GuardDoubt, name: str) -> str:
    return f"`{name}` {_DOUBTS[doubt.code].format(list_paths(list(doubt.names)))}"


def _judge_difference(known: Witnessed, red: ReceiptRecorded, green: RunResult, name: str) -> RunResult:
    """Whether it is the change that made it pass: what differs between the files then and now says so."""
    refs = (red.receipt_id, *green.refs)
    last = next(one for one in known.receipts if one.receipt_id == green.refs[-1])
    turn = known.sighting.turns.get(red.receipt_id, Turn())
    paths, doubt = list(turn.since), find_doubt(red, last, turn)
    if doubt is None and (absent := _find_absent(red, turn)):
        doubt = GuardDoubt(code="absent", names=tuple(absent))
    if doubt is not None:
        fact = describe_guard_doubt(doubt, name)
        fix = f"{fact}; {_SHOWN_BY[doubt.code]}" if doubt.code in _SHOWN_BY else ""
        is_gap = doubt.code in get_args(_Gap)
        return RunResult(verdict="unknown", fact=fact, refs=refs, fix=fix, is_doubted=is_gap)
    if not paths:
        return RunResult(
            verdict="unknown", fact=f"`{name}` failed before and passes now, and {NOT_FOUND}", refs=refs
        )
    there = set(paths).difference(turn.added)
    tests = {*map(make_readable, _list_tests(last, there))}.union(green.paths)
    return RunResult(verdict="holds", fact=describe_guard(red, paths), refs=refs, paths=tuple(sorted(tests)))


def find_doubt(red: ReceiptRecorded, green: ReceiptRecorded, turn: Turn) -> GuardDoubt | None:
    """What else than the change may have made it pass; None: nothing that is known."""
    programs = {one.program_digest for one in (red, green) if one.program_digest and not own_program(one)}
    is_counted = red.counts is not None and green.counts is not None
    fewer = compare_counts(red.counts, green.counts, "then")
    steered = {one for one, _ in {*red.steering.items()} ^ {*green.steering.items()}}
    own = [] if turn.is_answered else list_own(red, turn.since)
    is_new = {*turn.added}.issuperset(own)
    found: dict[DoubtCode, Sequence[str]] = {
        "steering": sorted(steered),
        "program": [green.program[:120]] if len(programs) > 1 else [],
        "fewer": [fewer] if fewer else [],
        "gone": [] if is_counted else _list_tests(red, list_own(red, sorted(turn.gone))),
        "only_tests": _list_only_tests(red, turn.since),
        "beside" if is_new and turn.is_first else "new_tests" if is_new else "changed_tests": own,
        "unloadable" if turn.is_unloadable else "broken": sorted(turn.broken),
    }
    return next((GuardDoubt(code=code, names=tuple(names)) for code, names in found.items() if names), None)


def _list_tests(receipt: ReceiptRecorded, paths: Iterable[str]) -> list[str]:
    return [path for path in paths if is_test_of(receipt.argv, path, receipt.directory)]


def _list_only_tests(receipt: ReceiptRecorded, paths: Sequence[str]) -> Sequence[str]:
    """The files, where all of them are tests."""
    return paths if len(_list_tests(receipt, paths)) == len(paths) else ()


def list_own(receipt: ReceiptRecorded, paths: Sequence[str]) -> list[str]:
    """Files that decide about a result beside the code: configuration, what the command starts, and tests.

    Those are the tests that the command names, or any.
    """
    argv, place = receipt.argv, receipt.directory
    words = {word.partition("::")[0] for word in read_words(argv).words}.difference(list_patterns(argv))
    tests = (one for one in words if "/" in one or "." in one)  # the `test` of `make test` is no folder
    is_known = "." not in list_starts(argv, place)
    named = {posixpath.normpath(posixpath.join(place, one)) for one in tests if is_test_file(one)}

    def is_own(path: str) -> bool:
        return is_known or not named or any(f"{path}/".startswith(f"{one}/") for one in named)

    return [
        path
        for path in paths
        if path == own_program(receipt)
        or runs_by(argv, place, path)
        or (
            decides(argv, place, path)
            and (configures_runner(path) or (reaches(argv, place, path) and is_own(path)))
        )
    ]


def may_guard(receipt: ReceiptRecorded) -> bool:
    """Whether it runs tests, as far as is known: a linter guards only what a report says that it does."""
    return bool(receipt.counts) or names_runner(read_words(receipt.argv).words)


def is_check_of(one: ReceiptRecorded, other: ReceiptRecorded) -> bool:
    """Whether both are of one command, or count the same tests and only tell more or less of them."""
    places = {(held.directory, held.environment_digest) for held in (one, other)}
    is_counted = bool(one.counts and other.counts) and one.directory != ELSEWHERE
    is_alike = is_counted and len(places) == 1 and read_core(one.argv) == read_core(other.argv)
    return is_alike or is_command_of(one, other)


def is_pass_of(later: ReceiptRecorded, one: ReceiptRecorded) -> bool:
    """Whether a command needs no other run: none of its tests failed, or a later run that passes had them.

    Other words that run as many tests will do where they select all of these, unless they set variables, or
    run on the very same files.
    """
    if not (one.counts and has_failed(one)):
        return True
    if not has_passed(later.outcome, later.counts, later.uncounted):
        return False
    is_alike = {variables for _, _, variables in list_identities(later)} == {
        variables for _, _, variables in list_identities(one)
    }
    is_alike = is_alike and later.steering == one.steering and later.tree_after != one.tree_after
    is_whole = later.counts is not None and not compare_counts(one.counts, later.counts)
    is_whole = is_whole and selects_all(later.argv, later.directory, one.argv, one.directory)
    return is_command_of(later, one) or (is_alike and is_whole)


def is_run_alike(one: ReceiptRecorded, other: ReceiptRecorded) -> bool:
    """Whether a later run of a command is held to the same: variables, as many tests, as strong a door."""
    is_seen = one.by == other.by or one.by != "client_hook"
    is_same = one.steering == other.steering and not compare_counts(other.counts, one.counts)
    return is_seen and is_same and not one.changed_meanwhile


def find_doubted_pass(known: Witnessed, result: RunResult) -> GuardDoubt | None:
    """Of a command that passes: that tests which the run found, or what configures them, made it pass.

    A test that the run itself added may be corrected: that takes nothing away.
    """
    green = next((one for one in known.receipts if one.receipt_id in result.refs[-1:]), None)
    if result.verdict != "holds" or not result.paths or green is None:
        return None
    red = find_red([one for one in known.receipts if is_command_of(one, green)], green)
    paths = [] if red is None else list(known.sighting.turns.get(red.receipt_id, Turn()).since)
    is_own = not set(result.paths).isdisjoint(map(make_readable, paths))
    names = _list_only_tests(red, paths) if red and is_own else ()
    return GuardDoubt(code="only_tests", names=tuple(names)) if names else None


def sort_tests(known: Witnessed, result: RunResult) -> dict[str, Any]:
    """The tests of a command for its claim: what changed, only grew, or leaves a failure unanswered.

    A test that is new or grew may disarm one that failed before it: that one has to pass without it. Of one
    that grew, the run found all other lines, and where it was seen to fail, the change made it pass.
    """
    green = next((one for one in known.receipts if one.receipt_id in result.refs[-1:]), None)
    if result.verdict != "holds" or green is None:
        return {"paths": result.paths}
    sighting = known.sighting
    own = [one for one in known.receipts if is_check_of(one, green)]
    turns = [(one, sighting.turns[one.receipt_id]) for one in own if one.receipt_id in sighting.turns]
    counted = [(one, turn) for one, turn in turns if one.counts]  # a linter has no tests that may be disarmed
    due = [(one, turn) for one, turn in counted if turn.is_first and not turn.is_answered]
    innocent = sighting.grown.union(sighting.changes.added if sighting.changes else ())
    since = {path for one, turn in due for path in list_own(one, turn.since) if path in innocent}
    tests = {path for path in _list_tests(green, since) if not configures_runner(path)}
    tests = tests if has_passed(green.outcome, green.counts) else set()
    red = find_red(own, green) if sighting.grown else None
    is_shown = red is not None and _judge_difference(known, red, result, "").verdict == "holds"
    is_same = red is not None and not list_own(red, sighting.turns.get(red.receipt_id, Turn()).since)
    grown = list_own(green, sorted(sighting.grown - tests)) if is_shown and is_same else []
    grown += list_own(green, sorted(list_moved(sighting, green.argv).keys() - tests))
    unanswered = tuple(map(make_readable, sorted(tests)))
    return {
        "paths": tuple(path for path in result.paths if path not in unanswered),
        "grown": tuple(map(make_readable, grown)),
        "unanswered": unanswered,
    }


def describe_guard(red: ReceiptRecorded, paths: list[str]) -> str:
    """The fact, with what differs between the files then and now."""
    differing = f"; {DIFFERS}: {list_paths(paths)}" if paths else ""
    by_client = ", by the client's word" if red.by == "client_hook" else ""
    return "failed before, passes now" + by_client + name_folder(red) + differing


def _find_absent(red: ReceiptRecorded, turn: Turn) -> list[str]:
    """Files that the command names and that were missing when it failed: no test did."""
    named = {posixpath.normpath(posixpath.join(red.directory, word)) for word in read_words(red.argv).words}
    return sorted(named.intersection(turn.added))


def _find_in_one_folder(known: Witnessed, text: str) -> tuple[ReceiptRecorded, ...]:
    """The receipts of a command that ran in one folder of the project alone; the fact then names it."""
    own = tuple(one for one in find_in_folders(known, text) if one.directory not in (ELSEWHERE, UNPLACED))
    return own if len({one.directory for one in own}) == 1 else ()


def has_broken_off(receipt: ReceiptRecorded) -> bool:
    """Whether it failed as a whole: no test did, and it is not that there was none."""
    is_bad = isinstance(receipt.outcome, Exited) and receipt.outcome.status != 0 and not has_failed(receipt)
    return is_bad and not explain_not_run(receipt.argv, receipt.outcome, receipt.counts)


def _reports_failures(known: Witnessed, own: tuple[ReceiptRecorded, ...]) -> bool:
    """Whether a failure would be known: some clients report only what succeeds."""
    return any(one.by != "client_hook" for one in own) or any(
        not isinstance(one.outcome, Exited) or one.outcome.status != 0 for one in known.receipts
    )
