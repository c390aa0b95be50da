"""Fit an answer into a declared budget, or say exactly how much it needs (LAFS 9.4, 9.5). Pure.

The problem: a caller limits tokens, bytes or items, and the answer must meet every limit as it is finally
written: with the marks of the cut, its notice, and a cursor that is minted only after the last item is known.
What is left out must be named, and there must be a way to get it.

The idea: cut in stages, the least harmful first. A page loses items from its end and continues with a
cursor, so nothing is lost. Any other object has its windows (inner lists) cut to the item limit, then one
window after the other cut down to one item, then its droppable fields removed one by one, in the order of
its Shape.
Inside a stage a larger cut gives a larger answer. So the first stage whose smallest answer fits is the right
one, and binary search finds its largest answer that fits.

The invariants: every candidate is measured with what it will carry. Marks are in the payload before it is
estimated, the notice is there before bytes are counted, and a stand-in has the greatest width of a cursor.
The id and the minimal level are never dropped. Every cut is named once in `truncated_fields`.

What would break it: measuring before marking, or a stand-in narrower than a real cursor, because the answer
would exceed the budget that it claims to meet; a cut that does not grow with its argument, because the search
would miss the largest answer; slicing a page that `is_whole`, because the data beside its rows (the version
and checksum of a ledger delta) is about exactly those rows, so such a page is asked for again with fewer. If
nothing fits, the minimum that is named comes from a candidate that was really tried: a caller who raises the
budget to it must succeed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil, inf

import msgspec

from handrail.contract.catalogue import BUDGET_EXCEEDED
from handrail.contract.disclosure.estimate import estimate_tokens
from handrail.contract.disclosure.fields import (
    ITEMS,
    MARKS,
    TRUNCATED,
    TRUNCATED_FIELDS,
    Budget,
    Object,
    Shape,
    map_selected,
    path_of,
    remove_field,
    replace_data,
    select_objects,
    shorten_list,
)
from handrail.contract.envelopes.cli import payload_of
from handrail.contract.outcome import Failure, Json, Notice, Outcome, Page, Success

TOKEN_ESTIMATE = "x-token-estimate"  # noqa: S105 - the name of a LAFS extension, no secret

# Size of a cursor besides its sort key: member names, expiry, scope digest, operation name (50 characters),
# MAC.
_CURSOR_ROOM = 160
_CURSOR_LIMIT = 2048


class _Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One possible answer, and its largest size."""

    success: Success
    widest: Success
    """The answer with a stand-in for the cursor that the interface creates once the last item is known."""
    tokens: float


class _Limit(msgspec.Struct, frozen=True, kw_only=True):
    """One part of the budget, and how to measure an answer against it."""

    constraint: str
    unit: str
    allowed: int
    size: Callable[[_Candidate], float]


class _Stage(msgspec.Struct, frozen=True, kw_only=True):
    """Cuts of growing size: `cut(1)` is the smallest answer of the stage, `cut(most)` the largest."""

    cut: Callable[[int], _Candidate]
    most: int


def fit(
    success: Success,
    shape: Shape | None,
    budget: Budget,
    measure: Callable[[Success], int],
    narrower: Callable[[int], Success] | None = None,
) -> Outcome:
    """Return the largest answer that meets every limit, or the failure BUDGET_EXCEEDED.

    `narrower` builds the answer with fewer rows; it is given if the data beside the rows depends on
    them.
    """
    limits = _limits(budget, shape, measure)
    tried = [_candidate(success)]
    if _fits(tried[0], limits):
        return success
    for stage in _stages(success, shape, budget, narrower):
        smallest = stage.cut(1)
        if _fits(smallest, limits):
            return _largest(stage, limits).success
        tried.append(smallest)
    return _refuse(tried, limits)


def cursor_width(page: Page) -> int:
    """Return the most characters that the cursor of this page takes; the number never shrinks as items are
    added.
    """
    longest = max((len(msgspec.json.encode(key)) for key in page.sort_keys), default=0)
    return min(_CURSOR_LIMIT, 3 + ceil((_CURSOR_ROOM + longest) * 4 / 3))


def _limits(budget: Budget, shape: Shape | None, measure: Callable[[Success], int]) -> list[_Limit]:
    """Return the given limits, in the order in which a broken one is named."""
    parts: list[tuple[str, str, int | None, Callable[[_Candidate], float]]] = [
        ("maxTokens", "tokens", budget.max_tokens, lambda candidate: candidate.tokens),
        ("maxBytes", "bytes", budget.max_bytes, lambda candidate: measure(candidate.widest)),
        ("maxItems", "items", budget.max_items, lambda candidate: _listed(candidate.success, shape)),
    ]
    return [
        _Limit(constraint=constraint, unit=unit, allowed=allowed, size=size)
        for constraint, unit, allowed, size in parts
        if allowed is not None
    ]


def _fits(candidate: _Candidate, limits: Sequence[_Limit]) -> bool:
    return all(limit.size(candidate) <= limit.allowed for limit in limits)


