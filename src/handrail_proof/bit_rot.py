"""Bit rot: each byte of each file of a small store is changed in turn. Detected or harmless, never wrong."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

import msgspec

from handrail.contract.catalogue import INTERNAL_ERROR
from handrail.contract.outcome import Fault
from handrail.event_log.files.upkeep.whole_store import check_store
from handrail.ports.store import ProofPart
from handrail_proof.crash_states import Tree
from handrail_proof.disks import QuietDisk
from handrail_proof.scratch import make_empty, read_tree, write_tree
from handrail_proof.workload import RUNS, Broken, Progress, Script, World

ONE_BIT: Final = (0x01,)
SEVERAL_BITS: Final = (0x01, 0x20, 0xFF)
_STEPS: Final = 2


class _Pristine(msgspec.Struct, frozen=True, kw_only=True):
    """The store before any damage, and what it answers."""

    tree: Tree
    tokens: tuple[str, ...]
    answers: tuple[bytes, ...]


def check_bit_rot(place: str, masks: Sequence[int], seed: int) -> ProofPart:
    """Change every byte by each mask."""
    pristine = _pristine(f"{place}/pristine", seed)
    counts = {"detected": 0, "harmless": 0}
    problems: list[str] = []
    state = f"{place}/rotten"
    for path, content in sorted(pristine.tree.items()):
        for at in range(len(content or b"")):
            assert content is not None, "only files have bytes"
            for mask in masks:
                write_tree(state, pristine.tree)
                _flip(f"{state}/{path}", content, at, mask)
                verdict = _verdict(state, pristine, seed)
                if verdict in counts:
                    counts[verdict] += 1
                else:
                    problems.append(f"byte {at} of {path}, changed by {mask:#04x}: {verdict}")
    cases = sum(counts.values()) + len(problems)
    facts = {**counts, "files": sum(content is not None for content in pristine.tree.values())}
    return ProofPart(name="bit_rot", cases=cases, facts=facts, problems=tuple(problems))


def _pristine(home: str, seed: int) -> _Pristine:
    script = Script(name="rot", steps=RUNS.steps[:_STEPS])
    progress = Progress(script, World(make_empty(home), QuietDisk(), seed))
    progress.run()
    tree = read_tree(home)
    tokens = tuple(msgspec.json.decode(reply)["stateToken"] for reply in progress.replies)
    answers = tuple(_answer(progress.world, token) for token in tokens)
    return _Pristine(tree=tree, tokens=tokens, answers=answers)


def _flip(path: str, content: bytes, at: int, mask: int) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.pwrite(descriptor, bytes([content[at] ^ mask]), at)
    finally:
        os.close(descriptor)


def _answer(world: World, token: str) -> bytes:
    """The answer to an agent that comes back with an earlier token."""
    return world.at(_STEPS).call("run.continue", {"stateToken": token})


def _verdict(home: str, pristine: _Pristine, seed: int) -> str:
    """`detected`, `harmless`, or what is silently wrong. The newest token comes first: it proves the most.

    If the end of the log is lost, an older token still gets the answer of a shorter, healthy log; the newest
    one exposes the loss.
    """
    world = World(home, QuietDisk(), seed)
    is_detected = bool(check_store(world.log).problems)
    for token, wanted in zip(reversed(pristine.tokens), reversed(pristine.answers), strict=True):
        try:
            answer = _answer(world, token)
        except Broken as broken:
            return "detected" if broken.code != INTERNAL_ERROR.code else "a defect, not a named trouble"
        except Fault:
            return "detected"
        if answer != wanted and not _is_unhealthy(answer):
            return "another answer than before, and no word about damage"
    return "detected" if is_detected else "harmless"


def _is_unhealthy(answer: bytes) -> bool:
    """Reading goes on up to the proven point, and the answer says so."""
    return bool(msgspec.json.decode(answer)["nextIntent"] == "rehydrate_only")
