"""What a person can read about a store, and what must not stand in it: parts of the protocol."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser

from handrail.contract.ids import SessionId
from handrail.contract.outcome import Fault, Json, Outcome
from handrail.runtime.hub import perform
from handrail.runtime.outward import list_outward
from handrail.runtime.runtime import Runtime
from handrail_serve.views import render_view
from tests.surfaces.cli.here import run_here

NOT_FOR_PEOPLE = {
    "a JSON pointer": re.compile(r"(?<![\w.…/>])/[A-Za-z0-9_]+(/|\b)|(^|\s)/:"),
    "a step path": re.compile(r"\w@\w|::"),
    "a token": re.compile(r"\b(st1|ak1|ck1|ch1)"),
    "a fence": re.compile(r"```|~~~|⟦"),
    "the protocol": re.compile(
        r"nextCall|\b(output|context)\.[a-z]|--[a-z]|\b(state|ack|checkpoint)Token|\b\w+_workflow\b"
    ),
    "a digest": re.compile(r"sha256|\b[0-9a-f]{16,}\b"),
    "an id": re.compile(r"\b(run|nod|gap|usr|acc)_\w+|\bwr\.\w+"),
}
A_COMMAND = re.compile(
    r"`[^`]*`|--[a-z-]+ [A-Z_]+|\S*\bhandrail( [\w-]+)+( (?!--)[^\s,;]+| --[a-z-]+)*|\S+://\S+"
)
"""What a person may type, and an address that they may open."""
LABELLED = re.compile(
    r"^Workflow: [\w.]+$|^Run run_\w+: .* \([\w.-]+\)|^> .*"
    r"|^\| (Session|Run|Workflow|Workflow hash|Chain digest|Commit|Bundle) \|.*|^bundled, wr\.\w+\.md$"
    r"|^`(nod|out)_\w+`"
)
"""An id or a digest that stands beside its name, and notes, which are the agent's own words."""
_UNSEEN = frozenset({"code", "pre", "kbd", "svg", "script", "style", "option", "time", "textarea"})
_QUOTED = "prose"
"""The class of what an agent or an author wrote."""


def list_faults(text: str) -> list[str]:
    """What of the protocol stands in a text for people, each with its line."""
    return [
        f"{name}: {line.strip()}"
        for line in text.splitlines()
        for said in [A_COMMAND.sub("", LABELLED.sub("", line.strip().replace(sys.executable, "python")))]
        for name, pattern in NOT_FOR_PEOPLE.items()
        if pattern.search(said)
    ]


class _Words(HTMLParser):
    """The words of a page without code and without what an agent wrote; and where it leads."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.links: list[str] = []
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        held = {name: value or "" for name, value in attrs}
        if tag == "a" and held.get("href", "").startswith("/"):
            self.links.append(held["href"].partition("#")[0])
        if self._hidden:
            self._hidden += [tag] if tag == self._hidden[0] else []
        elif tag in _UNSEEN or _QUOTED in held.get("class", "").split():
            self._hidden = [tag]

    def handle_endtag(self, tag: str) -> None:
        if self._hidden and tag == self._hidden[0]:
            self._hidden.pop()

    def handle_data(self, data: str) -> None:
        if not self._hidden and data.strip():
            self.lines.append(data.strip())


def read_console(
    runtime: Runtime, begin: Iterable[str], but: tuple[str, ...] = ()
) -> Iterator[tuple[str, str]]:
    """Every page that links lead to from these, once, with its words; `but` are beginnings of others."""
    ahead = list(begin)
    seen = set(ahead)
    while ahead:
        path = ahead.pop()
        text, links = _read_page(runtime, path)
        yield path, text
        fresh = [one for one in dict.fromkeys(links) if one not in seen and not one.startswith(but)]
        seen.update(fresh)
        ahead += fresh


def _read_page(runtime: Runtime, path: str) -> tuple[str, list[str]]:
    def call(operation: str, params: dict[str, Json]) -> Outcome:
        return perform(runtime, operation, params)

    where, _, query = path.partition("?")
    words = _Words()
    try:
        view = render_view(call, where, dict(part.split("=", 1) for part in query.split("&") if part))
    except Fault as refused:
        return f"{refused.message} {refused.hint}", []
    words.feed(view.html.markup)
    return "\n".join(words.lines), words.links


def read_terminal(runtime: Runtime, session_ids: Iterable[str]) -> Iterator[tuple[str, str]]:
    """What `--human` writes about these sessions, by each command that reads."""
    lines = ["session inbox", "session list", "session resume"]
    for session_id in session_ids:
        lines += [
            f"session show {session_id}",
            f"session export {session_id} --as markdown",
            f"run answer --session {session_id} --show",
        ]
    for line in lines:
        shown = run_here(runtime, [*line.split(), "--human"], environment={"COLUMNS": "1000"})
        yield line, (shown.out + shown.err).decode()


def read_notices(runtime: Runtime, session_ids: Iterable[str]) -> Iterator[tuple[str, str]]:
    """What people are told who do not look, where the settings let texts leave."""
    for session_id in session_ids:
        held = runtime.log.load(SessionId(session_id))
        records = [] if held is None else held.records
        for one in list_outward(SessionId(session_id), records, (), with_text=True):
            yield f"notice {one.id}", one.text
