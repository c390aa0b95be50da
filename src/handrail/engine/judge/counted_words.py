"""Numbers of tests in the words of a report, against what a receipt counted or a program printed. Pure.

"412 passed" is refused only where the receipt's own report counted something else; what a program printed
can at most leave a doubt. A number with another unit, an estimate ("about 400"), or one of an earlier run
("1 failed before the fix") says nothing about this run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from handrail.engine.receipts import Counts

_Word: TypeAlias = Literal["passed", "failed", "total"]

_PASSED = r"(?P<passed>pass(?:ed|es|ing)?|green|ok)"
_FAILED = r"(?P<failed>fail(?:ed|s|ing|ures?)?)"
_COUNTED = re.compile(
    r"(?P<about>(?:\b(?:about|almost|approximately|around|least|most|nearly|over|roughly|some|than|to|under)|[~≈<>])\s*)?"
    r"(?<![\w.,/:=])(?P<number>\d{1,3}(?:[,_ ]\d{3})+|\d{1,9})"
    r"(?:\s*(?:/|(?:out\s+)?of)\s*(?:the\s+)?[\d,_]+)?"
    r"\s+(?:(?:cases?|specs?|tests?)\s+)?(?:(?:all|are|have|has|is|now)\s+)*"
    rf"(?:{_PASSED}|{_FAILED}|(?P<total>tests?(?=,\s*\d)))\b",
    re.IGNORECASE,
)
_NAMED = re.compile(
    rf"(?:\b(?:{_PASSED}|{_FAILED})\s*[:=]\s*|(?P<tick>[✓✔])\s*|\b(?P<total>ran)\s+)(?P<number>\d{{1,9}})\b"
    r"(?(total)\s+(?:cases?|specs?|tests?)\b)",
    re.IGNORECASE,
)
_OF_ANOTHER_RUN = re.compile(
    r"\b(?:baseline|before|earlier|had|initially|instead|originally|previously|red|until|was|were|without)\b"
    r"|->|→",
    re.IGNORECASE,
)


def find_miscount(texts: Iterable[str], counts: Counts) -> str:
    """What the receipt counted, where the words say another number; empty where they agree."""
    told = [found for text in texts if not _OF_ANOTHER_RUN.search(text) for found in _read_numbers(text)]
    failed = {counts.failed, counts.failed + counts.errors}
    ran = counts.passed + counts.failed + counts.errors
    rights: dict[_Word, set[int]] = {
        "passed": {counts.passed},
        "failed": failed,
        "total": {ran, ran + counts.skipped},
    }
    for word, right in rights.items():
        numbers = [number for said, number in told if said == word]
        if numbers and not right & {*numbers, sum(numbers)}:
            name = "tests" if word == "total" else word
            return f"its report counts {max(right)} {name}, not {numbers[0]}"
    return ""


def count_failed(text: str) -> int:
    """How many failed in this run by the words of a text; 0 where it does not say."""
    if _OF_ANOTHER_RUN.search(text):
        return 0
    return max((number for word, number in _read_numbers(text) if word == "failed"), default=0)


def find_unprinted(text: str, printed: Iterable[str]) -> int:
    """How many tests passed or ran by the words of a text, if the program printed no such number; else 0."""
    if _OF_ANOTHER_RUN.search(text):
        return 0
    said = [number for word, number in _read_numbers(text) if word != "failed"]
    shown = [number for output in printed for word, number in _read_numbers(output) if word != "failed"]
    return 0 if not said or {*said, sum(said)} & {*shown, sum(shown)} else max(said)


def _read_numbers(text: str) -> Iterator[tuple[_Word, int]]:
    for found in _COUNTED.finditer(text):
        if not found["about"]:
            word: _Word = "passed" if found["passed"] else "failed" if found["failed"] else "total"
            yield word, int(re.sub(r"\D", "", found["number"]))
    for found in _NAMED.finditer(text):
        yield "failed" if found["failed"] else "total" if found["total"] else "passed", int(found["number"])
