"""Test cases of several runs of one check, compared by name. Pure.

A case is known by its file and name. A test file that cannot be loaded is one fact, however many cases are in
it.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Collection
from typing import Final, Literal, TypeAlias

import msgspec

from handrail.contract.wording import format_count
from handrail.evidence.proof import CaseCounts, Cell
from handrail.evidence.runs import RunResult

Key: TypeAlias = tuple[str, str]
"""The file and the name of a case; the name is empty for a file that cannot be loaded."""
Colour: TypeAlias = Literal["green", "red", "neither"]
"""`neither`: it was skipped, or was expected to fail."""

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")
_COLOURS: Final[dict[str, Colour]] = {"passed": "green", "failed": "red", "error": "red"}
_WORST: Final[tuple[Colour, ...]] = ("red", "neither", "green")
_MOST_MISSING_NAMES = 3


class Cases:
    """The cases of one run, by file and name; none if the run did not get that far."""

    def __init__(self, result: RunResult) -> None:
        self.colours: dict[Key, Colour] = {}
        self.missing_names: dict[Key, str] = {}
        self.unloaded: dict[str, str] = {}
        """Files that could not be loaded, each with the name that was missing or an empty text."""
        self._trouble: dict[str, str] = {}
        for case in result.cases or ():
            key = (case.file, _ADDRESS.sub("0x0", case.name))
            colour = _COLOURS.get(case.outcome, "neither")
            self.colours[key] = min(self.colours.get(key, colour), colour, key=_WORST.index)
            if colour == "red":
                self.missing_names[key] = case.missing_name
        for one in result.unloaded:
            self.unloaded[one.file] = one.missing_name
            self._trouble[one.file] = one.trouble
        self._by_file = Counter(file for file, _ in self.colours)
        self._by_test = Counter(map(_strip_parameters, self.colours))

    def find_unloaded(self, file: str) -> str | None:
        """Return the file because of which no case of this one is known: itself, or a conftest.py above it.
        None if there is none.
        """
        if file in self.unloaded:
            return file
        return next((one for one in self.unloaded if file and _is_conftest_of(one, file)), None)

    def has_lost(self, key: Key, earlier: Cases) -> bool:
        """Whether a case of an earlier run is missing in this one.

        A name with a time or another changing value is new in every run. So the file must have fewer cases,
        and among parameters of one test, that test.
        """
        file, test = key[0], _strip_parameters(key)
        return (
            key not in self.colours
            and self._by_file[file] < earlier._by_file[file]
            and self._by_test[test] < earlier._by_test[test]
        )

    def list_red(self) -> tuple[Key, ...]:
        """Return failing cases, then files that cannot be loaded."""
        red = [key for key, colour in self.colours.items() if colour == "red"]
        return (*red, *((file, "") for file in self.unloaded))

    def describe_red(self, key: Key) -> str:
        """Return a case for readers; for a file that cannot be loaded, also why, in the words of its
        runner.
        """
        trouble = "" if key[1] else self._trouble.get(key[0], "")
        return f"{key[0]} (cannot be loaded: {trouble})" if trouble else describe_key(key)

    def list_green(self) -> tuple[Key, ...]:
        return tuple(key for key, colour in self.colours.items() if colour == "green")


def _strip_parameters(key: Key) -> Key:
    file, name = key
    return file, name.partition("[")[0]


def _is_conftest_of(path: str, file: str) -> bool:
    folder, _, name = path.rpartition("/")
    return name == "conftest.py" and (not folder or file.startswith(f"{folder}/"))


def describe_key(key: Key) -> str:
    """Return a case for readers, with its file unless the name contains it."""
    file, name = key
    if not name:
        return f"{file} (cannot be loaded)"
    stem = posixpath.basename(file).partition(".")[0]
    return name if stem in name else f"{file}: {name}"


def describe_unloaded(keys: Collection[Key]) -> str:
    """Return what failed, if this includes files that cannot be loaded; empty if only tests failed."""
    files = sum(not name for _, name in keys)
    if not files:
        return ""
    parts = [format_count(len(keys) - files, "test fails", "tests fail")] if len(keys) > files else []
    parts.append(format_count(files, "test file cannot be loaded", "test files cannot be loaded"))
    return " and ".join(parts)


class Files(msgspec.Struct, frozen=True, kw_only=True):
    """What the comparison knows about the files of the cases."""

    changed: Collection[str] = ()
    """Tests that differ."""
    gone: Collection[str] = ()
    """Tests of the start that do not exist at the end."""
    is_code: Callable[[str], bool] = lambda _: False
    """Whether a file belongs to the code; its cases are doctests."""


class Proving(msgspec.Struct, frozen=True, kw_only=True):
    """The tests that show the change: they pass at the end and not without it."""

    new: tuple[Key, ...] = ()
    red_before: tuple[Key, ...] = ()
    others: tuple[Key, ...] = ()
    """Tests that existed before, in a file that changed."""
    weakness: str = ""
    """Why the tests show little; empty if a new test fails for a reason other than a missing name."""

    @property
    def keys(self) -> tuple[Key, ...]:
        return (*self.new, *self.red_before, *self.others)


_ABSENT = None
"""In place of a missing name: the case did not exist without the change, though its file was loaded."""


def find_proving(
    at_end: Cases, without: Cases, before: Cases, baseline: Cases | None, files: Files
) -> Proving:
    """Return the tests that pass at the end and not with the code of the start.

    `before` are the old tests with the new code; they show which tests existed. `baseline` is None if it
    was not needed.
    """
    found: dict[Key, str | None] = {}
    for key in at_end.list_green():
        file, _ = key
        match without.colours.get(key):
            case "red":
                found[key] = without.missing_names.get(key, "")
            case None if (broken := without.find_unloaded(file)) is not None:
                found.setdefault((broken, ""), without.unloaded[broken])
            case None if not files.is_code(file) and without.has_lost(key, at_end):
                # A doctest that is new or moved shows nothing.
                found[key] = _ABSENT
            case _:
                pass
    loaded = {file for file, _ in at_end.list_green()}
    for file, missing in without.unloaded.items():
        if file in loaded:  # also if some of its cases ran before the error
            found.setdefault((file, ""), missing)
    existed = {*before.colours, *(() if baseline is None else baseline.colours)}
    new, red_before, others = [], [], []
    for key in found:
        inside = [one for one in at_end.colours if one[0] == key[0]] if not key[1] else [key]
        if not all(_is_known(one, existed, files) for one in inside):
            new.append(key)
        elif _was_red(key, baseline, files):
            red_before.append(key)
        else:
            others.append(key)
    is_all_new = len(new) == len(found)
    return Proving(
        new=tuple(new),
        red_before=tuple(red_before),
        others=tuple(others),
        weakness=_explain_weakness([found[key] for key in new]) if new and is_all_new else "",
    )


def _is_known(key: Key, existed: Collection[Key], files: Files) -> bool:
    """Whether a test existed, in its file or in one that was removed: then it was moved."""
    file, name = key
    own = _strip_file(name, file)
    return key in existed or any(
        other in files.gone and _strip_file(known, other) == own for other, known in existed
    )


def _strip_file(name: str, file: str) -> str:
    return name.removeprefix(file)


def _was_red(key: Key, baseline: Cases | None, files: Files) -> bool:
    file, _ = key
    if baseline is not None:
        return baseline.colours.get(key) == "red" or file in baseline.unloaded
    return bool(file) and file not in files.changed


def _explain_weakness(missing: list[str | None]) -> str:
    """Return the weakness of new tests that all fail because a name is missing; empty if one fails for
    another reason.
    """
    if "" in missing:
        return ""
    names = list(dict.fromkeys(name for name in missing if name is not _ABSENT))
    if not names:
        return "only because the test is missing without the change"
    more = len(names) - _MOST_MISSING_NAMES
    shown = ", ".join(names[:_MOST_MISSING_NAMES]) + (f" and {more} more" if more > 0 else "")
    return f"only because {shown} {'is' if len(names) == 1 else 'are'} missing without the change"


def find_broken(before: Cases, baseline: Cases, files: Files) -> tuple[Key, ...]:
    """Return the tests of the start that pass with the old code and not with the new; one for each unloaded
    file.
    """
    found: dict[Key, None] = {}
    for key in baseline.list_green():
        file, _ = key
        unloaded = before.find_unloaded(file)
        if unloaded is not None:
            found.setdefault((unloaded, ""))
        elif files.is_code(file):
            continue
        elif before.has_lost(key, baseline) or before.colours.get(key, "green") != "green":
            found.setdefault(key)
    return tuple(found)


def find_still_red(first: Cases, second: Cases, at_end: Cases | None = None) -> tuple[Key, ...]:
    """Return what failed in both runs and does not pass at the end."""
    red = set(second.list_red())
    green = set() if at_end is None else set(at_end.list_green())
    files = {file for file, _ in green}
    still = (key for key in first.list_red() if key in red and key not in green)
    return tuple((file, name) for file, name in still if name or file not in files)


def needs_baseline(before: Cases, without: Cases, at_end: Cases, files: Files) -> bool:
    """Whether the old tests with the old code must be run to know what the change broke.

    They must if a case is red, or if fewer tests of unchanged files pass with the new code.
    """
    if before.list_red() or at_end.list_red():
        return True
    stable = {key for key in without.list_green() if _is_stable(key, files)}
    return any(before.colours.get(key) != "green" for key in stable)


def _is_stable(key: Key, files: Files) -> bool:
    file, _ = key
    return file not in files.changed and not files.is_code(file)


def make_cell(result: RunResult) -> Cell:
    """Return a run as the table shows it. A file that cannot be loaded is one error."""
    if result.state == "interrupted":
        return Cell(reason="it was interrupted")
    ends = [case.outcome for case in result.cases or ()]
    counts = CaseCounts(
        passed=ends.count("passed"),
        failed=ends.count("failed"),
        errors=ends.count("error") + len(result.unloaded),
        skipped=ends.count("skipped"),
    )
    return Cell(
        state=result.state,
        counts=None if result.cases is None else counts,
        exit_status=result.exit_status,
        reason=result.reason,
    )


def is_red(result: RunResult) -> bool:
    """Whether a run is red: by its cases even if its exit status says that it passed."""
    is_early = result.is_ended_early or bool(result.unloaded)
    ends = (case.outcome for case in result.cases or ())
    return result.state != "passed" or is_early or any(end in ("failed", "error") for end in ends)
