"""How people see the store: whether it is sound, what it takes, and what the self-test did to it. Pure."""

from __future__ import annotations

from handrail.contract.catalogue import E_NOT_FOUND
from handrail.contract.outcome import Json
from handrail.contract.wording import format_count
from handrail.surfaces.cli.rendering.text import (
    INDENT,
    Page,
    format_aligned,
    format_table,
    one_line,
    size_text,
    value_lines,
    wrap,
)


def verify_lines(payload: dict[str, Json], page: Page) -> list[str]:
    """Sound or not, in one sentence; then what was read, and every problem."""
    read = [
        format_count(payload["sessions"], "session"),
        format_count(payload["events"], "event"),
        format_count(payload["blobs"], "blob"),
    ]
    what = "What was looked at" if "items" in payload else "The store"
    sound = f"{what} is not sound" if payload["problem_count"] else f"{what} is sound"
    lines = [f"{sound}: {', '.join(read)}, {size_text(payload['bytes_read'])} read."]
    for item in payload.get("items", []):
        if item.get("error", {}).get("code") == E_NOT_FOUND.native:
            lines += wrap(one_line(item["error"]["message"]), page.width)
    if payload.get("skipped"):
        lines += wrap(f"Not looked at: {one_line(', '.join(payload['skipped']))}.", page.width)
    if payload.get("leftover_blobs"):
        left = format_count(payload["leftover_blobs"], "blob")
        lines += [f"{left} that no session names; see them: handrail store gc --dangerous --dry-run"]
    for left in payload.get("leftovers", []):
        lines += wrap(one_line(left), page.width)
    for problem in payload["problems"]:
        first, *rest = value_lines(problem) or [""]
        lines += ["", f"- {first}", *(INDENT + line for line in rest)]
    count = payload["problem_count"]
    if count > len(payload["problems"]):
        lines += wrap(f"{len(payload['problems'])} of {format_count(count, 'problem')} shown.", page.width)
    if count:
        save = "Save what can be read: handrail session export ID --salvage --out FILE --human"
        lines += ["", save]
    return lines


def sizes_lines(payload: dict[str, Json], _: Page) -> list[str]:
    """What takes how much, the largest sessions last."""
    rows = [
        ["sessions", str(payload["session_count"]), size_text(payload["session_bytes"])],
        ["blobs", str(payload["blob_count"]), size_text(payload["blob_bytes"])],
        ["left over", str(payload["leftover_blobs"]), size_text(payload["leftover_bytes"])],
        ["cache", "", size_text(payload["cache_bytes"])],
        ["total", "", size_text(payload["total_bytes"])],
    ]
    lines = format_table(rows)
    largest = payload["largest_sessions"]
    if largest:
        table = [["LARGEST SESSIONS", "EVENTS", "SIZE"]]
        table += [
            [one_line(one["session_id"]), str(one["events"]), size_text(one["bytes"])] for one in largest
        ]
        lines += ["", *format_table(table)]
    if payload.get("unreadable_sessions"):
        unread = format_count(len(payload["unreadable_sessions"]), "session")
        lines += ["", f"{unread} cannot be read; see why: handrail store verify --human"]
    if payload["leftover_bytes"] or payload["leftover_blobs"] or payload.get("leftover_sessions"):
        lines += ["", "See what can go: handrail store gc --dangerous --dry-run --human"]
    return lines


def selftest_lines(payload: dict[str, Json], _: Page) -> list[str]:
    """The verdict, then each part with how often it tried."""
    cases = format_count(payload["cases"], "case")
    verdict = "lost nothing" if payload["ok"] else "failed"
    lines = [f"The store {verdict} in {cases}, {format_count(payload['kills'], 'kill')} among them.", ""]
    rows = [
        [
            "ok" if not part["problems"] else "failed",
            one_line(part["name"]).replace("_", " "),
            format_count(part["cases"], "case"),
        ]
        for part in payload["parts"]
    ]
    lines += format_table(rows)
    for part in payload["parts"]:
        for problem in part["problems"]:
            lines += ["", f"{one_line(part['name'])}:", *(INDENT + line for line in value_lines(problem))]
    again = (
        "Again the same way",
        f"handrail store selftest --{payload['effort']} --seed {payload['seed']} --human",
    )
    return [*lines, "", *format_aligned([again])]
