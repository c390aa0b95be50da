"""The outcome of a run: a summary, its proofs, its changed files, and what needs review. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from handrail.engine.events import ChangeSum
from handrail.projections.evidence import SOURCE_WORDS
from handrail.projections.html.elements import Child, Html, element
from handrail.views.diffs import CodeDiff, DiffedFile
from handrail.views.nodes import NodeAnswer
from handrail.views.runs import ProofRow, RunView
from handrail.views.summaries import RunRow
from handrail_serve.pages.parts import (
    badge,
    cells,
    cluster,
    count,
    details,
    diff_lines,
    duration,
    evidence_badge,
    evidence_badges,
    meta,
    moment,
    mono,
    panel,
    points,
    soft,
    spell_changed,
    table,
)

HIDDEN = "This server cannot compare them: add the project to its roots in the settings."
_GOOD = frozenset({"PROVED", "KEPT"})


def outcome_panel(graph: RunView, run: RunRow, titles: Mapping[str, str], files: CodeDiff | None) -> Child:
    """Return the outcome of a run, which a reader wants to know first; empty if nothing is known yet.

    `files` are the files that the run changed, if they can be compared.
    """
    outcome = graph.outcome
    if not (outcome.sentence or outcome.proofs or run.statements or outcome.changed or files):
        return None
    proofs = [proof_part(one, outcome.sentence) for one in outcome.proofs]
    shown = [one for one in (_sentence(graph), *proofs) if one is not None]
    review = outcome.review[1:] if outcome.sentence else outcome.review
    return panel(
        "Outcome" if outcome.sentence else "So far",
        *shown,
        _statements(run, titles),
        changed_files(files, outcome.changed),
        element("div", element("h3", "Also for review"), points(review)) if review else None,
        beside=meta(f"took {duration(outcome.seconds)}" if outcome.seconds else None),
        class_="stack tight",
        id_="proof",
    )


def _sentence(graph: RunView) -> Child:
    text = graph.outcome.sentence
    return element("p", text, dir="auto") if text else None


def proof_part(proof: ProofRow, above: str = "") -> Html:
    """Return a proof: its word, its sentence unless the text above has it, and the table of the four runs."""
    look, glyph = ("good", "done") if proof.label in _GOOD else ("warn", "gap")
    if proof.label == "FAILS":
        look, glyph = "bad", "blocked"
    rows = [cells(element("strong", row[0]), *row[1:]) for row in proof.rows[1:]]
    more = proof.names_total - len(proof.names)
    names = [mono(name) for name in proof.names]
    where = f" on {proof.machine}" if proof.machine else ""
    sentence = "" if proof.sentence.removesuffix(".") in above else proof.sentence
    return element(
        "div",
        element("p", badge(proof.label, look, glyph), f" {sentence}" if sentence else None, dir="auto"),
        table(proof.rows[0], rows, f"The four runs of {proof.check}") if rows else None,
        points((*names, *((f"and {more} more",) if more > 0 else ()))) if names else None,
        soft(mono(proof.check), f" executed{where}, ", moment(proof.at)),
        class_="stack tight",
    )


def _statements(run: RunRow, titles: Mapping[str, str]) -> Html:
    """Return the evidence of the reports: counts by source, and each statement."""
    rows = [
        cells(
            evidence_badge(statement.level, statement.verdict, is_imported=statement.is_imported),
            titles.get(statement.step_id, ""),
            element("span", statement.text, dir="auto"),
            element("span", statement.fact, dir="auto"),
        )
        for statement in run.statements
    ]
    heads = ("Known as", "Step", "What the report names", "Fact")
    return cluster(
        evidence_badges(run.evidence, run.evidence_caveat),
        details(count(len(rows), "statement"), table(heads, rows, "Statements")) if rows else None,
    )


# Files


def changed_files(files: CodeDiff | None, counted: ChangeSum | None = None) -> Child:
    """Return how many files changed, with each of them and its changed lines.

    `counted` is the number in the log; without it the lines that are shown are counted.
    """
    if files is None:
        return soft(spell_changed(counted), f". {HIDDEN}") if counted and counted.files else None
    if not files.differing:
        return soft("No file changed.")
    more = files.differing - len(files.files)
    return details(
        spell_changed(counted or _count_lines(files)),
        points(file_line(one) for one in files.files),
        soft(f"And {more} more.") if more else None,
        diff_lines(files.diff) if files.diff else None,
    )


def _count_lines(files: CodeDiff) -> ChangeSum:
    added, removed = (sum(getattr(one, name) for one in files.files) for name in ("added", "removed"))
    return ChangeSum(files=files.differing, added=added, removed=removed)


def file_line(one: DiffedFile) -> Html:
    """Return one file with its changes."""
    lines = one.note or f"+{one.added} −{one.removed}"
    return element("span", mono(one.path), f" {one.change}, {lines}")


def answer_line(answer: NodeAnswer) -> Html:
    """Return what a person answered, with who, where and when, and their note."""
    return element(
        "p",
        element("span", class_="glyph person"),
        " ",
        element("strong", answer.who),
        f" {answer.summary} {SOURCE_WORDS[answer.source]}, ",
        moment(answer.at),
        element("span", f": “{answer.note}”", dir="auto") if answer.note else None,
        class_=f"told {'declined' if answer.answer == 'declined' else 'answered'}",
    )
