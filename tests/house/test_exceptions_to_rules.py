"""An exception to a rule names the rule and gives its reason on the same line."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator, Sequence

from tests.cases import every_case
from tests.house.tree import Source, check, check_planted, plant, python_files

NOQA = re.compile(r"#\s*(?:ruff:\s*)?noqa\b(?P<rules>:\s*[A-Z]+[0-9]+(?:\s*,\s*[A-Z]+[0-9]+)*)?(?P<rest>.*)")
IGNORE = re.compile(r"#\s*type:\s*ignore(?P<rules>\[[a-z0-9, -]+\])?(?P<rest>.*)")
WORDS_OF_A_REASON = 2


def exceptions_without_reason(sources: Sequence[Source]) -> list[str]:
    problems = []
    for source in sources:
        for line, comment in _comments(source):
            found = NOQA.search(comment) or IGNORE.search(comment)
            if found is None:
                continue
            where = f"{source.path}:{line}"
            if not found["rules"]:
                problems.append(f"{where}: the exception covers every rule; name the one it is for")
            elif len(re.findall(r"\w+", found["rest"])) < WORDS_OF_A_REASON:
                problems.append(f"{where}: the exception has no reason; write it after the directive")
    return problems


def _comments(source: Source) -> Iterator[tuple[int, str]]:
    """Comments only: a string that talks about a directive is not one."""
    if not (NOQA.search(source.text) or IGNORE.search(source.text)):
        return
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def test_every_exception_to_a_rule_has_a_reason() -> None:
    check(exceptions_without_reason(python_files()))


@every_case(
    ("line", "expected"),
    [
        ("import x  # noqa: PLC0415 - loaded on first need", ""),
        ("import x  # noqa: PLC0415, S404  # loaded on first need", ""),
        ("import x  # noqa: PLC0415", "has no reason"),
        ("import x  # noqa: PLC0415 - why", "has no reason"),
        ("import x  # noqa", "covers every rule"),
        ("y = x  # type: ignore[arg-type]  # the stub is wrong here", ""),
        ("y = x  # type: ignore[arg-type]", "has no reason"),
        ("y = x  # type: ignore", "covers every rule"),
        ("y = '# noqa: S101'", ""),
        ("# ruff: noqa: E501", "has no reason"),
    ],
)
def test_an_exception_without_a_reason_is_reported(line: str, expected: str) -> None:
    check_planted(exceptions_without_reason, plant("src/handrail/host/clock.py", line + "\n"), expected)
