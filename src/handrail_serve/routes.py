"""Which address leads where: one table, matched by whole segments. Pure."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeAlias

import msgspec

from handrail_serve.exchange import HttpRequest, Response

Handler: TypeAlias = Callable[[HttpRequest], Coroutine[Any, Any, Response]]

READS = ("GET", "HEAD")
ONE, REST = "*", "**"


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of address. `*` stands for one segment, and `**` at the end for any rest."""

    pattern: str
    methods: tuple[str, ...] = READS
    needs_bearer: bool = True
    is_shell: bool = False
    is_for_programs: bool = False
    """No person asks here, whatever credential is shown."""
    is_kept_while_draining: bool = False
    """Still answered when the server takes no new work."""
    is_always_answered: bool = False
    """Answered beside whatever is in progress, and not counted: it does no work."""
    serves: str = ""
    """What is there, for the reference page."""
    handler: Handler


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A route, and what its pattern leaves open."""

    route: Route
    segments: tuple[str, ...]


class Matcher:
    """A pattern, split once."""

    def __init__(self, pattern: str) -> None:
        parts = _split(pattern)
        self._is_open = parts[-1] == REST
        self._fixed = parts[:-1] if self._is_open else parts

    def match(self, path: str) -> tuple[str, ...] | None:
        """What the pattern leaves open, in order; None where it does not fit."""
        parts, fixed = _split(path), self._fixed
        if len(parts) < len(fixed) or (len(parts) > len(fixed) and not self._is_open):
            return None
        pairs = tuple(zip(fixed, parts, strict=False))
        if not all(bool(part) if wanted == ONE else wanted == part for wanted, part in pairs):
            return None
        return (*(part for wanted, part in pairs if wanted == ONE), *parts[len(fixed) :])


class Router:
    """The table, ready to be asked."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self.routes = tuple(routes)
        self._matchers = tuple((Matcher(route.pattern), route) for route in self.routes)

    def find(self, path: str) -> Found | None:
        """The first route whose pattern fits."""
        for matcher, route in self._matchers:
            segments = matcher.match(path)
            if segments is not None:
                return Found(route=route, segments=segments)
        return None


def _split(path: str) -> tuple[str, ...]:
    return tuple(path.removeprefix("/").split("/"))


def open_route(
    pattern: str, handler: Handler, serves: str, *, is_shell: bool = False, is_always_answered: bool = False
) -> Route:
    """Without data, so without a token; answered to the last."""
    return Route(
        pattern=pattern,
        needs_bearer=False,
        is_shell=is_shell,
        is_kept_while_draining=True,
        is_always_answered=is_always_answered,
        serves=serves,
        handler=handler,
    )
