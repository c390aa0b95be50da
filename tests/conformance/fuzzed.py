"""Command lines by chance, from a seed: real words in wrong places, changed tokens, bytes that are no text.

`run_lines` sends them through the real entry in one process; `judged` says what is wrong with an answer.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import IO, Any

from handrail.main import main
from handrail.surfaces.cli.reading.command_table import COMMANDS, GLOBALS
from handrail.surfaces.cli.self_description.help import front_page
from tests.conformance.leaves import LEAVES
from tests.surfaces.cli.tool import CORE_CODES, Ran, checked_document, strict_json
from tools.readiness import NEEDS_A_PERSON

LEFT_OUT = frozenset({"mcp", "serve", "console", "demo", "hook", *NEEDS_A_PERSON})
"""They take over stdin and stdout for good, or ask at a terminal; each has a test of its own."""
PATHS = sorted(path for path in COMMANDS if path not in LEFT_OUT)
WORDS = sorted({word for path in PATHS for word in path.split()})
OWN = {path: [param for param in COMMANDS[path]["params"] if param["flag"]] for path in PATHS}
FLAGS = sorted(
    {param["flag"] for params in OWN.values() for param in params} | {one["flag"] for one in GLOBALS}
)
VALUES = [
    "", "-", "--", "---", "=", "@", "@absent", "@.", "{}", "[]", "{", '{"a":1}', '{"a":1,"a":2}', "null",
    "[" * 500, '{"ackToken":7}', "wr.small_change", "wr.nope", "my_check.json", "broken.json", "bundle.json",
    "answer.json", "text.json", "notes.md", "ses_000000000000", "ak1" + "0" * 53, "st1x", "cu1x", "ct_a.b",
    "0", "1", "-1", "1_0", "501", "9" * 30, "1e3", "+1", "１", "١", " 1", "true", "false", "json", "text",
    "raw", "NaN", "lafs", "cli", "minimal", "items=1", "tokens=9", "bytes=0", "items.id", "a,b", ",,",
    "summary", "source", "é", "\x00", "\x1b[0m", "a\nb", "\t", "\r", "\x7f", "\ud800", "\udcff", "\u202e",
    "\ufeff", "x" * 300,
    "x" * 60_000, "../..", "1.0", "2", "9.0",
]  # fmt: skip
ASKS_OTHERWISE = frozenset({"--human", "--field", "--help", "--version", "text", "raw", "human", "lafs"})
EXITS = {0, *(status for status, _ in CORE_CODES.values())}


def line_of(chance: random.Random, names: Mapping[str, str]) -> list[str]:
    """One command line."""
    kind = chance.random()
    if kind < 0.2:
        return [_word(chance, names) for _ in range(chance.randrange(8))]
    if kind < 0.6:
        path = chance.choice(PATHS)
        parts = path.split() + [_own(chance, names, path) for _ in range(chance.randrange(4))]
        return [word for part in parts for word in (part if isinstance(part, list) else [part])] + [
            _word(chance, names) for _ in range(chance.randrange(3))
        ]
    leaf = LEAVES[chance.choice(PATHS)]
    line = list(chance.choice([leaf.line, *leaf.further]))
    for _ in range(chance.randrange(1, 4)):
        _disturb(chance, names, line)
    return [names.get(word, word) for word in line]


def _own(chance: random.Random, names: Mapping[str, str], path: str) -> str | list[str]:
    """A flag that the command has, or a global one, with a value of any kind."""
    flag = chance.choice([*(param["flag"] for param in OWN[path]), *(one["flag"] for one in GLOBALS)])
    value = _value(chance, names)
    return chance.choice([[flag, value], [f"{flag}={value}"], [flag]])


def _word(chance: random.Random, names: Mapping[str, str]) -> str:
    kind = chance.random()
    if kind < 0.3:
        return chance.choice(WORDS)
    if kind < 0.6:
        return chance.choice(FLAGS)
    if kind < 0.7:
        return f"{chance.choice(FLAGS)}={_value(chance, names)}"
    if kind < 0.75:  # a flag that is nearly right
        return _changed(chance, chance.choice(FLAGS))
    return _value(chance, names)


def _value(chance: random.Random, names: Mapping[str, str]) -> str:
    kind = chance.random()
    if kind < 0.5:
        return chance.choice(VALUES)
    if kind < 0.65:
        return names[chance.choice(sorted(names))]
    if kind < 0.85:
        return _changed(chance, names[chance.choice(sorted(names))])
    raw = bytes(chance.randrange(1, 256) for _ in range(chance.randrange(1, 12)))
    return os.fsdecode(raw)


def _changed(chance: random.Random, text: str) -> str:
    """The text with one character gone, doubled, swapped, or another one."""
    place = chance.randrange(len(text))
    kind = chance.randrange(5)
    if kind == 0:
        return text[:place] + text[place + 1 :]
    if kind == 1:
        return text[:place] + text[place] + text[place:]
    if kind == 2:
        return text[:place] + chr(chance.randrange(1, 0x250)) + text[place + 1 :]
    if kind == 3:
        return text[:place]
    return text.swapcase()


def _disturb(chance: random.Random, names: Mapping[str, str], line: list[str]) -> None:
    place = chance.randrange(len(line))
    kind = chance.randrange(5)
    if kind == 0:
        line.insert(place, _word(chance, names))
    elif kind == 1 and len(line) > 1:
        del line[place]
    elif kind == 2:
        line.append(line[place])
    elif kind == 3 and line[place]:
        line[place] = _changed(chance, names.get(line[place], line[place]))
    else:
        line.append(_word(chance, names))


FIRST_CHECK = b"handrail: The first run of this project's check "
"""What `check run` tells a person beside its document, unless it is to be quiet."""


def judged(ran: Ran, line: Sequence[str]) -> str:
    """What is wrong with the answer to this line; empty when nothing is."""
    try:
        _check(ran, line)
    except (AssertionError, ValueError, KeyError, TypeError) as wrong:
        return f"{line!r}: {type(wrong).__name__} {wrong}: {ran.status} {ran.out[:300]!r} {ran.err[:300]!r}"
    return ""


def _check(ran: Ran, line: Sequence[str]) -> None:
    is_passed_on = "--pass-status" in line  # then the status is that of the program
    assert ran.status in EXITS or is_passed_on, "an exit status that is not in the table"
    assert b"Traceback" not in ran.out + ran.err, "a traceback"
    assert ran.status != 1 or b"INTERNAL_ERROR" not in ran.out + ran.err, "a defect"
    if any(_asks_otherwise(word) for word in line):
        if ran.out and ran.status != 0 and not any(word.startswith("--field") for word in line):
            strict_json(ran.out)
    elif "--stream" in line and b'"type":"summary"' in ran.out and not ran.out.startswith(b"{\n"):
        for one in ran.out.splitlines():
            assert {"ok", "schema_version", "type"} <= set(json.loads(one))
    elif not is_passed_on:
        is_told = "check" in line and "--quiet" not in line
        err = b"".join(
            one for one in ran.err.splitlines(keepends=True) if not is_told or not one.startswith(FIRST_CHECK)
        )
        if ran.status == 0 and err == front_page().encode():
            err = b""  # a call without words greets a person beside its document
        checked_document(Ran(status=ran.status, out=ran.out, err=err))


def _asks_otherwise(word: str) -> bool:
    flag, _, value = word.partition("=")
    return flag in ASKS_OTHERWISE or value in ASKS_OTHERWISE


def run_lines(seed: int, count: int, names: Mapping[str, str]) -> dict[str, Any]:
    """Send lines through the real entry in this process, which is theirs alone; what was wrong, and exits."""
    chance = random.Random(seed)
    wrong: list[str] = []
    exits: Counter[int] = Counter()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        for number, stream in ((1, out), (2, err)):
            os.dup2(stream.fileno(), number)
        for _ in range(count):
            line = line_of(chance, names)
            sys.argv = ["handrail", *line]
            try:
                status = main()
            except BaseException as defect:  # noqa: BLE001 - the entry promises never to raise
                wrong.append(f"{line!r}: raised {defect!r}")
                continue
            exits[status] += 1
            if told := judged(Ran(status=status, out=take_written(out), err=take_written(err)), line):
                wrong.append(told)
    return {"wrong": wrong[:20], "exits": {str(status): many for status, many in sorted(exits.items())}}


def take_written(stream: IO[bytes]) -> bytes:
    """What was written since the last time."""
    stream.seek(0)
    content = stream.read()
    stream.seek(0)
    stream.truncate()
    return content