def _largest(stage: _Stage, limits: Sequence[_Limit]) -> _Candidate:
    """Return the largest cut that fits; the smallest one is known to fit."""
    low, high = 1, stage.most
    while low < high:
        middle = (low + high + 1) // 2
        if _fits(stage.cut(middle), limits):
            low = middle
        else:
            high = middle - 1
    return stage.cut(low)


def _stages(
    success: Success, shape: Shape | None, budget: Budget, narrower: Callable[[int], Success] | None
) -> Iterator[_Stage]:
    if success.page is not None:
        yield from _page_stages(success, success.page, budget, narrower)
    elif isinstance(success.data, dict):  # a plain array cannot carry a mark, so it is never cut
        yield from _payload_stages(success, shape, budget)


def _page_stages(
    success: Success, page: Page, budget: Budget, narrower: Callable[[int], Success] | None
) -> Iterator[_Stage]:
    def asked_again(count: int) -> _Candidate:
        assert narrower is not None, "a whole page is asked for again"
        fewer = narrower(count)
        assert fewer.page is not None, "the same question gets a page again"
        marked = msgspec.structs.replace(fewer.page, truncated=True)
        return _mark(msgspec.structs.replace(fewer, page=marked), "window", budget)

    def cut(count: int) -> _Candidate:
        shorter = msgspec.structs.replace(
            page,
            items=page.items[:count],
            sort_keys=page.sort_keys[:count],
            limit=count,
            has_more=page.style != "none",
            truncated=True,
        )
        return _mark(msgspec.structs.replace(success, page=shorter), "window", budget)

    if len(page.items) < 2 or (page.is_whole and narrower is None):
        return
    yield _Stage(cut=asked_again if page.is_whole else cut, most=len(page.items) - 1)


def _payload_stages(success: Success, shape: Shape | None, budget: Budget) -> Iterator[_Stage]:
    """Yield the stages: windows down to the item limit, then one after the other to one item, then fields
    one by one.
    """
    current, gone, strategy = success, _truncated_before(success), "fields"
    windows = _windows(success, shape)
    most = inf if budget.max_items is None else budget.max_items
    long = [name for name in windows if _longest(current, shape, name) > most]
    for name in long:
        current, gone = _shorten_window(current, shape, name, int(most)), _with_name(gone, name)
    if long:
        strategy = "window+fields"
        yield _only(_mark(_with_marks(current, gone), "window", budget))
    for name in windows:
        length = _longest(current, shape, name)
        if length > 1:
            gone, strategy = _with_name(gone, name), "window+fields"
            yield _Stage(cut=_window_cut(current, shape, name, gone, budget), most=length - 1)
            current = _shorten_window(current, shape, name, 1)
    for name in _droppable(current, shape):
        gone = _with_name(gone, name)
        current = _drop_field(current, shape, name)
        yield _only(_mark(_with_marks(current, gone), strategy, budget))


def _window_cut(
    success: Success, shape: Shape | None, name: str, gone: list[str], budget: Budget
) -> Callable[[int], _Candidate]:
    def cut(length: int) -> _Candidate:
        return _mark(_with_marks(_shorten_window(success, shape, name, length), gone), "window", budget)

    return cut


def _only(candidate: _Candidate) -> _Stage:
    return _Stage(cut=lambda _: candidate, most=1)


def _shorten_window(success: Success, shape: Shape | None, name: str, length: int) -> Success:
    return _edit(success, shape, lambda value: shorten_list(value, path_of(name), length))


def _drop_field(success: Success, shape: Shape | None, name: str) -> Success:
    path = (name,) if shape is None else path_of(name)  # only a shape has dotted names; a key may have dots
    return _edit(success, shape, lambda value: remove_field(value, path))


def _droppable(success: Success, shape: Shape | None) -> list[str]:
    if shape is None:
        return [key for key in reversed(list(success.data)[1:]) if key not in MARKS]
    minimal = shape.levels.get("minimal", ())
    if minimal is None:  # everything belongs to the minimal level
        return []
    protected = {path_of(name)[0] for name in (*minimal, shape.id_field)}
    holders = _holders(success, shape)
    return [
        name
        for name in shape.drop_order
        if path_of(name)[0] not in protected and any(path_of(name)[0] in holder for holder in holders)
    ]


def _holders(success: Success, shape: Shape | None) -> list[Object]:
    """Return the objects that `windows` and `drop_order` refer to; for a list without paging, its wrapper."""
    if shape is not None and shape.select == ITEMS:
        return [success.data] if isinstance(success.data, dict) else []
    return select_objects(success, shape)


def _edit(success: Success, shape: Shape | None, edit: Callable[[Json], Json]) -> Success:
    if shape is not None and shape.select == ITEMS:
        return replace_data(success, edit(success.data))
    return map_selected(success, shape, edit)


def _longest(success: Success, shape: Shape | None, name: str) -> int:
    return max((_length(holder, path_of(name)) for holder in _holders(success, shape)), default=0)


def _length(value: Json, path: tuple[str, ...]) -> int:
    match value:
        case list() | tuple() if not path:
            return len(value)
        case list() | tuple():
            return max((_length(item, path) for item in value), default=0)
        case dict() if path and path[0] in value:
            return _length(value[path[0]], path[1:])
        case _:
            return 0


