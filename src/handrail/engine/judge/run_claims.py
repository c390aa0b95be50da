"""Commands that a report names against the receipts of the run, and all that a report is held against. Pure.

A receipt counts for the files it ran on: the newest one on the present tree decides, one on an earlier
tree is stale, and no receipt at all is missing. What nobody saw is never called a failure.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Sequence
from typing import Any

import msgspec

from handrail.contract.wording import list_names, make_readable, spell_argv
from handrail.engine.command_lines import (
    OWN_CHECK,
    Suggested,
    explain_not_run,
    find_counting,
    has_tests_failed,
    is_status_own,
    list_programs,
    names_runner,
    read_command,
    read_suggested,
    read_words,
    split_command,
    undress_line,
)
from handrail.engine.events import EvidenceVerdict, ReceiptRecorded
from handrail.engine.judge.command_identity import (
    Identity,
    is_command_of,
    is_run_of,
    list_identities,
    split_variables,
)
from handrail.engine.judge.named_places import (
    configures_runner,
    decides,
    is_named,
    is_test_file,
    list_moved,
    runs_by,
    sort_by_use,
    stands_for_module,
)
from handrail.engine.judge.witnessed import RunResult, Turn, Turns, Witnessed
from handrail.engine.receipts import (
    ELSEWHERE,
    UNPLACED,
    Counts,
    Exited,
    NotStarted,
    PinnedCheck,
    ReceiptSource,
    StatusUnknown,
    TimedOut,
    compare_counts,
    describe_outcome,
    digest_argv,
    has_passed,
)

OF_ANOTHER_RUN = "of another run of the session perhaps"
"""How a changed file is told that nobody lists, and that a child which was open then may have changed."""
_SHELLS = ("sh", "bash")
MOST_PATHS_SINCE = 200
"""Paths that changed since a command ran."""

_NOT_ITS_OWN = "it ran in a line of several programs, whose status is not its own: run it alone"


def match_run(known: Witnessed, text: str, expected: int | None, receipt_id: Any) -> RunResult:
    """The receipt of a command line."""
    command = suggest_command(known, text)
    if isinstance(receipt_id, str) and receipt_id.strip():
        own = tuple(one for one in known.receipts if one.receipt_id == receipt_id.strip())
        if not own:
            fact = f"this run has no receipt {make_readable(receipt_id)}"
            return RunResult(verdict="contradicted", fact=fact, command=command)
        if list_identities(own[0]).isdisjoint(_find_asked(known, text)) and not _has_words(
            known, text, own[0]
        ):
            fact = f"the receipt {own[0].receipt_id} is of another command: {_show_argv(own[0])}"
            return RunResult(verdict="contradicted", fact=fact, command=command)
        if own[0].directory in (ELSEWHERE, UNPLACED):
            return _explain_unknown_folder(own[0], command)
        if own[0].receipt_id in known.imported:
            return judge_imported(own[0], command)
        is_run = not explain_unfinished(known, own[0])
        # A failure that is shown on purpose may be older.
        if expected and is_run and own[0].outcome == Exited(status=expected):
            fact = describe_outcome(own[0].outcome) + name_folder(own[0])
            return RunResult(verdict="holds", fact=fact, refs=(own[0].receipt_id,))
        result = judge_receipts(known, own, expected, command, make_readable(text.strip()))
        return msgspec.structs.replace(result, fact=result.fact + name_folder(own[0]))
    own = find_receipts(known, text)
    return (
        judge_receipts(known, own, expected, command, make_readable(text.strip()))
        if own
        else _explain_folders(known, text, command)
    )


def _explain_folders(known: Witnessed, text: str, command: Suggested) -> RunResult:
    """Of a command that did not run in the project's own directory: where it did, and what would count."""
    name = make_readable(text.strip())
    everywhere = find_in_folders(known, text)
    found = [one for one in everywhere if one.directory != ELSEWHERE]
    located = [one for one in found if one.directory != UNPLACED]
    if everywhere and not found:
        return _explain_unknown_folder(everywhere[-1], command)
    if not found:
        longer = _find_in_longer_line(known, text)
        if longer is not None:
            fact = f"it ran within a longer line, whose status is not its own: {_show_argv(longer)}"
            return RunResult(verdict="unknown", fact=fact, refs=(longer.receipt_id,), command=command)
        return judge_receipts(known, (), None, command, name)
    if not located:
        return _explain_unknown_folder(found[-1], command)
    tree = known.sighting.tree
    current = [one for one in located if tree and one.tree_after == tree]
    newest = (current or located)[-1]
    fact = f"{name} ran{name_folder(newest)} ({describe_outcome(newest.outcome)})"
    fact += ", not in the project's own directory"
    fix = f"If that run is meant, name its receiptId {newest.receipt_id} and make the call in nextCall again."
    if not current:
        fact += ", and on other files"
        command = msgspec.structs.replace(command, directory=newest.directory)
        fix = f"Run {command.line}, name its receiptId, and make the call in nextCall again."
    return RunResult(verdict="missing", fact=fact, command=command, fix=fix)


