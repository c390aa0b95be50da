"""Numbers of tests in the words of a report, against what a receipt counted. Pure.

"412 passed" can be compared only where the receipt's own report counted. A number with another unit, an
estimate ("about 400"), or one of an earlier run ("1 failed before the fix") says nothing about this run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from handrail.engine.receipts import Counts

_COUNTED = re.compile(
    r"(?P<about>(?:\b(?:about|almost|approximately|around|least|most|nearly|over|roughly|some|than|to|under)|[~≈<>])\s*)?"
    r"(?<![\w.,/])(?P<number>\d{1,3}(?:[,_ ]\d{3})+|\d{1,9})(?:\s*(?:/|(?:out\s+)?of)\s*(?:the\s+)?[\d,_]+)?"
    r"\s+(?:(?:cases?|specs?|tests?)\s+)?(?:(?:all|are|have|has|is|now)\s+)*"
    r"(?:(?P<passed>pass(?:ed|es|ing)?|green)|(?P<failed>fail(?:ed|s|ing)?))\b",
    re.IGNORECASE,
)
_OF_ANOTHER_RUN = re.compile(
    r"\b(?:baseline|before|earlier|had|initially|instead|originally|previously|red|until|was|were|without)\b"
    r"|->|→",
    re.IGNORECASE,
)


def find_miscount(texts: Iterable[str], counts: Counts) -> str:
    """What the receipt counted, where the words say another number; empty where they agree."""
    told = [text for text in texts if not _OF_ANOTHER_RUN.search(text)]
    failed = {counts.failed, counts.failed + counts.errors}
    for word, right in (("passed", {counts.passed}), ("failed", failed)):
        numbers = [number for text in told for number in _read_numbers(text, word)]
        if numbers and not right & {*numbers, sum(numbers)}:
            return f"its report counts {max(right)} {word}, not {numbers[0]}"
    return ""


def count_failed(text: str) -> int:
    """How many failed in this run by the words of a text; 0 where it does not say."""
    return 0 if _OF_ANOTHER_RUN.search(text) else max(_read_numbers(text, "failed"), default=0)


def _read_numbers(text: str, word: str) -> list[int]:
    return [
        int(re.sub(r"\D", "", found["number"]))
        for found in _COUNTED.finditer(text)
        if found[word] and not found["about"]
    ]
