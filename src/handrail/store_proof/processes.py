"""The processes of the proof: only ever this interpreter and this package."""

from __future__ import annotations

import os
import signal
import subprocess

import msgspec

from handrail.contract.store_facts import ProofPart
from handrail.host.programs import make_child_environment, own_command
from handrail.store_proof.nursery import NurseryOrder, NurseryReport

LONGEST_SECONDS = 1800
_MOST_PROBLEMS = 20


def part_of(name: str, order: NurseryOrder) -> ProofPart:
    """Carry out an order in a process of its own, so that forking never meets the caller's threads."""
    text = msgspec.json.encode(order).decode()
    command = [*own_command("handrail.store_proof.nursery"), text]
    with subprocess.Popen(  # noqa: S603 - this interpreter and this package, no shell
        command,
        stdin=subprocess.DEVNULL,
        env=make_child_environment(os.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        try:
            out, err = child.communicate(timeout=LONGEST_SECONDS)
        except subprocess.TimeoutExpired:
            return _failed(name, "they did not end in time")
        finally:
            if child.poll() is None:  # out of time, or a signal ended the call: so do the writers
                os.killpg(child.pid, signal.SIGKILL)
    if child.returncode:
        return _failed(name, err.decode(errors="replace").strip().rpartition("\n")[2])
    report = msgspec.json.decode(out, type=NurseryReport)
    facts = {"acknowledged": report.acknowledged, "writers": order.writers}
    if report.in_the_middle:
        facts["within_a_commit"] = report.in_the_middle
    if report.waits:
        facts["told_to_try_again"] = report.waits
    return ProofPart(
        name=name, cases=report.cases, facts=facts, problems=tuple(report.problems[:_MOST_PROBLEMS])
    )


def _failed(name: str, why: str) -> ProofPart:
    return ProofPart(name=name, cases=0, facts={}, problems=(f"the writers could not run: {why}",))