def _find_in_longer_line(known: Witnessed, text: str) -> ReceiptRecorded | None:
    """The newest line that holds the command between others, such as `pytest | tail`."""
    words = read_command(undress_line(text)).words
    held = (one for one in reversed(known.receipts) if words in list_programs(write_line(one)))
    return next(held, None)


def _explain_unknown_folder(receipt: ReceiptRecorded, command: Suggested) -> RunResult:
    where = "outside of the project" if receipt.directory == ELSEWHERE else "where its client does not tell"
    fact = f"it ran ({describe_outcome(receipt.outcome)}), {where}"
    return RunResult(verdict="unknown", fact=fact, refs=(receipt.receipt_id,), command=command)


def judge_imported(receipt: ReceiptRecorded, command: Suggested) -> RunResult:
    fact = f"it ran ({describe_outcome(receipt.outcome)}), as another store recorded it before the import"
    return RunResult(verdict="unknown", fact=fact, refs=(receipt.receipt_id,), command=command)


def _name_unlooked(known: Witnessed) -> str:
    """Of a run that holds: what of its files nobody compares."""
    folders = list(known.sighting.repositories)
    return f"; nobody looked into {list_paths(folders)} (another repository)" if folders else ""


def name_folder(receipt: ReceiptRecorded) -> str:
    """For a run that is not one of the project's own directory, nor of a check that says its folder."""
    is_plain = receipt.check or receipt.directory == "."
    return "" if is_plain else f" in {make_readable(receipt.directory)[:120]}"


def find_in_folders(known: Witnessed, text: str) -> tuple[ReceiptRecorded, ...]:
    """The receipts of its words from another folder than the one that it means."""
    own = find_receipts(known, text)
    return tuple(one for one in known.receipts if one not in own and _has_words(known, text, one))


def find_receipts(known: Witnessed, text: str) -> tuple[ReceiptRecorded, ...]:
    """The receipts of a command line. One from a folder of its own says nothing about the project's."""
    asked = _find_asked(known, text)
    is_bare = read_command(undress_line(text)).directory == "."
    return tuple(
        one
        for one in known.receipts
        if not asked.isdisjoint(list_identities(one))
        or (one.check and is_bare and _has_words(known, text, one))
    )


def _has_words(known: Witnessed, text: str, receipt: ReceiptRecorded) -> bool:
    """Whether it is of these words, in whichever folder; where they name variables, with these.

    The name of a check is of that check alone: another one may have the same words in another folder.
    """
    if named := [
        one for one in known.checks if _is_name(one, text.strip()) or _is_name(one, undress_line(text))
    ]:
        return any(is_run_of(one, receipt) for one in named)
    asked = {(words, variables) for words, _, variables in _find_asked(known, text)}
    own = {(words, variables) for words, _, variables in list_identities(receipt)}
    return not asked.isdisjoint(own | {(words, "") for words, _ in own if receipt.check})


