"""Arguments of templates and settings of features: checked, with the defaults filled in. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from handrail.contract.suggest import nearest
from handrail.contract.wording import quoted
from handrail.workflows.builtins.placeholders import input_named_by
from handrail.workflows.compiled import InputSpec
from handrail.workflows.compiling.trail import Trail
from handrail.workflows.edits import NO_EDIT, renamed
from handrail.workflows.reading.findings import child, shown, surely_meant
from handrail.workflows.reading.value_fit import INPUT_FITS, same_value


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What something takes, and under which rules."""

    owner: str
    """Its id, for messages."""
    specs: Mapping[str, InputSpec]
    takes_inputs: bool = False
    """Whether `{{name}}` may stand for a value of any type."""
    names_inputs: tuple[str, ...] = ()
    """Which values must be `{{name}}`."""


def checked(taken: Taken, given: dict[str, Any], pointer: str, trail: Trail) -> dict[str, Any] | None:
    """The values with defaults; None when one cannot be used, which has been reported."""
    is_sound = True
    for name in sorted(set(given) - set(taken.specs)):
        is_sound = _spare(taken, name, child(pointer, name), trail) and is_sound
    values = {name: spec.default for name, spec in taken.specs.items() if spec.default is not msgspec.UNSET}
    for name, spec in taken.specs.items():
        if name in given:
            values[name] = given[name]
            trouble = _trouble(taken, name, spec, given[name])
        elif spec.required:
            wanted = spec.description or f"{INPUT_FITS[spec.type][1]}."
            trouble = (f"{taken.owner} needs {name}.", f"Add {name}: {wanted}")
        else:
            continue
        if trouble is not None:
            trail.report("bad_argument", child(pointer, name) if name in given else pointer, *trouble)
            is_sound = False
    return values if is_sound else None


def _spare(taken: Taken, name: str, pointer: str, trail: Trail) -> bool:
    """Report a name that is not taken; whether it may be ignored, as in a file from elsewhere."""
    sure = surely_meant(name, taken.specs)
    near = [sure] if sure else nearest(name, taken.specs)
    names = ", ".join(sorted(taken.specs)) or "nothing"
    fix = f"Did you mean {' or '.join(near)}?" if near else f"Remove it; {taken.owner} takes {names}."
    severity = trail.severity_of_unknown
    edit = renamed(pointer, sure) if sure and not trail.is_foreign else NO_EDIT
    trail.report("bad_argument", pointer, f"{taken.owner} does not take {shown(name)}.", fix, severity, edit)
    return severity != "error"


def _trouble(taken: Taken, name: str, spec: InputSpec, value: Any) -> tuple[str, str] | None:
    """What is wrong with a value, and its fix."""
    if input_named_by(value) and (taken.takes_inputs or name in taken.names_inputs):
        return None
    if name in taken.names_inputs:
        fix = 'Declare an array input and write its name in double braces here, such as "{{files}}".'
        return f"{name} must name an input, because a loop goes through it.", fix
    fits, words = INPUT_FITS[spec.type]
    if not fits(value):
        return f"{name} is not {words}.", f"Write {words}."
    if spec.enum and not any(same_value(value, one) for one in spec.enum):
        words = ", ".join(str(one) for one in spec.enum)
        near = nearest(str(value), [str(one) for one in spec.enum])
        fix = f"Did you mean {' or '.join(near)}?" if near else f"Use one of {words}."
        return f"{name} cannot be {quoted(str(value))}.", fix
    return None
