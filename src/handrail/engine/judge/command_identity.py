"""Which command a receipt is of: its words, where they started, and with which variables. Pure."""

from __future__ import annotations

import posixpath
from itertools import takewhile
from typing import TypeAlias

from handrail.contract.json.canonical import digest
from handrail.engine.command_lines import read_words
from handrail.engine.events import ReceiptRecorded
from handrail.engine.receipts import ELSEWHERE, UNPLACED, PinnedCheck, digest_argv

Identity: TypeAlias = tuple[str, str, str]
"""The digest of the words of a command, the folder where it starts, and the digest of its own variables."""


def identify(receipt: ReceiptRecorded) -> Identity:
    """The command of a receipt as it was started."""
    return receipt.argv_digest, receipt.directory, receipt.environment_digest


def list_identities(receipt: ReceiptRecorded) -> set[Identity]:
    """What a receipt is of: its words where they were started, and what these start, where."""
    found = {identify(receipt)}
    is_whole = digest_argv(receipt.argv) == receipt.argv_digest  # else it is redacted, cut, or a plain line
    if is_whole and receipt.directory not in (ELSEWHERE, UNPLACED):
        command = read_words(receipt.argv)
        place = posixpath.normpath(posixpath.join(receipt.directory, command.directory))
        words, variables = split_variables(command.words)
        if receipt.environment_digest:
            words, variables = digest_argv(command.words), receipt.environment_digest
        found.add((words, place, variables))
    return found


def is_run_of(pinned: PinnedCheck, receipt: ReceiptRecorded) -> bool:
    """Whether it ran a declared check: by its name, or its words in its folder, with what the check sets."""
    own = (pinned.argv_digest, pinned.directory or ".", pinned.environment_digest)
    if receipt.argv_digest == pinned.argv_digest and receipt.check == pinned.name:
        return True
    return own in list_identities(receipt) if pinned.environment_digest else own == identify(receipt)


def is_command_of(one: ReceiptRecorded, other: ReceiptRecorded) -> bool:
    """Whether both are of one command, in one folder, with the same variables of its own."""
    is_same_check = bool(one.check and one.check == other.check and one.argv_digest == other.argv_digest)
    return is_same_check or not list_identities(one).isdisjoint(list_identities(other))


def split_variables(words: tuple[str, ...]) -> tuple[str, str]:
    """Digests of the words of a command, and of the variables in front: so is one shown that sets some."""
    given = tuple(takewhile(lambda word: "=" in word, words[1:])) if words[:1] == ("env",) else ()
    if not given:
        return digest_argv(words), ""
    return digest_argv(words[len(given) + 1 :]), digest(dict(one.split("=", 1) for one in given))
