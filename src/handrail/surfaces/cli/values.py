"""One flag's text → its value, or what is wrong with it. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias, assert_never

import msgspec

from handrail.contract.catalogue import E_VALIDATION
from handrail.contract.outcome import Fault, Json
from handrail.contract.suggest import nearest
from handrail.contract.wording import quoted

if TYPE_CHECKING:  # only annotations name it, and typed dicts cost at start-up
    from handrail.surfaces.cli.rows import Param

INPUT_LIMIT_BYTES = 1024 * 1024
INPUT_DEPTH = 64
ID_LENGTH = 128

_INTEGER = r"-?[0-9]{1,18}"
_CONTROL = r"[\x00-\x1f\x7f-\x9f]"
_NO_TEXT = r"[\ud800-\udfff]"
_NO_BYTE = r"[\ud800-\udc7f\udd00-\udfff]"
_CONTROL_IN_TEXT = r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"
_ID = rf"[\x20-\x7e]{{1,{ID_LENGTH}}}"


_PATHS = frozenset({"file", "document", "documents", "source", "sources", "directory"})
"""A path is what the file system says, so it alone may hold bytes that are no UTF-8."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing wrong with the command line."""

    param: str
    problem: str
    got: str = ""
    expected: str = ""
    is_usage: bool = True
    """An unknown name or shape; otherwise the name is fine and its value is wrong."""
    near: tuple[str, ...] = ()


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """A value that stands in a file, or on stdin when `path` is `-`; read once parsing has succeeded."""

    path: str


Value: TypeAlias = (
    str | int | bool | dict[str, Json] | list[Json] | Reference | tuple[Reference, ...] | tuple[str, ...]
)


def label_of(param: Param) -> str:
    """How a problem names a flag or position."""
    return param["flag"] or param["value"]


def value_of(param: Param, text: str) -> Value | Problem:
    """What one text stands for."""
    expected = _expected_instead(param, text)
    if expected:
        return Problem(
            param=label_of(param),
            problem="has a wrong value",
            got=_shown(param, text),
            expected=expected,
            is_usage=False,
            near=tuple(nearest(text, param["choices"])),
        )
    match param["kind"]:
        case "switch":
            return True
        case "int":
            return int(text)
        case "file" | "document" | "documents" | "source" | "sources":
            return Reference(path=text)
        case "choices" | "ids":
            return tuple(text.split(","))
        case "object" | "array" | "input":
            return _json_or_reference(param, text)
        case "text" | "id" | "token" | "choice" | "directory":
            return text
        case never:
            assert_never(never)


def several_given(param: Param, texts: list[str]) -> Problem:
    """A value that may stand once was given with different texts."""
    shown = ", ".join(_shown(param, text) for text in texts[:3])
    return Problem(param=label_of(param), problem="is given more than once", got=shown, expected="one value")


def object_of(text: str | bytes, label: str) -> dict[str, Json]:
    """The JSON object that `text` is.

    Raises Fault E_VALIDATION or REQUEST_TOO_LARGE, as the decoder does.
    """
    value = _decoded(text)
    if isinstance(value, dict):
        return value
    raise Fault(
        E_VALIDATION,
        f"{label} is JSON, but not an object.",
        details={"param": label, "expected": "a JSON object", "got": _json_kind(value)},
        hint="Send one JSON object in braces.",
    )


def array_of(text: str | bytes, label: str) -> list[Json]:
    """The JSON array that `text` is.

    Raises Fault E_VALIDATION or REQUEST_TOO_LARGE, as the decoder does.
    """
    value = _decoded(text)
    if isinstance(value, list):
        return value
    raise Fault(
        E_VALIDATION,
        f"{label} is JSON, but not an array.",
        details={"param": label, "expected": "a JSON array", "got": _json_kind(value)},
        hint="Send one JSON array in brackets.",
    )


def _decoded(text: str | bytes) -> Json:
    # Most command lines carry no JSON, and its reader is dear to load.
    from handrail.contract.strict_json import decode_json  # noqa: PLC0415 - see above

    return decode_json(text, max_bytes=INPUT_LIMIT_BYTES, max_depth=INPUT_DEPTH)


def _expected_instead(param: Param, text: str) -> str:
    """What would have been right; empty when the text is."""
    is_path = param["kind"] in _PATHS or text.startswith("@")
    if re.search(_NO_BYTE if is_path else _NO_TEXT, text):
        return "UTF-8 text"
    match param["kind"]:
        case "int":
            in_range = re.fullmatch(_INTEGER, text) and param["least"] <= int(text) <= param["most"]
            return "" if in_range else f"an integer from {param['least']} to {param['most']}"
        case "choice":
            return "" if text in param["choices"] else "one of " + ", ".join(param["choices"])
        case "choices":
            unknown = [one for one in text.split(",") if one not in param["choices"]]
            return "some of " + ", ".join(param["choices"]) if unknown else ""
        case "ids":
            is_fine = all(re.fullmatch(_ID, one) for one in text.split(","))
            return (
                "" if is_fine else f"ids of 1 to {ID_LENGTH} printable ASCII characters, with commas between"
            )
        case "id":
            return "" if re.fullmatch(_ID, text) else f"1 to {ID_LENGTH} printable ASCII characters"
        case "file" | "document" | "documents" | "source" | "sources" | "directory":
            return "a path without control characters" if not text or re.search(_CONTROL, text) else ""
        case "text" | "token":
            return "text without control characters" if re.search(_CONTROL_IN_TEXT, text) else ""
        case "object" | "array" | "input" | "switch":
            return ""
        case never:
            assert_never(never)


def _json_or_reference(param: Param, text: str) -> Value | Problem:
    if text.startswith("@") and len(text) > 1:
        return Reference(path=text[1:])
    if text == "-" and param["kind"] == "input":
        return Reference(path=text)
    label = label_of(param)
    try:
        return array_of(text, label) if param["kind"] == "array" else object_of(text, label)
    except Fault as fault:
        return Problem(
            param=label,
            problem=f"is refused: {fault.message}",
            expected=f"a JSON {'array' if param['kind'] == 'array' else 'object'} or @FILE",
            is_usage=False,
        )


def shown(text: str) -> str:
    """Outside text as a problem shows it: short, and nothing invisible in it."""
    return quoted(text).strip('"')


def _shown(param: Param, text: str) -> str:
    """What was given; a token is never echoed."""
    return "a token" if param["kind"] == "token" else shown(text)


def _json_kind(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case dict():
            return "an object"
        case _:
            return "an array"
