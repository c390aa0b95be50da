"""How people see one node of a run, and two of them side by side. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from handrail.contract.outcome import Json
from handrail.contract.wording import format_count
from handrail.projections.claim_texts import spell_kind
from handrail.projections.plain_words import artifact_lines
from handrail.surfaces.cli.rendering.text import (
    INDENT,
    Page,
    ago,
    format_aligned,
    lines_of,
    one_line,
    spell_status,
    typed_line,
    wrap,
)

_KINDS = {"checkpoint": "saved", "blocked_attempt": "not accepted"}


def node_lines(node: dict[str, Json], page: Page) -> list[str]:
    """What was reported on the way to a node, how each part of it is known, and what is pending there."""
    kind = _KINDS.get(node["kind"], "")
    head = ", ".join(filter(None, (one_line(node["title"]), kind, ago(node["at"], page))))
    whose = (one_line(node["goal"]), one_line(node["origin"]["workflow_name"]))
    lines = [*wrap(head, page.width), *wrap(", ".join(filter(None, whose)), page.width)]
    lines += wrap(one_line(node["banner"]), page.width) if node["banner"] else []
    lines += ["", *_facts(node, page)]
    lines += _quoted("Notes:", node["notes"], is_cut=node["is_cut"])
    for held in node["artifacts"]:
        refused = ", refused" if held["is_refused"] else ""
        lines += [f"{one_line(spell_kind(held['kind']))}{refused}:", *_body(held["body"], page)]
    pending = node["pending"]
    if pending is not None:
        done = f"{pending['done']} of about {pending['at_least']} steps done"
        lines += wrap(f"Pending: {one_line(pending['title'])}, {done}", page.width)
    near = [("Before", node["parent"]), *(("After", one) for one in node["children"])]
    return [*lines, *(_near(label, one, node, page) for label, one in near if one is not None)]


def _facts(node: Mapping[str, Json], page: Page) -> list[str]:
    told = [f"Chosen: {one_line(node['option_id'])}"] if node["option_id"] else []
    told += ["A fork: the run had gone on from the step before."] if node["is_fork"] else []
    for one in node["blockers"]:
        told += [f"Not accepted: {one_line(one['message'])}", one_line(one["fix"])]
    for gap in node["gaps"]:
        state = "open" if gap["is_open"] else "settled"
        told.append(f"Gap ({one_line(gap['severity'])}, {state}): {one_line(gap['summary'])}")
    told += [f"{one_line(one['text'])}: {one_line(one['told'])}" for one in node["claims"]]
    if node["person"] is not None:
        note = f": {one_line(node['person']['note'])}" if node["person"]["note"] else ""
        told.append(
            f"Answered by {one_line(node['person']['who'])}: {one_line(node['person']['said'])}{note}"
        )
    told += [f"Left the instructions: {one_line(one['summary'])}" for one in node["divergences"]]
    told += [
        f"Ran: {one_line(' '.join(one['command']))}, {one_line(one['outcome'])}" for one in node["receipts"]
    ]
    return [line for one in told if one for line in wrap(one, page.width, INDENT)]


def _quoted(label: str, text: str, *, is_cut: bool) -> list[str]:
    return [label, *(f"> {line}" for line in lines_of(text + (" …" if is_cut else "")))] if text else []


def _body(body: dict[str, Json], page: Page) -> list[str]:
    told = [(INDENT * (depth + 1), one_line(words)) for depth, words in artifact_lines(body)]
    return [line for indent, words in told for line in wrap(f"- {words}", page.width, indent)]


def _near(label: str, one: Mapping[str, Json], node: Mapping[str, Json], page: Page) -> str:
    line = typed_line(f"handrail session show {node['session_id']} {one['id']} --human", page)
    return f"{label}: {one_line(one['title'])}: {line}"


def compare_lines(both: dict[str, Json], page: Page) -> list[str]:
    """Where two ways parted, how each ended, and what each did since."""
    shared = format_count(both["shared_steps"], "step")
    parted = f"They part after “{one_line(both['ancestor_title'])}”, {shared} in common."
    lines = wrap(parted if both["ancestor"] else "They have no step in common.", page.width)
    for label, end in (("One", both["one"]), ("Other", both["other"])):
        facts = [
            (label, one_line(end["title"])),
            ("Status", spell_status(end["status"])),
            ("Pending", one_line(end["pending_title"])),
            ("Open gaps", "; ".join(map(one_line, end["open_gaps"]))),
        ]
        lines += ["", *format_aligned([row for row in facts if row[1]], page.width)]
    for row in both["rows"]:
        named = one_line((row["one"] or row["other"])["title"])
        lines += ["", named]
        for label, step in (("One", row["one"]), ("Other", row["other"])):
            if step is None:
                lines.append(f"{INDENT}{label}: not done")
            else:
                lines += [
                    INDENT + line for line in _quoted(f"{label}:", step["notes"], is_cut=step["is_cut"])
                ]
    more = both["rows_omitted"]
    return [*lines, *(["", f"{format_count(more, 'more step')} left out."] if more else [])]