def find_check_receipts(known: Witnessed, pinned: PinnedCheck) -> tuple[ReceiptRecorded, ...]:
    """The receipts of a declared check."""
    return tuple(
        one for one in known.receipts if one.receipt_id not in known.imported and is_run_of(pinned, one)
    )


def _find_asked(known: Witnessed, text: str) -> set[Identity]:
    """What a text may mean: its words, the same in a shell, or the declared check it names; and where."""
    return _find_asked_by(known, text.strip()) | _find_asked_by(known, undress_line(text))


def _find_asked_by(known: Witnessed, line: str) -> set[Identity]:
    words, command = split_command(line), read_command(line)
    own, variables = split_variables(command.words)
    found = {(digest_argv(command.words), command.directory, ""), (own, command.directory, variables)}
    whole = [words, *((shell, "-c", line) for shell in _SHELLS), tuple(_split_plainly(line))]
    found |= {(digest_argv(one), ".", "") for one in whole}
    if (asked := _read_own(line)) and asked.program:
        found.add((digest_argv(split_command(asked.program)), posixpath.normpath(asked.directory or "."), ""))
    for one in known.checks:
        is_shown = bool(variables) and (own, variables) == (one.argv_digest, one.environment_digest)
        if _is_name(one, line) or is_shown:
            found.add((one.argv_digest, one.directory or ".", one.environment_digest))
    return found


def _is_name(check: PinnedCheck, line: str) -> bool:
    asked = _read_own(line)
    return check.name == asked.check if asked else split_command(line) == (check.name,)


def _read_own(line: str) -> Suggested | None:
    """What a line of Handrail itself runs, as it is printed for an agent; None: it is another one."""
    return read_suggested(line) if split_command(line)[: len(OWN_CHECK)] == OWN_CHECK else None


def names_check(known: Witnessed, text: str) -> bool:
    """Whether a command line is that of a check which the run is pinned to."""
    asked = {(words, variables) for words, _, variables in _find_asked(known, text)}
    return any(
        not asked.isdisjoint({(one.argv_digest, ""), (one.argv_digest, one.environment_digest)})
        for one in known.checks
    )


def explain_hidden_tests(known: Witnessed, text: str) -> str:
    """Why the end of a line says nothing about the tests in it; empty: it does, or it is a declared check."""
    line = undress_line(text)
    if names_check(known, text) or read_command(line).is_alone or not names_runner(find_counting(line)):
        return ""
    return f"the end of {make_readable(line)} is not that of its tests, as it starts several programs"


def was_seen(known: Witnessed, text: str) -> bool:
    """Whether a command ran in this run, in whichever folder; within a longer line does not count."""
    return any(_has_words(known, text, one) for one in known.receipts)


def name_by_check(checks: Sequence[PinnedCheck], text: str, run_flag: str) -> str:
    """What follows `check run` in a text, with the name of the check where that or its words are given."""
    line = text.partition("\n")[0].partition("`")[0]
    program = line.removeprefix("-- ")
    is_name = any(split_command(program) == (one.name,) for one in checks if program != line)
    name = program.strip() if is_name else find_by_words(checks, program)
    return f"{name} {run_flag}{text.removeprefix(line)}" if name else text


def find_by_words(checks: Sequence[PinnedCheck], line: str) -> str:
    """The check that has these words where they start, or sets variables, which may stand before them."""
    command = read_command(line)
    words, variables = split_variables(command.words)
    own = [one for one in checks if one.argv_digest == words and variables in ("", one.environment_digest)]
    here = (one for one in own if one.environment_digest or (one.directory or ".") == command.directory)
    return next((one.name for one in here), "")


def write_line(receipt: ReceiptRecorded) -> str:
    """The command of a receipt as a line for a shell, as far as readers may see it."""
    return receipt.argv[0] if receipt.by == "client_hook" else spell_argv(receipt.argv)


