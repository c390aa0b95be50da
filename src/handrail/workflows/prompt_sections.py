"""Sections of a compiled prompt that are recognised when a step is shown. Pure.

The compiler writes them and the engine reads them, so their words are kept in one place.
"""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.outcome import Json
from handrail.workflows.compiled import UserOnly
from handrail.workflows.conditions import MISSING, Facts, artifact_value, named_value

USER_WORDS = "<what the user said>"
"""Placeholder for the user's own words in examples."""
MAY_BE_LEFT_OUT = "may be left out"
QUESTIONS = "Before you begin, ask the user"
ASK_FOR_FILES = "Ask the user for the files that this step needs, unless you have them already."
MODE = "Mode"
ABOUT_CAPABILITIES = "Capabilities"
OTHER_AGENTS = "Other agents"
ONCE_FOR_ALL = frozenset({MODE, ABOUT_CAPABILITIES, OTHER_AGENTS})
"""Headings that only the first step shows, for all steps."""
ONLY_USER = "Only the user can give this"
NOTES = "Notes"
ARTIFACT = "Artifact"
RULES_OF_REPORTS = (f"## {NOTES}\n", f"## {ARTIFACT}\n")
"""How sections begin that features add to every prompt: rules that apply to all reports alike."""

ARTIFACT_TO_DELIVER = "Artifact to deliver: "
ASSESSMENT_TO_REPORT = "Assessment to report: "
NOBODY_ANSWERS = "The user would give this"
USER_CHOOSES = "The user decides this, not you: "
NOBODY_ASKED = "Nobody is asked in this mode. "
SEND_AS_CONTEXT = "Send as context with this step, once you know it:"
_ABOVE = (
    *("Role: ", "## Before you begin, ", USER_CHOOSES, NOBODY_ASKED),
    *(f"## {heading}\n" for heading in sorted(ONCE_FOR_ALL)),
)
"""How the paragraphs begin that Handrail puts above the author's text; each is one paragraph."""
_BELOW = (
    *(f"## {heading}\n" for heading in (ONLY_USER, NOBODY_ANSWERS)),
    *(f"## {ARTIFACT_TO_DELIVER}", f"## {ASSESSMENT_TO_REPORT}", SEND_AS_CONTEXT, *RULES_OF_REPORTS),
)
"""How the part begins that Handrail puts below it, up to the end."""


def authored_part(prompt: str) -> str:
    """Return the author's part of a prompt, without what Handrail adds above and below it."""
    parts = prompt.split("\n\n")
    below = (place for place, part in enumerate(parts) if part.startswith(_BELOW))
    own = parts[: next(below, len(parts))]
    return "\n\n".join(part for part in own if not part.startswith(_ABOVE)).strip()


def make_section(heading: str, body: str) -> str:
    """Return a section with its heading; empty if its body is."""
    return f"## {heading}\n{body}" if body else ""


def heading_of(text: str) -> str:
    """Return the heading with which a section begins."""
    return text.partition("\n")[0].removeprefix("## ")


def list_report_rules(prompt: str) -> frozenset[str]:
    """Return the lines of a prompt that say how to write any report."""
    parts = (part for part in prompt.split("\n\n") if part.startswith(RULES_OF_REPORTS))
    return frozenset(line for part in parts for line in part.split("\n")[1:])


def leave_out_rules(prompt: str, known: frozenset[str]) -> str:
    """Return the prompt without the report rules that an earlier step showed."""
    kept: list[str] = []
    for part in prompt.split("\n\n"):
        if not part.startswith(RULES_OF_REPORTS):
            kept.append(part)
            continue
        heading, *lines = part.split("\n")
        if new := [line for line in lines if line not in known]:
            kept.append("\n".join([heading, *new]))
    return "\n\n".join(kept)


def show_example(example: dict[str, Json]) -> str:
    """Return an example as prompts show it; empty if there is none."""
    if not example:
        return ""
    return "Example:\n```json\n" + canonical_bytes(example).decode() + "\n```"


def make_user_section(need: UserOnly) -> str:
    """Return the section about what only the user can give, and how to report it."""
    kind = f", {need.choice_kind}" if need.choice_kind else ""
    answer = (
        f"Give the answer as the context value {need.input}."
        if need.input
        else "Give the answer as an artifact:\n\n"
        + show_example({"kind": "wr.user_input", "answer": USER_WORDS, "givenBy": "user"})
    )
    body = f"Ask the user and wait for the answer; never answer for them ({need.reason}{kind}). {answer}"
    return make_section(ONLY_USER, body)


def replace_user_section(prompt: str, need: UserOnly, other: str) -> str:
    """Return the prompt with the section about the user's values replaced or removed."""
    before, found, after = prompt.partition(make_user_section(need))
    parts = (before.strip("\n"), other, after.strip("\n"))
    return "\n\n".join(part for part in parts if part) if found else prompt


def name_loop(prompt: str, loop_id: str) -> str:
    """Return the prompt of a loop decision with the name of the loop, because several are open."""
    optional = f"- loopId: {MAY_BE_LEFT_OUT}"
    before, found, after = prompt.rpartition(optional)
    return f"{before}- loopId: {loop_id}, because several loops are open{after}" if found else prompt


def drop_example(prompt: str, example: dict[str, Json]) -> str:
    """Remove the example from a prompt that is shown beside the same example."""
    kept: list[str] = []
    for part in prompt.split("\n\n"):
        if not _is_example(part, example):
            kept.append(part)
        elif kept and kept[-1].endswith(":"):  # what led to the example leads to the one beside
            kept[-1] = kept[-1][:-1] + " like the example."
    return "\n\n".join(kept)


def _is_example(part: str, example: dict[str, Json]) -> bool:
    return part.startswith("Example:\n```json\n") and part == show_example(example)


# Values in a text


def phrase_named(facts: Facts, name: str) -> str | None:
    """Return the value of a name, or what an earlier step delivered under it; None if there is
    neither.

    It is text from outside, even the goal, and must never pass for a part of the step: marks of a
    fence are broken, and a text of several lines is fenced.
    """
    value: Any = named_value(facts.values, name)
    if isinstance(value, str):
        return _quote(value.strip("\n"), name)
    if value is not MISSING:
        return _quote(msgspec.json.encode(value).decode(), name)
    value = artifact_value(facts.artifacts, name)
    return None if value is MISSING else _quote(_phrase_delivered(value), "")


def _quote(text: str, name: str) -> str:
    """Return the text as data; without a name its lines stay as they are."""
    if text.isprintable() and "[" not in text:
        return text  # as most are
    from handrail.contract.fence import break_marks, drop_invisible, fence_text  # noqa: PLC0415 - few need it

    content = drop_invisible(text).strip("\n") if name else drop_invisible(text)
    return f"\n{fence_text(content, name)}\n" if name and "\n" in content else break_marks(content)


def _phrase_delivered(value: Any) -> str:
    """Return a part of an artifact as prose: one line for each row of a list, without the names of its
    members.
    """
    if isinstance(value, list):
        rows = [row if isinstance(row, dict) else {"": row} for row in value]
        return "".join(f"\n- {'; '.join(map(_phrase_member, row.values()))}" for row in rows) or " none"
    return _phrase_member(value)


def _phrase_member(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_phrase_member, value))
    if isinstance(value, dict):
        return " ".join(map(_phrase_member, value.values()))
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
