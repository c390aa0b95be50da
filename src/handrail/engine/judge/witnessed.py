"""What a report is held against, and what is found: values that the judgement takes and gives. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from handrail.engine.command_lines import NOTHING, Suggested
from handrail.engine.events import Claim, EvidenceVerdict, GapRecorded, ReceiptRecorded
from handrail.engine.judge.artifacts import JudgedArtifact
from handrail.engine.reasons import Reason
from handrail.engine.receipts import PinnedCheck

PlaceState: TypeAlias = Literal["here", "missing", "outside", "unreadable", "line_missing", "quote_missing"]


class AskedPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A place of the project that a report names; line 0: the file as a whole."""

    path: str
    line: int = 0
    end: int = 0
    """The last line, where several are named."""
    quote: str = ""
    written: str = ""
    """The text that path and line were read from, where it differs."""


class SeenPlace(msgspec.Struct, frozen=True, kw_only=True):
    """What is there; `note` says why it could not be looked at."""

    path: str
    line: int = 0
    state: PlaceState
    note: str = ""
    own: str = ""
    """The file as the project names it, whichever spelling or link led there; empty: not found."""


class ChangedPaths(msgspec.Struct, frozen=True, kw_only=True):
    """What differs from the files that the run began with."""

    changed: tuple[str, ...] = ()
    arrived: tuple[str, ...] = ()
    """As the commit that is checked out now has them."""
    added: tuple[str, ...] = ()
    """Those of both that the run did not begin with."""
    deleted: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    """Those that are still there and left git's list of files: ignored or excluded in this run."""
    is_partial: bool = False
    """Only since the files were first recorded, later than the run began: more may have changed."""


class ChangedBeside(msgspec.Struct, frozen=True, kw_only=True):
    """What no tree tells about, and is not as the run found it."""

    ignore_rules: tuple[str, ...] = ()
    """Outside of the project's files, as people call them."""
    loaded: tuple[str, ...] = ()
    """Files that a program loads by itself."""


class LocatedPath(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a report names, as trees name it: itself and what it leads to, or what it may have been."""

    paths: tuple[str, ...] = ()
    """Empty: it is outside of the project, or no file."""
    is_inside: bool = True
    is_there: bool = False


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """Of a command that failed: what differs in the last pass since, and whether that is the code."""

    since: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    """Those of them that were not there then."""
    gone: tuple[str, ...] = ()
    """Those of them that are not there now."""
    broken: tuple[str, ...] = ()
    """Code among them that the run had changed by then."""
    is_unloadable: bool = False
    """On that code as it was at the start it only breaks off: no test fails there."""
    is_first: bool = False
    """It failed on the tests of the start, or of a commit."""
    is_answered: bool = False
    """It passed since with the very tests by which it failed."""


Turns: TypeAlias = Mapping[str, Turn]
"""By the receipt of a command that failed."""


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen in the working tree for one attempt."""

    places: Mapping[AskedPlace, SeenPlace] = {}
    tree: str = ""
    """The id of the whole tree; empty: not looked at, or not seen."""
    changes: ChangedPaths | None = None
    """In this run, as far as it is recorded; None: unknown."""
    files: Mapping[str, LocatedPath] = {}
    """By the text of a list of changed files, or of a place that is missing."""
    doubts: Mapping[str, str] = {}
    """Of those: why trees do not tell whether it changed."""
    made_before: frozenset[str] = frozenset()
    """Added paths that this step found, or may have found, when it began."""
    elsewhere: frozenset[str] = frozenset()
    """Changed paths that are as another branch of the run left them."""
    others: frozenset[str] = frozenset()
    """Changed paths that are of another run of the session perhaps: it was open when they changed."""
    since: Mapping[str, tuple[str, ...]] = {}
    """By the id of an earlier tree: some paths that changed since."""
    turns: Turns = {}
    grown: frozenset[str] = frozenset()
    """Tests that only gained lines since the commit that the run began with."""
    moved: Mapping[str, str] = {}
    """Tests that are as at the start under another name: by this the one before."""
    displaced: frozenset[str] = frozenset()
    """Those of them where a runner may not look for them."""
    repositories: tuple[str, ...] = ()
    """Folders of the project that belong to another repository, and that nobody looked into."""
    beside: ChangedBeside = ChangedBeside()
    trouble: str = ""
    """Why the tree or the changes are unknown."""
    is_tree_due: bool = False
    """All files were to be looked at."""
    machine: str = ""
    """Whose companion looked; empty: this one."""
    approved: tuple[str, ...] = ()
    """Declared checks that a person approved since the run began."""


class StandingClaims(msgspec.Struct, frozen=True, kw_only=True):
    """What the accepted reports of a run say about commands and changed files."""

    runs: tuple[Claim, ...] = ()
    """Since the last list of changes: commands that really ran."""
    list_ref: str = ""
    """The contract of that list; empty: there is none."""
    named: tuple[str, ...] = ()
    """What it names."""
    disclosed: frozenset[str] = frozenset()
    """What it left out, and the run disclosed."""
    left_out: tuple[str, ...] = ()
    """What it leaves out with a reason."""
    is_list_seen: bool = False
    """Some of what it names was found to have changed."""


class Witnessed(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a report is held against."""

    sighting: Sighting = Sighting()
    receipts: tuple[ReceiptRecorded, ...] = ()
    """Of the run, oldest first."""
    checks: tuple[PinnedCheck, ...] = ()
    named_before: frozenset[str] = frozenset()
    """Paths that an attempt before was refused for leaving out."""
    standing: StandingClaims = StandingClaims()
    refused_receipts: frozenset[str] = frozenset()
    """Receipts that an attempt before was refused for: they are of other files, or nothing ran."""
    left_out: frozenset[str] = frozenset()
    """Files that the report at hand leaves out: they make no receipt stale."""
    refuted_receipts: frozenset[str] = frozenset()
    """Receipts that contradicted an attempt before."""
    refused_places: frozenset[tuple[str, str]] = frozenset()
    """Contracts and places that an attempt before was refused for without a receipt."""
    run_flag: str = ""
    """For commands that are told: how they name the run."""
    imported: frozenset[str] = frozenset()
    """Receipts that came with a bundle: another store recorded them, of files that nobody saw here."""
    is_confirmed: bool = False
    """A person confirmed what is pending."""
    is_declined: bool = False
    """Their last word was no, which refuses the report as a whole."""

    @property
    def expects_receipts(self) -> bool:
        """Whether a command that ran would be known: then a claim without a receipt is refused."""
        return bool(self.checks or self.receipts)


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What must be looked at before a report can be weighed."""

    places: tuple[AskedPlace, ...] = ()
    files: tuple[str, ...] = ()
    """What lists of changed files name."""
    wants_tree: bool = False


class Weighed(msgspec.Struct, frozen=True, kw_only=True):
    """What the evidence says to a report."""

    judged: list[JudgedArtifact]
    claims: tuple[Claim, ...] = ()
    reasons: tuple[Reason, ...] = ()
    gaps: tuple[GapRecorded, ...] = ()


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a command really ran as a report says."""

    verdict: EvidenceVerdict
    fact: str = ""
    refs: tuple[str, ...] = ()
    command: Suggested = NOTHING
    """What to run again."""
    fix: str = ""
    """What to do instead of running it again."""
    guard: str = ""
    """The line of a guard: it is to run without the fix, and then with it."""
    paths: tuple[str, ...] = ()
    """Its own tests, script or configuration that changed in this run."""
    is_doubted: bool = False
    """It failed and passes now, and something else than the change may have done it."""
