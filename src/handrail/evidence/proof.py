"""A proof: the results of the four runs of a check, and the word that says what they show. Pure."""

# Annotations are not strings here: msgspec would compile each of them again in every process.

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from handrail.contract.ids import Isolation, ProofWant

ProofWord: TypeAlias = Literal[
    "proved", "kept", "rewrote", "fails", "new_rules", "unseen", "flaky", "not_tried"
]
"""What the four runs of one check show; `LABELS` has how people read each."""

LABELS: Final[dict[ProofWord, str]] = {
    "proved": "PROVED",
    "kept": "KEPT",
    "rewrote": "REWROTE",
    "fails": "FAILS",
    "new_rules": "NEW RULES",
    "unseen": "UNSEEN",
    "flaky": "FLAKY",
    "not_tried": "NOT TRIED",
}

WORST_FIRST: Final[tuple[ProofWord, ...]] = (
    "fails",
    "not_tried",
    "flaky",
    "unseen",
    "new_rules",
    "rewrote",
    "kept",
    "proved",
)
"""For several checks, the first of these words that any of them got is the word of all."""

SATISFIED_BY: Final[dict[ProofWant, frozenset[ProofWord]]] = {
    "proved": frozenset({"proved"}),
    "kept": frozenset({"proved", "kept"}),
    "passes": frozenset({"proved", "kept", "rewrote", "new_rules", "unseen"}),
}
"""The words that satisfy a step that requires a proof."""

FOR_REVIEW: Final[frozenset[ProofWord]] = frozenset({"rewrote", "new_rules"})
"""Words that a person should review even if they satisfy the step: they become a gap."""

MOST_NAMES = 50
MOST_NAME_CHARACTERS = 300

CellState: TypeAlias = Literal["passed", "failed", "timed_out", "not_started", "not_run"]
"""How one of the four runs ended; `not_run`: it was not needed, or nothing could be tried."""


class CaseCounts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How many test cases ended in which way."""

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0


class Cell(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The result of one of the four runs."""

    state: CellState = "not_run"
    counts: CaseCounts | None = None
    """None if the runner names no cases, so only its exit status is known."""
    exit_status: int | None = None
    """None if no program ended by itself."""
    reason: str = ""
    """Why the run did not start, was not needed or ended by a signal."""


class Cells(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The four runs. If two combinations have the same files, one run is the result of both."""

    tests_before_code_before: Cell = Cell()
    """The baseline."""
    tests_before_code_after: Cell = Cell()
    """Did anything break?"""
    tests_after_code_before: Cell = Cell()
    """Do the tests test the change?"""
    tests_after_code_after: Cell = Cell()
    """Does it pass?"""


class ProofSubject(msgspec.Struct, frozen=True, kw_only=True):
    """The check and the two ends that a proof is about; the fields are those of `Proof`."""

    check: str = ""
    command: str = ""
    base: str = ""
    head: str = ""


class Proof(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What the four runs of one check show about the change from one tree to another."""

    word: ProofWord
    check: str = ""
    """The declared name; empty if the command was typed and not declared."""
    command: str = ""
    """The command as one line for readers, with secrets removed."""
    base: str = ""
    """The git tree id of the files at the start; empty if not known here."""
    head: str = ""
    """The git tree id of the files that were proven."""
    cells: Cells = Cells()
    names: tuple[str, ...] = ()
    """The subject of the word: the tests that prove, the tests that broke, or the files concerned."""
    names_total: int = 0
    """The number of names, including those beyond `MOST_NAMES`."""
    reason: str = ""
    """Of NOT TRIED: why. Of PROVED: what weakens it, as a name that is missing without the change.

    Of FAILS without names: the last lines that the check printed, in quotation marks.
    Of FAILS and REWROTE with names: what failed, if test files that cannot be loaded are among it.
    """
    new_tests: int = 0
    """Tests that prove the change and did not exist before it."""
    red_before: int = 0
    """Tests that prove the change and failed before it."""
    still_red: int = 0
    """Tests that failed before the change and still fail."""
    by_exit_status: bool = False
    """Whether no case is known, so the word rests on exit statuses alone."""
    isolation: Isolation = ""
    duration_ms: int = 0
    remarks: tuple[str, ...] = ()
    """Full sentences on how it was tried, such as which files were taken from the end in every run."""


def bound_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names that a proof keeps: at most `MOST_NAMES`, each cut to its bound."""
    return tuple(name[:MOST_NAME_CHARACTERS] for name in names[:MOST_NAMES])


def choose_worst(words: Sequence[ProofWord]) -> ProofWord:
    """Return the word of several checks; without any check, it is that nothing was tried."""
    return min(words, key=WORST_FIRST.index, default="not_tried")
