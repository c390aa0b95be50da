"""docs/reference/python.md: the public names of the two libraries, from their signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import msgspec

import handrail
from handrail import contract
from tools.page_parts import page

_NOT_OBJECTS = {
    "KINDS": "Every row of the [error catalogue](errors.md) by its code.",
    "Outcome": "`Success` or `Failure`.",
    "__version__": "The version of this release.",
}
"""Values have no docstring of their own."""


def python_page() -> str:
    """The whole page."""
    return page(
        "# Python",
        "The names that other programs may import; everything else may change in any release.\n"
        "[Use it from Python](../how-to/use-from-python.md) and "
        "[use it in scripts and CI](../how-to/use-in-scripts.md) show them at work.\n"
        "A field with `= …` can be left out.",
        "## handrail",
        "The operations of the command line, called in the same process.",
        *_names(handrail, handrail.__all__),
        "## handrail.contract",
        "The response contract: outcomes, both envelopes, and the checker.\nIt reads no clock and no file.",
        *_names(contract, contract.__all__),
    )


def _names(module: Any, names: list[str]) -> Iterator[str]:
    for name in sorted(names, key=str.lower):
        found = getattr(module, name)
        if name in _NOT_OBJECTS:
            yield f"### {name}\n\n{_NOT_OBJECTS[name]}"
        elif isinstance(found, type) and issubclass(found, msgspec.Struct):
            yield f"### {name}\n\n{_text(found)}\n\n{_fields(found)}"
        elif isinstance(found, type):
            yield "\n\n".join([f"### {name}", _text(found), *_methods(found)])
        else:
            yield f"### {name}\n\n{_signature(name, found)}\n\n{_text(found)}"


def _fields(struct: type[msgspec.Struct]) -> str:
    """The fields as a stub has them; a field that may be left out is marked with `= …`."""
    rows = (
        f"{field.name}: {_plain(struct, field.name)}" + ("" if field.required else " = …")
        for field in msgspec.structs.fields(struct)
    )
    return "```text\n" + "\n".join(rows) + "\n```"


def _plain(struct: type[msgspec.Struct], name: str) -> str:
    found = (inspect.get_annotations(base).get(name) for base in struct.__mro__)
    return _type(next(filter(None, found)))


def _methods(found: type[Any]) -> Iterator[str]:
    for name, member in vars(found).items():
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if inspect.isfunction(function) and (name == "__init__" or not name.startswith("_")):
            if isinstance(member, property):
                yield f"**{name}**: {_text(function)}"
            elif name == "__init__":
                text = [_text(function)] if function.__doc__ else []
                yield "\n\n".join([_signature(found.__name__, function), *text])
            else:
                yield f"{_signature(name, function)}\n\n{_text(function)}"


def _signature(name: str, function: Any) -> str:
    signature = inspect.signature(function)
    given = [
        parameter.replace(annotation=inspect.Parameter.empty, default=_default(parameter.default))
        for parameter in signature.parameters.values()
        if parameter.name not in ("self", "cls")
    ]
    shown = str(signature.replace(parameters=given, return_annotation=inspect.Signature.empty))
    returned = _type(signature.return_annotation)
    return f"```text\n{name}{shown}" + (f" -> {returned}" if returned not in ("", "None") else "") + "\n```"


class _Own:
    """A default that is a thing of ours: which one, the docstring says."""

    def __repr__(self) -> str:
        return "…"


def _default(default: Any) -> Any:
    is_plain = default is inspect.Parameter.empty or isinstance(default, str | int | float | tuple | None)
    return default if is_plain else _Own()


def _type(annotation: Any) -> str:
    if annotation is inspect.Signature.empty:
        return ""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Za-z])", "", str(text))


def _text(found: Any) -> str:
    text = inspect.getdoc(found)
    assert text, f"{found.__name__} is public and has no docstring; say what it does"
    return re.sub(r"\n(?!\n)(?<!\n\n)", " ", text).replace(". ", ".\n")
