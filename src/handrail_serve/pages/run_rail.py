"""A run as a story: one row per step with what happened, forks and finished rounds folded. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.projections.evidence import PROOF
from handrail.projections.html.elements import Child, Html, element
from handrail.views.runs import AheadRow, ChildRow, PassedRow, RailNode, RunView
from handrail_serve.pages.outcome import answer_line
from handrail_serve.pages.parts import (
    add_query,
    asked_badge,
    asked_word,
    badge,
    compare_path,
    count,
    details,
    duration,
    evidence_badge,
    moment,
    more_link,
    node_path,
    run_path,
    spell_changed,
)
from handrail_serve.pages.rail_drawing import draw_rail

MOST_SHOWN = 300
"""Rows of one view; the earlier ones are one click away."""
MOST_DRAWN = 450
"""Nodes of a map."""
MOST_OPEN = 14
OPEN_STEPS = 8
"""Rows that stay open of a run that has more than `MOST_OPEN`: where it is now."""
DEEPEST = 8
"""Forks inside forks; deeper ones are counted."""
_KINDS = {"step": "", "checkpoint": "Checkpoint: ", "blocked_attempt": "Blocked attempt: "}


def rail_list(graph: RunView, before: int | None = None, most: int = MOST_SHOWN) -> Html:
    """Return the latest rows of a run from top to bottom, then the pending step and those ahead."""
    rows = [node for node in graph.nodes if before is None or node.row < before]
    shown = rows[-most:]
    earlier = len(rows) - len(shown)
    listing = _Listing(graph, shown)
    listed = listing.rows()
    is_last = before is None
    return element(
        "div",
        _earlier(graph, shown[0].row, earlier) if earlier else None,
        element(
            "ol",
            *listed,
            *((*_now(graph), *listing.lanes_of_now) if is_last else ()),
            *(_ahead(row) for row in (graph.ahead if is_last else ())),
            class_="rail",
            id="rail",
        ),
        None if is_last else more_link("The newest nodes", _path(graph)),
    )


def rail_map(graph: RunView) -> Html | None:
    """The same as a picture, for those who see it: the one that the report shows."""
    nodes = graph.nodes
    if len(nodes) > MOST_DRAWN or len(nodes) < 2:
        return None
    return element(
        "div", draw_rail(nodes), class_="map", tabindex=0, role="region", aria_label="Map of the run"
    )


def _path(graph: RunView) -> str:
    return run_path(graph.session_id, graph.run_id)


def _earlier(graph: RunView, row: int, earlier: int) -> Html:
    words = f"{count(earlier, 'earlier node')}"
    return more_link(words, add_query(_path(graph), before=str(row)))


class _Listing:
    """The rows that are being made."""

    def __init__(self, graph: RunView, shown: Sequence[RailNode]) -> None:
        self._graph = graph
        self._longest = max((node.seconds for node in shown), default=0)
        self._is_asked = bool(asked_word(graph.waiting))
        self._prefix = node_path(graph.session_id, graph.run_id, "")
        self._by_id = {node.id: node for node in shown}
        self._children: dict[str, list[RailNode]] = {}
        self._roots: list[RailNode] = []
        self.lanes_of_now: list[Html] = []
        """What the step that waits at the preferred tip delegated: it stands below that step."""
        for node in shown:
            if node.parent in self._by_id:
                self._children.setdefault(node.parent, []).append(node)
            else:
                self._roots.append(node)

    def rows(self) -> list[Html]:
        """From where the run is now: finished rounds are folded, and so is what came long before."""
        rows = [row for root in self._roots for row in self._line(root, 0)]
        if len(rows) <= MOST_OPEN:
            return rows
        early = rows[:-OPEN_STEPS]
        return [_fold("Earlier in this run", early, "early"), *rows[-OPEN_STEPS:]]

    def _line(self, node: RailNode, depth: int) -> list[Html]:
        """A node and what follows it straight on; what leaves the line is folded."""
        parts: list[tuple[str, list[RailNode], list[Html]]] = []
        current: RailNode | None = node
        lanes: list[Html] = []
        while current is not None:
            name = self._past_loop(current.step_id)
            if not parts or parts[-1][0] != name:
                parts.append((name, [], []))
            _, nodes, rows = parts[-1]
            nodes.append(current)
            rows.append(self._row(current))
            if current.kind == "step":  # the step that delegated them is done
                rows += lanes
                lanes = []
            lanes += self._lanes(current)
            rows += _skipped(current)  # passed by after its step was done
            below = self._children.get(current.id, [])
            straight = next((child for child in below if child.lane == current.lane), None)
            rows += [self._aside(child, depth) for child in below if child is not straight]
            if straight is None and current.id == self._graph.preferred_tip:
                self.lanes_of_now = lanes
            elif straight is None:
                rows += lanes
            current = straight
        return [row for part in parts for row in _fold_rounds(*part)]

    def _lanes(self, node: RailNode) -> list[Html]:
        """What the step at a node delegated, each child a lane of its own beside it."""
        handed = [one for one in self._graph.children if one.node_id == node.id]
        if not handed:
            return []
        lanes = [_lane(self._graph.session_id, one) for one in handed]
        return [
            element("li", element("ol", *lanes, class_="rail"), class_="aside", data_key=f"work {node.id}")
        ]

    def _past_loop(self, step_id: str) -> str:
        """The loop around a step of a round that is over; empty outside of loops and in the round of now."""
        here, now = step_id.rpartition("::")[0], self._graph.pending_step.rpartition("::")[0]
        return "" if here == now else here.split("/")[0].partition("@")[0]

    def _aside(self, root: RailNode, depth: int) -> Html:
        inside = self._inside(root)
        if depth >= DEEPEST:
            note: Child = element(
                "p", f"{count(len(inside), 'node')} deeper inside", class_="soft small spot"
            )
            return element("li", note, class_="aside")
        tip = inside[-1]
        summary = element("summary", _describe_branch(inside))
        pair = element(
            "a",
            "Compare with the preferred path",
            href=compare_path(self._graph.session_id, tip.id, self._graph.preferred_tip),
            class_="button plain",
        )
        is_saved = all(node.kind == "checkpoint" for node in inside)
        return element(
            "li",
            element(
                "details",
                summary,
                element("ol", *self._line(root, depth + 1), class_="rail"),
                None if is_saved else pair,
                data_branch=True,
            ),
            class_="aside",
            data_key=f"aside {root.id}",
        )

    def _inside(self, root: RailNode) -> list[RailNode]:
        found: list[RailNode] = []
        waiting = [root]
        while waiting:
            node = waiting.pop()
            found.append(node)
            waiting += reversed(self._children.get(node.id, []))
        return found

    def _row(self, node: RailNode) -> Html:
        loop = loop_words(node.step_id)
        is_asked = node.person or (node.id == self._graph.preferred_tip and self._is_asked)
        kind = "Reported: " if node.kind == "blocked_attempt" and is_asked else _KINDS[node.kind]
        classes = ["node", node.kind]
        classes += ["looped"] if loop else []
        classes += ["tip"] if node.is_tip and node.kind != "checkpoint" else []
        spot = element(
            "a",
            element(
                "span",
                element("span", kind, class_="soft") if kind else None,
                node.title,
                class_="name",
            ),
            element("span", loop, class_="what") if loop else None,
            *_marks(node),
            moment(node.at, with_day=False),
            href=self._prefix + node.id,
            class_="spot",
            data_node=node.id,
        )
        told = _tell(node, self._longest)
        return element("li", spot, *told, class_=" ".join(classes), data_key=node.id)


WIDEST = 96
"""Pixels of the bar of the step that took longest."""


def _tell(node: RailNode, longest: int) -> list[Child]:
    """What happened: the first line of the notes, the choice, the answer of a person, files and time."""
    is_of_person = node.answer is not None and bool(node.answer.option_id)  # their answer says it
    chosen = f"Chose {node.option}." if node.option and not is_of_person else ""
    facts = [
        count(node.attempts, "attempt was", "attempts were") + " not accepted" if node.attempts else "",
        "" if node.changed is None else spell_changed(node.changed),
        duration(node.seconds) if node.seconds else "",
    ]
    said = " ".join(filter(None, (chosen, node.summary)))
    is_quoted = node.kind != "blocked_attempt"  # of that it is our own sentence
    words = ", ".join(filter(None, facts))
    return [
        element("p", said, class_="told prose" if is_quoted else "told", dir="auto") if said else None,
        answer_line(node.answer) if node.answer is not None else None,
        element("p", _bar(node.seconds, longest), words, class_="told soft") if words else None,
    ]


def _bar(seconds: int, longest: int) -> Child:
    """How long it took beside the others."""
    if not seconds:
        return None
    width = max(2, WIDEST * seconds // longest)
    bar = element("rect", width=width, height=6, rx=2)
    return element("svg", bar, width=width, height=6, aria_hidden="true", focusable="false", class_="took")


_LANE_BADGES = {
    "complete": ("done", "good", "step"),
    "complete_with_gaps": ("done, with gaps", "warn", "gap"),
    "blocked": ("blocked", "bad", "blocked"),
    "closed": ("closed", "", "step"),
    "handed_out": ("delegated", "", "open"),
    "taken": ("done, taken by another branch", "good", "step"),
    "set_aside": ("set aside", "", "step"),
}


def _lane(session_id: str, one: ChildRow) -> Html:
    words, tone, icon = _LANE_BADGES.get(one.status, ("at work", "busy", "open"))
    who = one.worker or one.agent
    who = f"{who} of {one.account}" if who and one.account else who or one.account
    where = one.pending_title if one.status not in ("complete", "complete_with_gaps", "taken") else ""
    spot = element(
        "a",
        element("span", f"{one.child_id}: {one.title}", class_="name"),
        badge(words, tone, icon),
        element("span", where, class_="what") if where else None,
        element("span", who, class_="soft") if who else None,
        href=run_path(session_id, one.run_id),
        class_="spot",
    )
    result = element("p", one.result, class_="told", dir="auto") if one.result else None
    return element("li", spot, result, class_="node", data_key=one.run_id)


def _fold_rounds(loop: str, nodes: Sequence[RailNode], rows: list[Html]) -> list[Html]:
    """The finished rounds of one loop, folded."""
    if not loop or len(nodes) < 2:
        return rows
    rounds = {node.step_id.split("::")[0].split("/")[0] for node in nodes}
    decided = ", ".join(filter(None, (node.option for node in nodes)))
    title = f"{loop}: {count(len(rounds), 'round')}{decided and f' ({decided})'}"
    return [_fold(title, rows, nodes[0].id)]


def _fold(title: str, rows: Sequence[Html], key: str) -> Html:
    inside = details(title, element("ol", *rows, class_="rail"))
    return element("li", inside, class_="aside", data_key=f"aside {key}")


def _marks(node: RailNode) -> list[Child]:
    """What a reader finds behind the node."""
    marks: list[Child] = []
    if node.is_fork:
        marks.append(badge("fork", "", "step"))
    if node.gap_count:
        marks.append(badge(count(node.gap_count, "gap"), "warn", "gap"))
    is_told = node.level == "approved" and node.answer is not None
    if node.verdict in ("contradicted", "stale") or (node.level in PROOF and not is_told):
        marks.append(evidence_badge(node.level, node.verdict, is_imported=node.is_imported))
    if node.is_diverged:
        marks.append(badge("left the instructions", "warn", "gap"))
    if node.artifact_count:
        marks.append(element("span", count(node.artifact_count, "artifact"), class_="soft"))
    return marks


def person_badge(answer: str, *, is_imported: bool) -> Child:
    """What a person answered, here or in another store; nothing where nobody did."""
    words = f"{answer} by a person{', in another store' if is_imported else ''}"
    good = "" if is_imported else "good"
    return badge(words, good if answer == "confirmed" else "bad", "person") if answer else None


def loop_words(step_id: str) -> str:
    """`fix@1::try` is round 2 of fix."""
    loops, _, _ = step_id.rpartition("::")
    names = [part.partition("@") for part in loops.split("/") if part]
    return ", ".join(f"{name}, round {int(number) + 1}" for name, _, number in names)


def _skipped(node: RailNode) -> list[Html]:
    lines = [f"Skipped: {row.title}; {_why_skipped(row)}" for row in node.passed]
    more = node.passed_omitted
    lines += [f"Skipped: {count(more, 'more part')}"] if more else []
    return [element("li", words, class_="skip-note") for words in lines]


def _why_skipped(row: PassedRow) -> str:
    condition_id: str = row.condition_id
    if not condition_id or condition_id.startswith("inline-"):
        return str(row.why)
    return f"its condition ({condition_id}) did not hold"


def _describe_branch(inside: Sequence[RailNode]) -> str:
    if all(node.kind == "checkpoint" for node in inside):
        return "Progress saved here" if len(inside) == 1 else f"Progress saved here, {len(inside)} times"
    tip = inside[-1]
    end = {"blocked_attempt": ", blocked"}.get(tip.kind, "" if tip.pending_title else ", done")
    return f"Left aside from here: {count(len(inside), 'node')}{end}"


def _now(graph: RunView) -> list[Html]:
    """The step that waits at the preferred tip."""
    if not graph.pending_title or graph.status == "closed":
        return []
    is_blocked = graph.status == "blocked"
    asked = asked_word(graph.waiting)
    path = node_path(graph.session_id, graph.run_id, graph.preferred_tip)
    spot = element(
        "a",
        element("span", graph.pending_title, class_="name"),
        asked_badge(asked)
        if asked
        else badge("blocked", "bad", "blocked")
        if is_blocked
        else badge("now", "busy", "open"),
        person_badge(graph.pending_person, is_imported=graph.is_pending_person_imported),
        href=f"{path}#pending",
        class_="spot",
        data_at=graph.preferred_tip,
    )
    return [element("li", spot, class_="node now", id="now")]


def _ahead(row: AheadRow) -> Html:
    name = element("span", row.title, class_="name")
    return element(
        "li",
        element("span", name, element("span", "(not reached yet)", class_="sr"), class_="spot"),
        class_="node ahead",
    )