def _listed(success: Success, shape: Shape | None) -> int:
    """Return the number of listed items: of the page or array, or of the longest window."""
    if success.page is not None:
        return len(success.page.items)
    if isinstance(success.data, list):
        return len(success.data)
    return max((_longest(success, shape, name) for name in _windows(success, shape)), default=0)


def _windows(success: Success, shape: Shape | None) -> tuple[str, ...]:
    """Return the inner lists that may be cut: first the declared ones, then every other list of the
    payload.
    """
    if shape is None:
        return ()
    lists = [
        key
        for holder in _holders(success, shape)
        for key, value in holder.items()
        if isinstance(value, list | tuple) and key not in MARKS
    ]
    return tuple(dict.fromkeys((*shape.windows, *lists)))


def _truncated_before(success: Success) -> list[str]:
    """Return the fields that the operation itself already left out."""
    listed = success.data.get(TRUNCATED_FIELDS) if isinstance(success.data, dict) else None
    return list(listed) if isinstance(listed, list | tuple) else []


def _with_name(gone: list[str], name: str) -> list[str]:
    """Add a name once: a window may first be cut and then dropped."""
    return gone if name in gone else [*gone, name]


def _with_marks(success: Success, gone: list[str]) -> Success:
    assert isinstance(success.data, dict), "only an object can carry marks"
    return replace_data(success, {**success.data, TRUNCATED: True, TRUNCATED_FIELDS: gone})


def _mark(success: Success, strategy: str, budget: Budget) -> _Candidate:
    """Return a cut answer with its notice and, for LAFS, its estimate."""
    candidate = _candidate(success)
    estimate: Object = {"estimated": _finite(candidate.tokens), "method": "character_based"}
    if budget.max_tokens is not None:
        estimate["budget"] = budget.max_tokens
    marks = {
        "notices": (*success.notices, _notice(success, strategy)),
        "extensions": {**success.extensions, TOKEN_ESTIMATE: estimate},
    }
    return msgspec.structs.replace(
        candidate,
        success=msgspec.structs.replace(success, **marks),
        widest=msgspec.structs.replace(candidate.widest, **marks),
    )


def _notice(success: Success, strategy: str) -> Notice:
    if success.page is None:
        what_next = "ask for the missing fields alone, or raise the budget."
    elif success.page.style == "none":
        what_next = "raise the budget for the rest."
    else:
        what_next = "continue with the cursor or offset for the rest."
    return Notice(
        type="budget_truncated",
        severity="warning",
        message=f"The answer was cut to fit the budget; {what_next}",
        extra={"strategy": strategy},
    )


def _candidate(success: Success) -> _Candidate:
    widest = _at_widest(success)
    estimated = estimate_tokens(payload_of(widest))
    return _Candidate(success=success, widest=widest, tokens=inf if estimated is None else estimated)


def _at_widest(success: Success) -> Success:
    page = success.page
    if page is None or page.style != "cursor" or not page.has_more:
        return success
    stand_in = "x" * cursor_width(page)
    return msgspec.structs.replace(success, page=msgspec.structs.replace(page, next_cursor=stand_in))


def _refuse(tried: Sequence[_Candidate], limits: Sequence[_Limit]) -> Failure:
    whole = tried[0]
    limit, minimum = _smallest_raise(tried, limits)
    measured = limit.size(whole)
    details: dict[str, Json] = {
        "constraint": limit.constraint,
        "budget": limit.allowed,
        "measured": _finite(measured),
        "minimum": _finite(minimum),
        "estimated_tokens": _finite(whole.tokens),
    }
    if limit.constraint == "maxTokens":
        details["excess_tokens"] = _finite(whole.tokens - limit.allowed)
    if minimum == inf:
        message = "The answer is nested too deep to be estimated, so no token budget fits it."
        return Failure(
            kind=BUDGET_EXCEEDED, message=message, details=details, hint="Ask for fewer fields, or use bytes."
        )
    message = f"The smallest answer takes {int(minimum)} {limit.unit}; the budget allows {limit.allowed}."
    return Failure(kind=BUDGET_EXCEEDED, message=message, details=details)


def _smallest_raise(tried: Sequence[_Candidate], limits: Sequence[_Limit]) -> tuple[_Limit, float]:
    """Return the limit to raise, and the smallest value of it that works.

    A single raise that is sufficient comes first; otherwise the first limit that no answer meets.
    """
    for limit in limits:
        others = [other for other in limits if other is not limit]
        sizes = [limit.size(candidate) for candidate in tried if _fits(candidate, others)]
        if sizes:
            return limit, min(sizes)
    smallest = tried[-1]
    nothing_meets = [limit for limit in limits if not any(_fits(candidate, [limit]) for candidate in tried)]
    broken = nothing_meets or [limit for limit in limits if not _fits(smallest, [limit])]
    sizes = [broken[0].size(candidate) for candidate in tried]
    return broken[0], min(size for size in sizes if size > broken[0].allowed)


def _finite(size: float) -> int | None:
    return None if size == inf else int(size)
