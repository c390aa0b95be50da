"""Two nodes side by side: where their ways parted, the steps of each, and the words that differ. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from handrail.projections.html.elements import Child, Html, element, join_html
from handrail.projections.plain_words import spell_kind
from handrail.views.comparisons import ComparedEnd, ComparedRow, ComparedStep, Comparison
from handrail.views.diffs import CodeDiff
from handrail_serve.pages.outcome import answer_line, changed_files, proof_part
from handrail_serve.pages.parts import (
    artifact_body,
    badge,
    count,
    damage_notice,
    details,
    evidence_badges,
    facts,
    head,
    meta,
    moment,
    node_path,
    notice,
    page,
    panel,
    points,
    session_crumbs,
    soft,
    spell_preferences,
    status_badge,
)
from handrail_serve.pages.run_rail import loop_words

MOST_WORDS = 1_500
"""Of one side; longer notes are shown without marks."""
_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")


def compare_page(found: Comparison, files: CodeDiff | None = None) -> Html:
    """`found` is of run.compare, `files` of code.diff between the two nodes."""
    session_id = found.session_id
    return page(
        head(
            "Two ways compared",
            meta(_parting(found)),
            crumbs=session_crumbs(session_id, found.goal),
        ),
        damage_notice(found.banner),
        _ends(found),
        notice("", element("p", "Both are the same node."))
        if found.one.node_id == found.other.node_id
        else None,
        *(_row(row) for row in found.rows),
        soft(f"{count(found.rows_omitted, 'step is', 'steps are')} left out.")
        if found.rows_omitted
        else None,
        _files(files),
        live=session_id,
    )


def _parting(found: Comparison) -> str:
    if not found.ancestor:
        return "They have no step in common."
    return f"The same for {count(found.shared_steps, 'node')}; they part after: {found.ancestor_title}"


def _ends(found: Comparison) -> Html:
    return element("div", _end(found, found.one, "First"), _end(found, found.other, "Second"), class_="sides")


def _end(found: Comparison, end: ComparedEnd, word: str) -> Html:
    gaps: Child = points(end.open_gaps) if end.open_gaps else "none"
    path = node_path(found.session_id, end.run_id, end.node_id)
    return panel(
        join_html(f"{word}: ", element("a", end.title, href=path)),
        facts(
            [
                ("When", moment(end.at)),
                ("Since the fork", count(end.step_count, "node")),
                ("Pending", end.pending_title or "nothing"),
                ("Known", evidence_badges(end.evidence, end.evidence_caveat)),
                ("Gaps open at this node", gaps),
                *spell_preferences(end.preferences),
            ]
        ),
        *map(proof_part, end.proofs),
        beside=status_badge(end.status, end.evidence, end.evidence_caveat),
        class_="stack tight",
    )


def _row(row: ComparedRow) -> Html:
    one, other = row.one, row.other
    step = one or other
    assert step is not None, "a row has one of the two"
    loop = loop_words(row.step_id)
    return element(
        "section",
        element(
            "h2", step.title, element("span", f" {loop}", class_="aside") if loop else None, class_="whole"
        ),
        *_sides(one, other),
        class_="sides",
        data_key=f"{one and one.node_id} {other and other.node_id}",
    )


def _sides(one: ComparedStep | None, other: ComparedStep | None) -> tuple[Html, Html]:
    texts = ("" if one is None else one.notes, "" if other is None else other.notes)
    has_pair = one is not None and other is not None
    marked = mark_words(*texts) if has_pair else (join_html(texts[0]), join_html(texts[1]))
    same = _digests(one) & _digests(other)
    return (
        _side(one, marked[0], same, has_pair=has_pair),
        _side(other, marked[1], same, has_pair=has_pair),
    )


def _digests(step: ComparedStep | None) -> set[str]:
    return set() if step is None else {artifact.digest for artifact in step.artifacts}


def _side(step: ComparedStep | None, notes: Html, same: set[str], *, has_pair: bool) -> Html:
    if step is None:
        return element("div", soft("Not on this way."), class_="panel")
    return element(
        "div",
        element("p", badge("blocked attempt", "bad", "blocked")) if step.kind == "blocked_attempt" else None,
        soft(moment(step.at)),
        element("p", "Chose ", element("strong", step.option), dir="auto") if step.option else None,
        answer_line(step.answer) if step.answer is not None else None,
        element("div", notes, class_="prose diff-words", dir="auto") if notes.markup else soft("No notes."),
        soft("The notes go on.") if step.is_cut else None,
        *(
            details(
                spell_kind(artifact.kind)
                + (", the same in both" if artifact.digest in same else ", differs" if has_pair else ""),
                artifact_body(artifact.body),
                open=artifact.digest not in same or None,
            )
            for artifact in step.artifacts
        ),
        points(join_html(badge("gap", "warn", "gap"), f" {gap}") for gap in step.gaps) if step.gaps else None,
        class_="panel stack tight",
    )


def _files(files: CodeDiff | None) -> Child:
    if files is None or not files.files:
        return None
    return panel(
        "Files",
        changed_files(files),
    )


def mark_words(one: str, other: str) -> tuple[Html, Html]:
    """Both texts, with the words that only one of them has marked."""
    words = _TOKEN.findall(one), _TOKEN.findall(other)
    if max(len(words[0]), len(words[1])) > MOST_WORDS:
        return join_html(one), join_html(other)
    left: list[Child] = []
    right: list[Child] = []
    for is_same, start, end, from_, to in _opcodes(*words):
        before, after = "".join(words[0][start:end]), "".join(words[1][from_:to])
        if is_same:
            left.append(before)
            right.append(after)
            continue
        left.append(element("del", before) if before else None)
        right.append(element("ins", after) if after else None)
    return join_html(*left), join_html(*right)


def _opcodes(one: Sequence[str], other: Sequence[str]) -> list[tuple[bool, int, int, int, int]]:
    """Where the two are the same and where not; a space between two changes belongs to them."""
    joined: list[tuple[bool, int, int, int, int]] = []
    matcher = SequenceMatcher(a=one, b=other, autojunk=False)
    for tag, start, end, from_, to in matcher.get_opcodes():
        is_same = tag == "equal" and (
            not joined or to == len(other) or bool("".join(other[from_:to]).strip())
        )
        if joined and joined[-1][0] == is_same:
            _, first, _, first_other, _ = joined.pop()
            start, from_ = first, first_other
        joined.append((is_same, start, end, from_, to))
    return joined
