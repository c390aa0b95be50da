"""Which output format a call gets: flag, environment, project, user, default, in this order. Pure.

The CLI resolves with this function and the conformance checker checks it (LAFS 5.1, 5.2).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

import msgspec

from handrail.contract.catalogue import E_CONFIG, E_USAGE, FORMAT_CONFLICT
from handrail.contract.outcome import Fault
from handrail.contract.wording import quote

Format: TypeAlias = Literal["json", "text", "raw"]
FormatSource: TypeAlias = Literal["flag", "environment", "project", "user", "default"]

FORMATS: dict[str, Format] = {"json": "json", "text": "text", "human": "text", "raw": "raw"}
"""Every accepted spelling; `human` is what LAFS calls `text`."""

_SETTINGS: dict[FormatSource, str] = {
    "environment": "HANDRAIL_FORMAT",
    "project": "format in the project settings",
    "user": "format in the user settings",
}

MOST_SECONDS = 3600
"""The longest time that a call may be given."""
_VARIABLES: dict[str, tuple[Callable[[str], bool], str]] = {
    "HANDRAIL_FORMAT": (lambda text: text in FORMATS, "json, text or raw"),
    "HANDRAIL_ENVELOPE": (lambda text: text in ("cli", "lafs"), "cli or lafs"),
    "HANDRAIL_COMPACT": (lambda text: text in ("0", "1"), "1 or 0"),
    "HANDRAIL_TIMEOUT": (
        lambda text: re.fullmatch("[0-9]{1,4}", text) is not None and 1 <= int(text) <= MOST_SECONDS,
        f"seconds from 1 to {MOST_SECONDS}",
    ),
}
"""What each variable about answers takes."""


class FlagInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that may ask for a format in one call."""

    human_flag: bool = False
    json_flag: bool = False
    requested_format: str | None = None
    """The value of `--format`."""
    environment: str | None = None
    project_default: str | None = None
    user_default: str | None = None


class ResolvedFormat(msgspec.Struct, frozen=True, kw_only=True):
    """The format and who asked for it."""

    format: Format
    source: FormatSource


def resolve_format(flags: FlagInput) -> ResolvedFormat:
    """The format of this call. A source that a stronger one overrules is not looked at.

    Raises:
        Fault FORMAT_CONFLICT when flags ask for two different formats, E_USAGE for a bad `--format`,
        E_CONFIG for a bad value in a lower source.
    """
    asked = _asked_by_flags(flags)
    if len(asked) > 1:
        message = f"The flags ask for {' and '.join(asked)} at the same time."
        raise Fault(FORMAT_CONFLICT, message, details={"formats": list(asked)})
    if flags.requested_format is not None and flags.requested_format not in FORMATS:
        raise Fault(
            E_USAGE,
            "--format takes json, text or raw.",
            details={"usage": "--format json|text|raw"},
            hint="Leave --format out to get json.",
        )
    if asked:
        return ResolvedFormat(format=asked[0], source="flag")
    lower: tuple[tuple[FormatSource, str | None], ...] = (
        ("environment", flags.environment or None),  # an empty variable counts as not set
        ("project", flags.project_default),
        ("user", flags.user_default),
    )
    for source, value in lower:
        if value is not None:
            return ResolvedFormat(format=_configured(source, value), source=source)
    return ResolvedFormat(format="json", source="default")


def find_wrong_variables(environment: Mapping[str, str]) -> dict[str, Fault]:
    """The variables about answers that hold something else than they take; an empty one counts as not set."""
    found = {}
    for name, (fits, takes) in _VARIABLES.items():
        value = environment.get(name, "")
        if value and not fits(value):
            found[name] = Fault(
                E_CONFIG,
                f"The environment variable {name} has the value {quote(value)}; it takes {takes}.",
                details={"setting": name, "source": "environment"},
                hint=f"Set {name} to {takes}, or unset it.",
            )
    return found


def _asked_by_flags(flags: FlagInput) -> tuple[Format, ...]:
    """The different formats that flags ask for, in the order of their names here."""
    asked: list[Format] = []
    if flags.human_flag:
        asked.append("text")
    if flags.json_flag:
        asked.append("json")
    if flags.requested_format in FORMATS:
        asked.append(FORMATS[flags.requested_format])
    return tuple(dict.fromkeys(asked))


def _configured(source: FormatSource, value: str) -> Format:
    if value not in FORMATS:
        setting = _SETTINGS[source]
        raise Fault(
            E_CONFIG,
            f"{setting} is not json, text or raw.",
            details={"setting": setting, "source": source},
            hint=f"Correct {setting}, or pass --format to overrule it in this call.",
        )
    return FORMATS[value]