def _split_plainly(line: str) -> list[str]:
    """The words of a line by its spaces and quotes alone; whole where a quote does not end."""
    try:
        return shlex.split(line)
    except ValueError:
        return [line]


def suggest_command(known: Witnessed, text: str) -> Suggested:
    """What brings the receipt of a line; it starts one program.

    Of a line with several it is the one that counts, or what the project declares.
    """
    line = undress_line(text)
    words, command = split_command(line), read_command(line)
    if own := _read_own(line):
        is_name = any(split_command(own.program) == (one.name,) for one in known.checks)
        return msgspec.structs.replace(own, check=own.program, program="") if is_name else own
    named = words[0] if any(words == (one.name,) for one in known.checks) else ""
    if named := named or find_by_words(known.checks, line):
        return Suggested(check=named, flags=known.run_flag)
    if not command.is_alone:
        counting = find_counting(line)
        if not counting and known.checks:
            return Suggested(check=known.checks[0].name, flags=known.run_flag)
        command = read_command(shlex.join(counting or ("PROGRAM",)))
    where = "" if command.directory == "." else command.directory
    program = command.line if command.is_literal else f"sh -c {shlex.quote(command.line)}"
    return Suggested(program=program, directory=where, flags=known.run_flag)


def judge_receipts(
    known: Witnessed,
    own: tuple[ReceiptRecorded, ...],
    expected: int | None,
    command: Suggested,
    name: str,
) -> RunResult:
    """The newest receipt on the present tree counts; one on another tree is stale."""
    # The order is the rule: whose word is it, was it the check that counts, did anything run, how did it end,
    # and only then on which files. A later question about a receipt that fails an earlier one would turn
    # "nothing ran" into "stale" or "contradicted" and send an honest agent in circles.
    if not own:
        fact = f"Handrail has not seen {name} run"
        return RunResult(verdict="missing", fact=fact, command=command)
    here = tuple(one for one in own if one.receipt_id not in known.imported)
    if not here:
        return judge_imported(own[-1], command)
    # A run under variables that steer its runner is another program than the declared check.
    steered = [one for one in here if stands_for_another(known, one)]
    if len(steered) == len(here):
        check = next(one.name for one in known.checks if is_run_of(one, here[-1]))
        fact = f"{name} ran{_name_steering(here[-1])[1:]}, and the check {check} is without it"
        refs, command = (here[-1].receipt_id,), suggest_command(known, check)
        return RunResult(verdict="missing", fact=fact, refs=refs, command=command)
    own, tree = tuple(one for one in here if one not in steered), known.sighting.tree
    current = [one for one in own if is_of_present_files(known, one)]
    # On the present files the strongest door stands; where none ran on them, the newest says what is stale.
    newest = choose_strongest(current or own[-1:])
    refs = (newest.receipt_id,)
    if isinstance(newest.outcome, StatusUnknown):
        is_own = is_status_own(newest.argv, newest.check)
        fact = "it ran, and nobody told how it ended" if is_own else _NOT_ITS_OWN
        return RunResult(verdict="unknown", fact=fact, refs=refs, command=command)
    ended = _describe_end(newest)
    nothing = explain_unfinished(known, newest)
    if nothing:
        fact = f"{name}: {nothing}, so it has neither passed nor failed"
        fix = _write_start_fix(newest, ended, command)
        verdict: EvidenceVerdict = "unknown" if expected else "missing"
        return RunResult(verdict=verdict, fact=fact, refs=refs, command=command, fix=fix)
    is_older = bool(tree and newest.tree_after and not current)
    if newest.uncounted and expected == 0 and not is_older and ended == "exit 0":
        fact = f"{name}: {make_readable(newest.uncounted)}, so nothing shows that a test ran"
        return RunResult(verdict="missing", fact=fact, refs=refs, command=command)
    # What an older tree gave refutes nobody: the agent may have corrected it since.
    wrong = "" if is_older else _contradiction(newest, expected)
    if wrong:
        fact = f"{name}: {wrong} (receipt {newest.receipt_id}){name_others(newest, current)}"
        verdict = _choose_verdict(newest, current, expected)
        return RunResult(verdict=verdict, fact=fact, refs=refs, command=command)
    if not tree or not newest.tree_after:
        fact = f"it ran ({ended}), on files that could not be compared with the present ones"
        return RunResult(verdict="unknown", fact=fact, refs=refs, command=command)
    if not current:
        paths = known.sighting.since.get(newest.tree_after, ())
        which = f": {list_paths(list(paths))}" if paths else ""
        fact = f"{name} ran ({ended}) before files changed{which}"
        return RunResult(verdict="stale", fact=fact, refs=refs, command=command)
    if newest.changed_meanwhile:
        which = list_paths(list(newest.changed_meanwhile))
        fact = f"{which} changed while {name} ran ({ended}); run it again, or let git ignore what it writes"
        return RunResult(verdict="unknown", fact=fact, refs=refs, command=command)
    fact = ended + _name_unlooked(known) + _name_left_out(known, newest) + _name_steering(newest)
    fact += name_others(newest, current) + describe_fewer(own, newest, "; ")
    touched = _find_touched(known, newest)
    loaded = [make_readable(path) for path in known.sighting.beside.loaded]
    fact += _describe_files(known, newest, touched, loaded)
    return RunResult(verdict="holds", fact=fact, refs=refs, command=command, paths=(*touched, *loaded))


