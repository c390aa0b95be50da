"""Runs one command for many targets: one loop, one result per target, nothing rolled back.

A signal or the deadline ends it between two targets, and the answer lists what was done by then.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from handrail.contract.catalogue import E_INTERRUPTED, E_IO, E_TIMEOUT, E_VALIDATION
from handrail.contract.outcome import Answer, Fault, Json, PartlyDone, refuse_argument
from handrail.runtime.runtime import ReadPorts
from handrail.views.batches import BatchSummary, ItemError

MOST_TARGETS = 1_000
SCHEMA_OF_TARGETS = {"maxItems": MOST_TARGETS}
"""For the schema alone: `targets_of` refuses too many targets, with their number."""


class BatchItem(Answer, frozen=True, kw_only=True):
    """The result for one target."""

    target: str
    ok: bool
    error: ItemError | UnsetType = UNSET


class BatchResult(Answer, frozen=True, kw_only=True):
    """Every attempted target in the given order, and those that were not attempted."""

    items: list[BatchItem]
    summary: BatchSummary
    skipped: list[str]


def targets_of(asked: Sequence[str], param: str) -> tuple[str, ...]:
    """Return the targets without duplicates, in the given order.

    Raise Fault E_VALIDATION if there is none, or more than one call may take.
    """
    targets = tuple(dict.fromkeys(asked))
    if targets and len(targets) <= MOST_TARGETS:
        return targets
    problem, expected = f"names {len(targets)} targets", f"1 to {MOST_TARGETS} of them"
    message = f"{param} {problem}; expected {expected}."
    raise refuse_argument(message, param, problem, expected, kind=E_VALIDATION)


def run_batch(
    rt: ReadPorts,
    targets: Sequence[str],
    act: Callable[[str], None],
    *,
    what: str,
    continue_on_error: bool,
    absent: Container[str] = (),
) -> BatchResult:
    """Apply `act` to each target in turn; it raises Fault if it fails.

    Targets that the preview showed as `absent` fail without stopping the batch: the caller knows of them.

    Raise Fault E_INTERRUPTED or E_TIMEOUT, with both lists in its details.
    """
    *_, result = stream_batch(rt, targets, act, what=what, continue_on_error=continue_on_error, absent=absent)
    assert isinstance(result, BatchResult), "the whole comes last"
    return result


def stream_batch(
    rt: ReadPorts,
    targets: Sequence[str],
    act: Callable[[str], None],
    *,
    what: str,
    continue_on_error: bool,
    absent: Container[str] = (),
) -> Iterator[BatchItem | BatchResult]:
    """The same, but yield every item as soon as it is done, and the whole result last."""
    items: list[BatchItem] = []
    stopped = ""
    with rt.interruptions.defer():
        for target in targets:
            stopped = rt.interruptions.stop_reason()
            if stopped or (items and _stops(items[-1], absent) and not continue_on_error):
                break
            items.append(_attempt(target, act))
            yield items[-1]
            rt.progress.report(len(items), len(targets), what)
    result = _result(items, list(targets[len(items) :]))
    if stopped:
        raise _refuse_rest(result, is_deadline=stopped == "deadline")
    yield result


def _stops(item: BatchItem, absent: Container[str]) -> bool:
    return not item.ok and item.target not in absent


def _attempt(target: str, act: Callable[[str], None]) -> BatchItem:
    try:
        act(target)
    except Fault as fault:
        return BatchItem(target=target, ok=False, error=item_error(fault))
    except (OSError, MemoryError, RuntimeError) as trouble:  # the other targets keep their results
        lack = Fault(E_IO, f"The system refused what this target needs ({type(trouble).__name__}).")
        return BatchItem(target=target, ok=False, error=item_error(lack))
    return BatchItem(target=target, ok=True)


def item_error(fault: Fault) -> ItemError:
    """Return the fault in the form that an item carries."""
    kind = fault.kind
    return ItemError(
        code=kind.native,
        retryable=kind.is_retryable,
        message=fault.message,
        domain_code=UNSET if kind.code == kind.native else kind.code,
    )


def _result(items: list[BatchItem], skipped: list[str]) -> BatchResult:
    succeeded = sum(item.ok for item in items)
    return BatchResult(
        items=items,
        summary=BatchSummary(
            total=len(items), succeeded=succeeded, failed=len(items) - succeeded, skipped=len(skipped)
        ),
        skipped=skipped,
    )


def _refuse_rest(result: BatchResult, *, is_deadline: bool) -> PartlyDone:
    summary = result.summary
    why = "The deadline passed" if is_deadline else "A signal ended the call"
    details: dict[str, Json] = {**msgspec.to_builtins(result), "committed": summary.succeeded > 0}
    return PartlyDone(
        E_TIMEOUT if is_deadline else E_INTERRUPTED,
        f"{why} after {summary.total} of {summary.total + summary.skipped} targets; what is done stays done.",
        details=details,
        hint="Run the command again with --dry-run: it shows what is left.",
    )
