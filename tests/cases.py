"""One test over many cases of a rule, for cases that share nothing and need no fixture of their own.

A test of its own for each case costs a hundred times what the case does: it is collected by every worker, set
up, reported and counted. Every case runs, and each that fails is named.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import pytest

MOST_SHOWN = 300


def every_case(
    names: str | Sequence[str], cases: Iterable[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As `pytest.mark.parametrize`, in one test: several names take a tuple for each case."""
    held = list(cases)
    if not held:  # files of others that are not here
        return pytest.mark.skip(reason=f"no case of {names} is here")

    def over_all(test: Callable[..., None]) -> Callable[..., None]:
        named = [names] if isinstance(names, str) else list(names)
        signature = inspect.signature(test)
        others = [one for one in signature.parameters.values() if one.name not in named]

        @wraps(test)
        def run(*given: Any, **fixtures: Any) -> None:
            failures: list[BaseException] = []
            for case in held:
                values = (case,) if isinstance(names, str) else case
                try:
                    test(*given, **fixtures, **dict(zip(named, values, strict=True)))
                except (Exception, pytest.fail.Exception) as trouble:  # noqa: BLE001 - told after the last case
                    trouble.add_note(f"The case: {', '.join(map(repr, values))}"[:MOST_SHOWN])
                    failures.append(trouble)
            if len(failures) == 1:
                raise failures[0]
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(held)} cases fail", failures)

        run.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]  # pytest reads it
        return run

    return over_all
