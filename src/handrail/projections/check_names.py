"""How checks, commands and files are named in a sentence. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from handrail.engine.events import ReceiptRecorded
from handrail.engine.judge.run_claims import name_folder, write_line

LONGEST_NAMED = 32


def name_check(receipt: ReceiptRecorded) -> str:
    return (cut_name(receipt.check) if receipt.check else name_line(write_line(receipt))) + name_folder(
        receipt
    )


def name_each(receipts: Iterable[ReceiptRecorded]) -> list[str]:
    return list(dict.fromkeys(tick(name_check(one)) for one in receipts))


def tick(name: str) -> str:
    """A check or a command in a sentence: `tests` is no noun of it."""
    return f"`{name}`"


def name_line(line: str) -> str:
    """A command in a sentence."""
    return cut_name(without_folder(line))


def without_folder(line: str) -> str:
    """A command without where this machine keeps its program, which would leave no room for what it does."""
    program, space, rest = line.partition(" ")
    return (program.rpartition("/")[2] if program.startswith("/") else program) + space + rest


def cut_name(text: str) -> str:
    """Of a path from outside of the project the end, of anything else the beginning."""
    line = " ".join(text.split())
    if len(line) <= LONGEST_NAMED:
        return line
    is_place = line.startswith(("/", "~/")) and " " not in line
    return "…" + line[1 - LONGEST_NAMED :] if is_place else line[: LONGEST_NAMED - 1] + "…"
