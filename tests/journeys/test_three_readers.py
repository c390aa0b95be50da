"""The closing line, `session show` and the receipt are three readers of one list: no fact is in one alone."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from handrail.projections.closing import ALL_CHECKED
from handrail.projections.doubts import ALL_RAN, NO_TEST_COUNTED
from tests.host.worktree.project import commit
from tests.journeys.cast_players import Player
from tests.journeys.cast_rows import ROWS
from tests.journeys.conversation import answer
from tests.journeys.test_travelling_receipts import statement_of, with_keys
from tests.surfaces.cli.here import run_here

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
    pytest.mark.promise("receipt.travels"),
    pytest.mark.thorough,
]
OF_THE_COMMIT = (
    "`.*` did not pass|no check (?:that counts )?ran|on other files than .*|the run left other files than .*"
)
"""What only a receipt can tell: it is about a commit."""
PARTS = (
    r"\w[\w ]* is finished: \d+ steps? done",
    r"\d+ skipped",
    r"evidence: .*",
    r"what ran: .*",
    re.escape(ALL_CHECKED),
    re.escape(ALL_RAN),
    r"only the agent's word: .*",
    r"\d+ open gaps?, the first: .*",
)
"""What the closing line has beside doubts and facts."""
PLAYED = (
    "a line that hides a failure, run by Handrail: grep -q surely_not_there src/bill.py | cat",
    "reports a change: a link that was turned elsewhere",
    "reports a change: a file through a link",
    "runs in a folder as a shell does",
    "works where a hook tells",
    "works where a hook tells no folder",
    "a test is deleted between two green runs",
    "reports a failure that the hook told",
    "ignored, and loaded by itself: sitecustomize.py",
    "works beside a person who commits",
    "a fake runner behind a rule that no tree holds: unittest.py",
    "a fake runner behind a rule that no tree holds: unittest/",
    "the configuration of the runner changed in the run: pytest.ini",
    "runs a declared check by its name",
    "runs the declared check in its shell",
    "the test itself was made to pass",
    "reports a check that fails",
    "adds a test",
    "a guard that failed because its file was missing",
    "a guard of which only the test was changed",
    "writes the test first, sees it fail, and changes only the code",
    "a guard whose test was weakened, beside a comment in the code",
    "adds one more test after the fix",
    "a guard whose configuration was changed, beside a comment in the code",
    "a sentence that settles what evidence opened",
    "says that it checked nothing of one thing",
    "changes only a text, and names a look that nobody saw",
    "verifies with an approved check that Handrail runs",
    "a check in another folder, named by its receipt",
    "weakens a test before the run begins",
    "declares its own check before the run begins",
    "declares its own check in the run",
    "forges what a hook tells of the declared check",
    "takes its fix out to see the new test fail",
    "adds a test that disarms the one that fails",
    "adds a failing test beside passing ones, and mends the code",
    "has an uncommitted declaration approved",
    "breaks the code, and puts it back with a comment",
    "writes the test when the first fix is there already, and it is wrong",
    "weakens a test in a submodule",
    "hides a test that disarms the others from a submodule",
    "starts another program under the same name",
    "weakens a part of the makefile",
    "weakens a test in a submodule, and commits it there",
    "weakens a test while it adds one that fails",
    "adds a failing test to a file that has others, and mends the code",
    "takes its fix out to see a test in an old file fail",
    "works in a sparse checkout that leaves out tests",
    "commits a harmless test, sees the commit fail, and adds the test that disarms",
    "mends what a linter finds at the start, beside a new test",
    "adds two failing tests one by one to a file that nobody ran before",
    "breaks what it changes, sees that, and mends it",
    "runs only the declared check that passes",
    "runs the tests and a linter that counts none",
    "sees a linter fail on its own change, and mends that",
    "runs two checks with the same words in two folders, and reports the first",
    "declares a script that prints the sum of a runner",
    "changes what another runner and another package are configured by",
    "takes its fix back after it was shown, with a comment, and disarms",
    "moves a test into a package below its folder",
    "gives a test that fails a name that its command leaves out",
    "runs the declared check of one file after the whole failed",
)
"""Rows of the cast whose runs end, each with other doubts and facts than the ones before it."""


class Readers:
    """What the three say about the run of a player that has ended, and is committed."""

    def __init__(self, player: Player) -> None:
        self.closing = str(player.reply["closing"])
        session, own = player.reply["session"]["sessionId"], player.reply["session"]["runId"]
        (run,) = answer(player.runtime, "session.show", sessionId=session, run=own)["runs"]
        self.doubts: dict[str, str] = run["doubts"]
        self.facts: dict[str, str] = run.get("told", {})
        self.gaps = [one for one in run["gaps"] if one["is_open"]]
        wide = {"COLUMNS": "4000"}
        self.page = run_here(
            player.runtime, ["session", "show", session, "--human"], environment=wide
        ).out.decode()
        runtime = with_keys(player.runtime, player.home)
        self.receipt: dict[str, Any] = statement_of(answer(runtime, "receipt.export")["content"])["predicate"]
        self.markdown = answer(runtime, "receipt.export", **{"as": "markdown"})["content"].replace("\\", "")

    def list_differences(self) -> list[str]:
        told = self.receipt["handrailRun"]
        shown = {**self.doubts, **self.facts}
        shown.pop("contradicted", None)
        plain = [text[:200] for code, text in self.doubts.items()]
        own = [one for one in told["doubts"] if one in plain or re.fullmatch(OF_THE_COMMIT, one) is None]
        cases = {
            "doubts of the receipt": own != plain,
            "facts of the receipt": told["told"] != {code: text[:200] for code, text in self.facts.items()},
            "Markdown": [code for code, text in shown.items() if not self._is_in_markdown(code, text)],
            "page": [code for code, text in shown.items() if not self._is_on_page(code, text)],
            "closing line": [code for code, text in shown.items() if not self._is_in_closing(code, text)],
            "closing line alone": self._list_untold(),
            "clean beside a doubt": bool(self.doubts) and ALL_CHECKED in self.closing,
            "words": [" ".join(one.split()) for one in told["onlyAgentsWord"]]
            != re.findall("Only the agent's word: (.*)", self.page),
            "passed beside a doubt": bool(self.doubts) and self.receipt["result"] == "PASSED",
            "guards": not self.doubts and any(not one["holds"] for one in told["redThenGreen"]),
            "twice": [text for text in shown.values() if self.markdown.count(text) > 1],
        }
        return [f"{where}: {what}" for where, what in cases.items() if what]

    def _is_in_markdown(self, code: str, text: str) -> bool:
        match code:
            case "uncounted":
                return NO_TEST_COUNTED in self.markdown
            case "elsewhere" | "own_words" | "settled":
                return all(
                    name in self.markdown for name in re.findall(r"[\w./-]+", text.rpartition(": ")[2])
                )
            case _:
                return text[:200] in self.markdown

    def _is_on_page(self, code: str, text: str) -> bool:
        match code:
            case "gaps" | "settled":
                return all(one["summary"] in self.page for one in self.gaps)
            case _:
                return text.lower() in self.page.lower()

    def _is_in_closing(self, code: str, text: str) -> bool:
        match code:
            case "undeclared":
                return ALL_RAN in self.closing or text in self.closing
            case "uncounted":
                return f"which {NO_TEST_COUNTED}" in self.closing or text in self.closing
            case "elsewhere":
                return all(name in self.closing for name in re.findall("`(.*?)`", text))
            case _:
                return text in self.closing

    def _list_untold(self) -> list[str]:
        """What stands in the closing line, and is neither a doubt nor a fact nor one of its own parts."""
        left = self.closing.removesuffix(".")
        for text in sorted((*self.doubts.values(), *self.facts.values()), key=len, reverse=True):
            left = left.replace(f"; {text.removesuffix('.')}", "")
        pattern = "; ".join(f"(?:{part})?" for part in PARTS)
        return [left] if re.fullmatch(pattern.replace("; ", "(?:; )?"), left) is None else []


@pytest.mark.parametrize("name", PLAYED)
def test_no_fact_is_told_by_one_reader_alone(tmp_path: Path, name: str) -> None:
    player = Player(tmp_path, "cli")
    (row,) = (row for row in ROWS if row.name == name)
    player.play(row)
    commit(player.root)

    readers = Readers(player)

    assert readers.list_differences() == [], readers.closing
