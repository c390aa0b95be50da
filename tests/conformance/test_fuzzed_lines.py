"""Five thousand command lines by chance: always one document and an exit of the table, never a traceback."""

from __future__ import annotations

import json
import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conformance.forked import ForkServer
from tests.conformance.fuzzed import FLAGS, WORDS, judged, line_of
from tests.conformance.seeded import Seeded
from tests.surfaces.cli.tool import Ran, Tool, checked_document

pytestmark = pytest.mark.thorough

SEED = 20_261_115
LOTS, LINES = 20, 250
PROCESSES = 60


@pytest.mark.promise("cli.one-document")
@pytest.mark.parametrize("lot", range(LOTS))
def test_any_line_gets_one_document_and_an_exit_of_the_table(
    lot: int, seeded: Seeded, fork_server: ForkServer, tmp_path: Path
) -> None:
    tool = seeded.copy(tmp_path)

    ran = fork_server.run(
        {
            "lines": LINES,
            "seed": SEED + lot,
            "names": seeded.names,
            "environment": {**tool.environment, "HANDRAIL_TIMEOUT": "2"},
            "directory": tool.project,
        }
    )

    assert ran.status == 0, ran.err
    told = json.loads(ran.out)
    assert not told["wrong"], "\n".join([f"seed {SEED + lot}", *told["wrong"]])
    assert sum(told["exits"].values()) == LINES
    assert set(told["exits"]) >= {"0", "2", "3"}


@pytest.mark.promise("cli.never-waits")
def test_any_line_does_as_a_process_of_its_own(seeded: Seeded, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    copy = seeded.copy(tmp_path)
    tool = Tool(os.path.dirname(copy.project))
    tool.environment |= {"HANDRAIL_TIMEOUT": "20", "PYTHONWARNINGS": "ignore"}
    lines = [line for line in (line_of(chance, seeded.names) for _ in range(2 * PROCESSES)) if fits(line)]

    def answered(line: list[str]) -> str:
        return judged(tool.run(*map(os.fsencode, line)), line)

    with ThreadPoolExecutor(4) as pool:
        wrong = [told for told in pool.map(answered, lines[:PROCESSES]) if told]

    assert wrong == []


@pytest.mark.promise("cli.one-document")
def test_any_bytes_in_argv_get_an_answer(seeded: Seeded, tmp_path: Path) -> None:
    """Also those that no text is made of, which no line above holds."""
    chance = random.Random(SEED)
    tool = seeded.copy(tmp_path)
    lines = [bytes_of(chance) for _ in range(30)]

    told = [judged(tool.run(*line), [os.fsdecode(word) for word in line]) for line in lines]
    refused = tool.run(b"session", b"resume", b"\xff\xfe")

    assert [wrong for wrong in told if wrong] == []
    assert checked_document(refused)["error"]["code"] == "E_VALIDATION"


def bytes_of(chance: random.Random) -> list[bytes]:
    """A line of words, flags, broken UTF-8 and any bytes that an argument can hold."""
    parts = [
        *(word.encode() for word in WORDS + FLAGS),
        b"\xff\xfe",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\x80=",
        b"ok",
    ]
    line = [chance.choice(parts) for _ in range(chance.randrange(1, 7))]
    rest = bytes(chance.randrange(1, 256) for _ in range(chance.randrange(1, 9)))
    return [*line, rest] if chance.random() < 0.5 else line


def fits(line: list[str]) -> bool:
    """Whether a process can be started with it, and stays on this machine; a self-test takes long."""
    try:
        content = b"".join(os.fsencode(word) for word in line)
    except UnicodeEncodeError:
        return False
    return b"\0" not in content and not {"selftest", "update"} & set(line)


@pytest.mark.parametrize(
    ("ran", "complaint"),
    [
        (Ran(status=3, out=b"{}\n", err=b""), "KeyError"),
        (Ran(status=99, out=b"", err=b""), "an exit status"),
        (Ran(status=1, out=b"", err=b"Traceback (most recent call last)"), "a traceback"),
        (Ran(status=1, out=b'{"domain_code":"INTERNAL_ERROR"}\n', err=b""), "a defect"),
        (Ran(status=2, out=b"not JSON", err=b""), "AssertionError"),
    ],
)
def test_a_careless_answer_is_noticed(ran: Ran, complaint: str) -> None:
    assert complaint in judged(ran, ["context"])