def _describe_files(known: Witnessed, newest: ReceiptRecorded, touched: list[str], loaded: list[str]) -> str:
    grown = [path for path in touched if path in known.sighting.grown]
    changed = sort_by_use(
        [path for path in touched if path not in grown],
        (own_program(newest),),
        ((newest.argv, newest.directory),),
    )
    facts = {f"its {use} changed in this run": paths for use, paths in changed.items()} | {
        "its tests lost no line of the commit that the run began with": grown,
        "written in this run, and git does not track it": loaded,
    }
    return "".join(f"; {what}: {list_paths(paths)}" for what, paths in facts.items() if paths)


def _choose_verdict(
    newest: ReceiptRecorded, current: Sequence[ReceiptRecorded], expected: int | None
) -> EvidenceVerdict:
    """Who says what the same door saw on these very files says nothing wrong, and has not shown it either."""
    if any(one.by == newest.by and not _contradiction(one, expected) for one in current):
        return "unknown" if expected else "missing"
    return "contradicted"


def _write_start_fix(newest: ReceiptRecorded, ended: str, command: Suggested) -> str:
    """What leads on from a program of which nothing ran."""
    match newest.outcome:
        case TimedOut():
            return ""
        case NotStarted():
            return (
                f"Make it start and run {command.line}; where that cannot be, make the call in nextCall with "
                "its exitCode 127: the run goes on with a gap."
            )
        case _:
            true_report = f"report that it ended with {ended}"
            return f"Run one that has tests, or {true_report}, and make the call in nextCall."


def _describe_end(receipt: ReceiptRecorded) -> str:
    """How it ended, in the words of whoever says so."""
    ended = describe_outcome(receipt.outcome)
    if receipt.by != "client_hook":
        return ended
    return "the client says it passed" if has_passed(receipt.outcome, None) else f"{ended}, the client says"


