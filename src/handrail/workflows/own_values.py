"""Values that come from inside a workflow, so that nobody has to send them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from handrail.workflows.compiled import Action, Choice, Count, ForEach, Loop, Part, Step, Until, While


def set_inside(parts: tuple[Part, ...]) -> Iterator[str]:
    """What a choice sets and what an action saves."""
    for part in parts:
        match part:
            case Choice(options=options):
                for option in options:
                    yield from option.sets
            case Action(save_as=name):
                yield name
            case Loop(body=body):
                yield from set_inside(body)
            case Step():
                pass
            case never:
                assert_never(never)


def loop_variables(loop: Loop) -> frozenset[str]:
    """What a loop counts and goes through."""
    match loop.repeat:
        case ForEach(item=item, index=index):
            return frozenset({item, index} - {""})
        case Count(index=index):
            return frozenset({index} - {""})
        case While() | Until():
            return frozenset()
        case never:
            assert_never(never)
