"""What a person can read about a store, and what must not stand in it: parts of the protocol."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

from handrail.contract.outcome import Fault, Json, Outcome
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail_serve.views import render_view
from tests.journeys.conversation import answer
from tests.surfaces.cli.here import run_here

NOT_FOR_PEOPLE = {
    "a JSON pointer": re.compile(r"(?<![\w.…/])/[A-Za-z0-9_]+(/|\b)|(^|\s)/:"),
    "a step path": re.compile(r"\w@\d|::"),
    "a token": re.compile(r"\b(st1|ak1|ck1|ch1)\w"),
    "a fence": re.compile(r"```|~~~|⟦"),
    "the protocol": re.compile(
        r"\b[nN]extCall|\boutput\.[a-z]|\bcontext\.[a-z]|--[a-z]|stateToken|\w+_workflow\b"
    ),
    "a digest": re.compile(r"sha256|\b[0-9a-f]{16,}\b"),
    "an id": re.compile(r"\b(run|nod|gap|usr|acc)_\w+|\bwr\.\w+"),
}
A_COMMAND = re.compile(r"`[^`]*`|\S*\bhandrail( [\w-]+)+( (?!--)[^\s,;]+| --[a-z-]+)*|\S+://\S+")
"""What a person may type, and an address that they may open."""
_UNSEEN = frozenset({"code", "pre", "kbd", "svg", "script", "style", "option", "time", "textarea"})
_QUOTED = frozenset({"prose"})


def list_faults(text: str, but: tuple[str, ...] = ()) -> list[str]:
    """What of the protocol stands in a text for people, each with its line."""
    found = []
    for line in text.splitlines():
        said = A_COMMAND.sub("", line)
        found += [
            f"{name}: {line.strip()}"
            for name, pattern in NOT_FOR_PEOPLE.items()
            if name not in but and pattern.search(said)
        ]
    return found


class _Words(HTMLParser):
    """The words of a page, one per line, without code and without what an agent wrote; and its links."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.links: list[str] = []
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        held = dict(attrs)
        if tag == "a" and (held.get("href") or "").startswith("/"):
            self.links.append(str(held["href"]))
        if self._hidden:
            self._hidden += [tag] if tag == self._hidden[0] else []
        elif tag in _UNSEEN or _QUOTED & set((held.get("class") or "").split()):
            self._hidden = [tag]

    def handle_endtag(self, tag: str) -> None:
        if self._hidden and tag == self._hidden[0]:
            self._hidden.pop()

    def handle_data(self, data: str) -> None:
        if not self._hidden and data.strip():
            self.lines.append(data.strip())


def read_page(runtime: Runtime, path: str) -> tuple[str, list[str]]:
    """The words of a page of the Console, and the pages that it leads to."""

    def call(operation: str, params: dict[str, Json]) -> Outcome:
        return perform(runtime, operation, params)

    where, _, query = path.partition("#")[0].partition("?")
    words = _Words()
    view = render_view(call, where, dict(part.split("=", 1) for part in query.split("&") if part))
    words.feed(view.html.markup)
    return "\n".join(words.lines), words.links


def read_console(runtime: Runtime, *begin: str) -> Iterator[tuple[str, str]]:
    """Every page that links lead to from these, once, with its words."""
    ahead, seen = list(begin), set(begin)
    while ahead:
        path = ahead.pop()
        try:
            text, links = read_page(runtime, path)
        except Fault as refused:
            text, links = f"{refused.message} {refused.hint}", []
        yield path, text
        fresh = [one for one in dict.fromkeys(links) if one not in seen]
        seen.update(fresh)
        ahead += fresh


def read_terminal(runtime: Runtime, *lines: str) -> Iterator[tuple[str, str]]:
    for line in lines:
        shown = run_here(runtime, [*line.split(), "--human"], environment={"COLUMNS": "2000"})
        yield line, (shown.out + shown.err).decode()


def list_lines(runtime: Runtime, session_id: str) -> list[str]:
    """The commands by which a person reads about a session."""
    graph: Any = answer(runtime, "session.show", sessionId=session_id)
    runs = [run["id"] for run in graph["runs"]]
    nodes = [node["id"] for run in graph["runs"] for node in run["nodes"]]
    return [
        f"session show {session_id}",
        f"session show {session_id} --timeline",
        *(f"session show {session_id} --graph --run {run}" for run in runs),
        *(f"session show {session_id} {node}" for node in nodes),
        f"session export {session_id} --as markdown",
        "session needs",
        "session needs --gaps",
        "session list",
    ]