def _find_touched(known: Witnessed, receipt: ReceiptRecorded) -> list[str]:
    """What decides about its result besides the code: a test that is only new takes nothing away."""
    changes = known.sighting.changes
    if changes is None:
        return []
    argv, place = receipt.argv, receipt.directory
    is_runner = bool(receipt.check or receipt.counts) or names_runner(read_words(argv).words)
    # One that is new since the command failed may have disarmed those that did, unless these passed without.
    red = find_red([one for one in known.receipts if is_command_of(one, receipt)], receipt)
    turn = Turn() if red is None else known.sighting.turns.get(red.receipt_id, Turn())
    since = () if turn.is_answered or red is None or not red.counts else turn.added
    moved = list_moved(known.sighting, argv)
    displaced = {new for new in known.sighting.moved if new not in moved}
    beside = {*changes.added} - {*since} - displaced
    found = [
        path
        for path in {*changes.changed, *changes.arrived}.difference(moved.values())
        if (is_runner and decides(argv, place, path) and (path not in beside or configures_runner(path)))
        or (is_named(argv, place, path) and not is_test_file(path))
        or path == own_program(receipt)
        or runs_by(argv, place, path)
        or (is_runner and path in changes.added and stands_for_module(argv, place, path))
    ]
    return [make_readable(path) for path in sorted(found)]


def find_red(
    own: Sequence[ReceiptRecorded], green: ReceiptRecorded, turns: Turns | None = None
) -> ReceiptRecorded | None:
    """The last of these receipts, in the order of the log, that failed before on other files."""
    before = own[: own.index(green)]
    failed = [one for one in before if has_failed(one) and one.tree_after not in ("", green.tree_after)]
    red = choose_red(failed, turns or {})
    is_known = bool(green.tree_after) and not green.changed_meanwhile
    return red if red and is_known and not red.changed_meanwhile else None


def choose_red(failed: Sequence[ReceiptRecorded], turns: Turns) -> ReceiptRecorded | None:
    """The last that failed before the run changed its code, else the last."""
    sound = [one for one in failed if not turns.get(one.receipt_id, Turn()).broken]
    return next(reversed(sound or failed), None)


def has_failed(receipt: ReceiptRecorded) -> bool:
    """Whether tests failed: what cannot be started, finds no test or breaks off before them shows nothing."""
    return has_tests_failed(receipt.argv, receipt.outcome, receipt.counts)


def own_program(receipt: ReceiptRecorded) -> str:
    """The program of a receipt, where it is a file of the project; empty: it is none."""
    return receipt.program.removeprefix("./") if receipt.program.startswith("./") else ""


def explain_unfinished(known: Witnessed, receipt: ReceiptRecorded) -> str:
    """Why it has neither passed nor failed: nothing ran, or it was ended before the time that it has."""
    ended = receipt.outcome
    limits = [one.timeout_seconds for one in known.checks if one.argv_digest == receipt.argv_digest]
    if isinstance(ended, TimedOut) and any(ended.seconds < limit for limit in limits):
        return f"it was ended after {ended.seconds} s, and may take longer"
    return explain_not_run(receipt.argv, ended, receipt.counts)


def was_refused(known: Witnessed, result: RunResult) -> bool:
    """Whether an attempt before was refused for this receipt, or as the command ran nothing then either.

    What cannot start makes a new receipt with each try, and each says the same.
    """
    own = next((one for one in known.receipts if result.refs and one.receipt_id == result.refs[-1]), None)
    if own is None or own.receipt_id in known.refused_receipts:
        return own is not None
    refused = [
        one for one in known.receipts if one.receipt_id in known.refused_receipts and is_command_of(one, own)
    ]
    return bool(explain_unfinished(known, own)) and any(explain_unfinished(known, one) for one in refused)


_DOORS: dict[ReceiptSource, int] = {"handrail": 2, "companion": 1, "client_hook": 0}


def choose_strongest(own: Sequence[ReceiptRecorded]) -> ReceiptRecorded:
    """On the same files the stronger door stands; of one door the newest."""
    return max(enumerate(own), key=lambda at: (_DOORS[at[1].by], at[0]))[1]


def choose_weakest(own: Sequence[ReceiptRecorded]) -> ReceiptRecorded:
    """What rests on several is worth as much as the weakest of them."""
    return min(own, key=lambda one: _DOORS[one.by])


