"""`store.selftest`: prove that killed and competing writers lose nothing on the user's own disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, to_builtins

from handrail.contract.catalogue import E_INTEGRITY
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Answer, Fault, Success
from handrail.contract.parameters import PathText
from handrail.ports.store import ProofOrder, ProofPart
from handrail.runtime.operation import Input, Operation, StreamItem
from handrail.runtime.runtime import Runtime

KILLS = 200
MOST_KILLS = 1_000_000
MOST_SEED = 2**32 - 1


class SelftestStore(Input, frozen=True, kw_only=True):
    """How much to prove, and where."""

    kills: Annotated[int, Meta(description="Processes to kill.", ge=1, le=MOST_KILLS)] = KILLS
    dir: (
        Annotated[PathText, Meta(description="A directory on the disk to prove; default: beside the store.")]
        | UnsetType
    ) = UNSET
    seed: (
        Annotated[int, Meta(description="Repeats the choices of an earlier report.", ge=0, le=MOST_SEED)]
        | UnsetType
    ) = UNSET
    report_only: (
        Annotated[bool, Meta(description="A negative verdict is an answer, not a failure.")] | UnsetType
    ) = UNSET


class SelftestReport(Answer, frozen=True, kw_only=True):
    """The failures that the store was put through. The same seed makes the same choices."""

    ok: bool
    seed: int
    cases: int
    kills: int
    kill_bound: float
    """If no kill did harm: with 95 % confidence, fewer than this share of kills would (3/n)."""
    parts: list[ProofPart]


def selftest_store(rt: Runtime, request: SelftestStore) -> Success:
    """Run every test in a scratch directory; the user's own store is not touched.

    Raise Fault E_INTEGRITY with the report unless the caller asked for a report only.
    """
    *_, whole = stream_selftest(rt, request)
    assert isinstance(whole, Success), "the report comes last"
    return whole


def stream_selftest(rt: Runtime, request: SelftestStore) -> Iterator[StreamItem | Success]:
    """Yield each part as soon as it is done, then the whole report."""
    order = _order(rt, request)
    parts: list[ProofPart] = []
    for part in rt.proof().run(order):
        rt.interruptions.end_here()
        parts.append(part)
        rt.progress.report(len(parts), 0, "parts of the proof done")
        yield StreamItem(data={"ok": not part.problems, **to_builtins(part)})
    yield Success(data=to_builtins(_judge(order, tuple(parts), request)))


def _judge(order: ProofOrder, parts: tuple[ProofPart, ...], request: SelftestStore) -> SelftestReport:
    report = SelftestReport(
        ok=not any(part.problems for part in parts),
        seed=order.seed,
        cases=sum(part.cases for part in parts),
        kills=order.kills,
        kill_bound=round(3 / order.kills, 6),
        parts=list(parts),
    )
    if report.ok or request.report_only is True:
        return report
    failed = [part.name for part in parts if part.problems]
    raise Fault(
        E_INTEGRITY,
        f"The store did not keep its promises on this disk: {', '.join(failed)}.",
        details={"report": to_builtins(report)},
        hint="Do not trust this disk or file system with a store; report the seed if it is a local disk.",
    )


def _order(rt: Runtime, request: SelftestStore) -> ProofOrder:
    seed = int.from_bytes(rt.randomness.bytes(4)) if request.seed is UNSET else request.seed
    return ProofOrder(
        kills=request.kills,
        seed=seed,
        directory="" if request.dir is UNSET else request.dir,
    )


OPERATION = Operation(
    name="store.selftest",
    effect="read",
    where="client",
    summary="Test on your own disk, in a scratch directory, that the store loses nothing.",
    input=SelftestStore,
    output=SelftestReport,
    perform=selftest_store,
    starts_programs=True,
    stream=stream_selftest,
    shape=Shape(
        levels={"minimal": ("ok", "seed", "cases", "kills", "kill_bound"), "standard": None, "full": None},
        select="top",
        drop_order=("parts",),
        windows=("parts",),
    ),
    errors=(E_INTEGRITY.code,),
)