def is_of_present_files(known: Witnessed, receipt: ReceiptRecorded) -> bool:
    """Whether it ran on the files as they are, but for those that nobody holds against it.

    These are what the report leaves out, what declared checks write as their reports, and what another run
    of the session changed perhaps.
    """
    tree = known.sighting.tree
    if not tree or receipt.tree_after == tree:
        return bool(tree)
    since = known.sighting.since.get(receipt.tree_after, ())
    beside = list_reports(known.checks) | known.left_out | known.sighting.others
    return 0 < len(since) < MOST_PATHS_SINCE and set(since) <= beside


def list_reports(checks: Sequence[PinnedCheck]) -> set[str]:
    """The files that declared checks write as their reports: theirs to write, and nobody's change."""
    return {posixpath.normpath(one.report_path) for one in checks if one.report_path not in ("", "-")}


def _name_left_out(known: Witnessed, receipt: ReceiptRecorded) -> str:
    """Of a run that holds: what changed since, and the agent says is not its own."""
    paths = sorted({*known.sighting.since.get(receipt.tree_after, ())} & known.left_out)
    return f", before {list_paths(paths)} changed (left out)" if paths else ""


def stands_for_another(known: Witnessed, receipt: ReceiptRecorded) -> bool:
    """Whether it has the words of a declared check, and ran under variables that this one does not get."""
    is_declared = any(is_run_of(one, receipt) for one in known.checks)
    return is_declared and not receipt.check and bool(receipt.steering)


def _name_steering(receipt: ReceiptRecorded) -> str:
    return f", under {', '.join(sorted(receipt.steering))}" if receipt.steering else ""


def name_others(newest: ReceiptRecorded, current: Sequence[ReceiptRecorded]) -> str:
    """Opposite results on the same files: one door says so twice, two doors differ, or how it was started."""
    ended = [one for one in current if not isinstance(one.outcome, StatusUnknown)]
    ran = [one for one in ended if not explain_not_run(one.argv, one.outcome, one.counts)]
    others = [one for one in ran if describe_outcome(one.outcome) != describe_outcome(newest.outcome)]
    same = sorted({describe_outcome(one.outcome) for one in others if is_command_of(one, newest)})
    flaky = f", and {', '.join(same)} on the same files: it is flaky, or reported wrongly" if same else ""
    apart = [one for one in others if not is_command_of(one, newest)]
    return flaky + "".join(dict.fromkeys(f", and {_describe_other(newest, one)}" for one in apart))


def _describe_other(newest: ReceiptRecorded, other: ReceiptRecorded) -> str:
    """How the same words ended that were started otherwise, and what was other."""
    name = f"by {make_readable(other.check)}, " if other.check else ""
    how = "with other variables" if other.directory == newest.directory else f"in {other.directory}"
    return f"{describe_outcome(other.outcome)} {name}{how}"


def describe_fewer(own: Sequence[ReceiptRecorded], newest: ReceiptRecorded, before: str = "") -> str:
    """Where fewer tests ran than when the same command counted them first; `before` it, if it is so."""
    first = next((one.counts for one in own if one.counts and is_command_of(one, newest)), None)
    fewer = compare_counts(first, find_counts(newest))
    return f"{before}{fewer}" if fewer else ""


def find_counts(receipt: ReceiptRecorded) -> Counts | None:
    """What it counted: no test where it had to count some, and ended well without; None: nobody knows."""
    is_silent = bool(receipt.uncounted) and receipt.outcome == Exited(status=0)
    return Counts() if is_silent else receipt.counts


def _contradiction(newest: ReceiptRecorded, expected: int | None) -> str:
    if expected is not None:
        ended = newest.outcome
        if not isinstance(ended, Exited) or ended.status != expected:
            return f"it ended with {describe_outcome(ended)}, not exit {expected}; if that shows it, say so"
        if expected == 0 and not has_passed(ended, newest.counts):
            return "its report counts no test that passed, or one that failed"
    return ""


def _show_argv(receipt: ReceiptRecorded) -> str:
    return make_readable(write_line(receipt))[:120]


def list_paths(paths: list[str]) -> str:
    return list_names([make_readable(path) for path in paths])
