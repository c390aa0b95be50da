"""One node: what was done on the way to it, how it is supported, and what is pending there. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from handrail.contract.wording import spell_argv
from handrail.engine.receipts import WHO_SAW
from handrail.projections.evidence import SOURCE_WORDS
from handrail.projections.html.elements import Child, Html, element, join_html
from handrail.projections.plain_words import spell_kind
from handrail.views.diffs import CodeDiff
from handrail.views.nodes import NodeAnswer, NodeArtifact, NodeLink, NodeReceipt, NodeView
from handrail_serve.pages.outcome import changed_files
from handrail_serve.pages.parts import (
    ago,
    artifact_body,
    badge,
    cluster,
    compare_path,
    copy_button,
    count,
    damage_notice,
    details,
    dots,
    evidence_badges,
    facts,
    folded,
    gap_words,
    head,
    meta,
    moment,
    mono,
    node_path,
    notice,
    page,
    panel,
    points,
    prose,
    run_path,
    session_crumbs,
    soft,
    spell_preferences,
    split,
    statement_row,
    status_badge,
    workflow_path,
)
from handrail_serve.pages.run_rail import loop_words

_KINDS = {
    "step": ("step", "", "step"),
    "checkpoint": ("checkpoint", "", "checkpoint"),
    "blocked_attempt": ("blocked attempt", "bad", "blocked"),
}
_SHOWN_ELSEWHERE = ("wr.gap", "wr.workflow_divergence", "wr.loop_control", "wr.capability_observation")


def node_page(node: NodeView, *, person: Child = None, files: CodeDiff | None = None) -> Html:
    """`node` is of run.node, `files` of code.diff with its parent.

    `person` is the form in which a person answers for the pending step.
    """
    session_id, run_id = node.session_id, node.run_id
    return page(
        head(
            node.title,
            _meta(node),
            beside=_badges(node),
            crumbs=(
                *session_crumbs(session_id, node.goal),
                (node.origin.workflow_name, run_path(session_id, run_id)),
            ),
        ),
        damage_notice(node.banner),
        _toolbar(node),
        _blocked(node),
        split(
            element("div", *_middle(node, person, files), class_="stack"),
            *_side(node),
            label="About this node",
        ),
        live=session_id,
        new="step",
        node=node.node_id,
    )


def _meta(node: NodeView) -> Html:
    return meta(moment(node.at), ago(node.at), loop_words(node.step_id))


def _badges(node: NodeView) -> Html:
    shown: list[Child] = [badge(*_KINDS[node.kind])]
    if node.is_preferred_tip:
        shown += [badge("newest", "busy", "done"), status_badge(node.run_status)]
    elif node.is_tip:
        shown.append(badge("end of a branch", "", "step"))
    if not node.is_on_path:
        shown.append(badge("on a branch that was left"))
    if node.is_fork:
        shown.append(badge("fork", "", "step"))
    if node.divergences:
        shown.append(badge("left the instructions", "warn", "gap"))
    if node.preferences_before:
        shown.append(badge("preferences changed here"))
    return element("span", *shown, class_="cluster")


def _toolbar(node: NodeView) -> Html:
    session_id, tip = node.session_id, node.preferred_tip
    straight = next((child for child in node.children if child.is_on_path), None)
    is_left = tip != node.node_id and not node.is_on_path
    pair = compare_path(session_id, node.node_id, tip)
    return cluster(
        copy_button(node.resume_prompt, "Copy resume prompt", "p"),
        _near(node, "Previous", node.parent, rel="prev", key="k"),
        _near(node, "Next", straight, rel="next", key="j"),
        element("a", "Compare with the newest", href=pair, class_="button") if is_left else None,
    )


def _near(node: NodeView, word: str, other: NodeLink | None, *, rel: str, key: str) -> Child:
    """The button that leads to a node beside this one, and the letter that presses it."""
    if other is None:
        return None
    path = node_path(node.session_id, node.run_id, other.id)
    return element("a", word, href=path, class_="button", rel=rel, data_key_press=key)


def _blocked(node: NodeView) -> Child:
    if not node.blockers:
        return None
    rows = [
        element(
            "li",
            element("p", element("strong", one.message), dir="auto"),
            element("p", one.fix, dir="auto") if one.fix else None,
        )
        for one in node.blockers
    ]
    return notice(
        "bad",
        element("h2", "Why this report was not accepted"),
        element("ul", *rows, class_="plain stack tight"),
    )


# The middle: from what a person reads first to what they rarely need


def _middle(node: NodeView, person: Child, files: CodeDiff | None) -> Iterable[Child]:
    yield person
    if node.is_tip:
        yield _pending(node)
    yield _notes(node)
    yield from (_artifact(one, node) for one in node.artifacts if one.kind not in _SHOWN_ELSEWHERE)
    yield _evidence(node)
    yield _gaps(node)
    yield _divergences(node)
    yield _receipts(node)
    yield _validations(node)
    yield _files(node, files)
    yield _signals(node)
    yield _trace(node)
    if not node.is_tip:
        yield _pending(node)
    yield _branches(node)


def _pending(node: NodeView) -> Child:
    pending = node.pending
    if pending is None:
        return None
    facts_shown = [
        f"{pending.done} of about {pending.at_least} steps done",
        "asks a person" if pending.needs_person else "",
        f"options: {', '.join(pending.options)}" if pending.options else "",
    ]
    title = f"Pending here: {pending.title}" if node.is_tip else f"What came next: {pending.title}"
    return folded(
        element("h2", title),  # the prompt has headings of its own, below this one
        soft(" · ".join(filter(None, facts_shown))),
        prose(pending.prompt),
        soft("The prompt is longer than this.") if pending.is_cut else None,
        is_open=bool(node.is_tip),
        id_="pending",
    )


def _notes(node: NodeView) -> Html:
    if not node.notes:
        return panel("Notes", soft("No notes came with this node."))
    return panel(
        "Notes",
        prose(node.notes),
        soft("The rest of these notes is in an export, if the store still has it.") if node.is_cut else None,
    )


def _artifact(one: NodeArtifact, node: NodeView) -> Html:
    standing = (
        badge("refused", "bad", "blocked")
        if one.is_refused
        else badge("well-formed" if one.contract_ref else "no contract asks for it", "", "step")
    )
    return panel(
        spell_kind(one.kind),
        artifact_body(one.body),
        *_statements_about(one, node),
        beside=standing,
        class_="stack tight",
    )


def _signals(node: NodeView) -> Child:
    """Artifacts whose meaning other panels tell, as they came."""
    rows = [one for one in node.artifacts if one.kind in _SHOWN_ELSEWHERE]
    if not rows:
        return None
    shown = [join_html(element("strong", spell_kind(one.kind)), artifact_body(one.body)) for one in rows]
    return folded(count(len(rows), "signal of the agent", "signals of the agent"), points(shown))


def _statements_about(artifact: NodeArtifact, node: NodeView) -> list[Child]:
    """The evidence of a report, beside the artifact that it is about."""
    about = [one for one in node.statements if one.contract_ref == artifact.contract_ref != ""]
    rows = [statement_row(one, is_imported=node.is_imported) for one in about]
    return [element("h3", "How it is known"), dots(rows)] if rows else []


def _evidence(node: NodeView) -> Html:
    """What is known of the report itself, and the sum up to here."""
    shown = {one.contract_ref for one in node.artifacts if one.kind not in _SHOWN_ELSEWHERE}
    rest = [one for one in node.statements if not one.contract_ref or one.contract_ref not in shown]
    rows = [statement_row(one, is_imported=node.is_imported) for one in rest]
    left = node.omitted.get("statements", 0)
    badges = evidence_badges(node.evidence, node.evidence_caveat)
    return panel(
        "Evidence",
        dots(rows) if rows else None,
        None if node.statements else soft("Nothing in this report could be checked."),
        soft(f"{left} more statements are left out.") if left else None,
        beside=element("span", element("span", "up to here:", class_="small soft"), badges, class_="cluster"),
        class_="stack tight",
        id_="evidence",
    )


def _gaps(node: NodeView) -> Child:
    rows = [
        element(
            "li",
            *gap_words(gap, f"{'open' if gap.is_open else 'resolved'}, {gap.reason.replace('_', ' ')}"),
        )
        for gap in node.gaps
    ]
    return panel("Gaps recorded here", element("ul", *rows, class_="facts")) if rows else None


def _divergences(node: NodeView) -> Child:
    rows = [join_html(element("strong", one.reason), f": {one.summary}") for one in node.divergences]
    return panel("Left the instructions", points(rows)) if rows else None


def _receipts(node: NodeView) -> Child:
    if not node.receipts:
        return None
    rows = [_receipt(one) for one in node.receipts]
    left = node.omitted.get("receipts", 0)
    return panel(
        "Programs that ran",
        soft(f"{left} earlier ones are left out.") if left else None,
        element("ul", *rows, class_="plain stack tight"),
    )


def _receipt(one: NodeReceipt) -> Html:
    passed = badge("passed", "good", "done") if one.has_passed else badge(one.outcome, "bad", "blocked")
    name = element("strong", f"{one.check}: " if one.check else "")
    line = one.command[0] if one.by == "client_hook" else spell_argv(one.command)
    return element(
        "li",
        element("p", passed, " ", name, mono(line), class_="cluster"),
        soft(
            f"{one.outcome}, {one.duration_ms} ms, {WHO_SAW[one.by]} · ",
            moment(one.at),
            " · ",
            mono(one.id),
        ),
        details("What it printed last", element("pre", one.tail, class_="tall", tabindex=0))
        if one.tail
        else None,
    )


_FORMS = {"valid": "complete", "invalid": "not as asked", "missing": "missing"}


def _validations(node: NodeView) -> Child:
    rows = [
        element(
            "li",
            element("strong", spell_kind(one.contract_ref) if one.contract_ref else "The rules of the step"),
            f": {_FORMS[one.result]}",
            points(one.issues) if one.issues else None,
        )
        for one in node.validations
    ]
    caveat = soft("Whether each part is there as the step asks; not whether it is true.")
    return panel("Form of the report", caveat, element("ul", *rows, class_="facts")) if rows else None


def _files(node: NodeView, files: CodeDiff | None) -> Child:
    """What changed since the step before."""
    if node.tree is None or node.parent is None:
        return None
    if files is None:
        text = "Handrail kept the files of this step. It cannot compare them from here."
        return panel("What changed since the step before", soft(text))
    return panel("What changed since the step before", changed_files(files), class_="stack tight")


def _trace(node: NodeView) -> Child:
    return folded("Why the run came here", points(node.trace)) if node.trace else None


def _branches(node: NodeView) -> Child:
    if not node.children:
        return None
    rows = [
        join_html(
            element("a", child.title, href=node_path(node.session_id, node.run_id, child.id)),
            f" ({child.kind.replace('_', ' ')}",
            ")" if child.is_on_path else ", beside the preferred path)",
        )
        for child in node.children
    ]
    return panel("What followed", points(rows))


# The side: facts


def _side(node: NodeView) -> Iterable[Child]:
    if node.person is not None:
        yield panel("A person answered", _answer(node.person, node), _again(node))
    pending = node.pending
    if pending is not None and pending.person is not None and pending.person != node.person:
        yield panel(f"A person answered about: {pending.title}", _answer(pending.person, node))
    yield panel("Preferences in force", _preferences(node))
    if node.capabilities:
        yield panel(
            "Capabilities observed",
            points(
                f"{one.capability}: {one.status} ({one.provenance}) {one.summary}".strip()
                for one in node.capabilities
            ),
        )
    if node.context_keys:
        yield panel("Facts set here", points(mono(key) for key in node.context_keys))
    yield panel("Provenance", _origin(node))


def _answer(person: NodeAnswer, node: NodeView) -> Html:
    return facts(
        [
            ("Answer", person.summary),
            ("Where", SOURCE_WORDS[person.source]),
            ("Account", person.who),
            ("When", moment(person.at)),
            ("Note", person.note),
            ("Recorded", node.evidence_caveat if node.is_imported else ""),
        ]
    )


def _again(node: NodeView) -> Child:
    """How to answer otherwise, once the run has used the answer: the agent goes back to the step."""
    if node.parent is None or node.banner:
        return None
    text = (
        f"Go back in the Handrail session {node.session_id}: call resume_session with query "
        f'"{node.parent.id}" and make its forkCall. I want to answer “{node.title}” again.'
    )
    return copy_button(text, "Start from here again: copy a message for the agent")


def _preferences(node: NodeView) -> Html:
    now, before = node.preferences, node.preferences_before
    rows: list[tuple[str, Child]] = [*spell_preferences(now)]
    if before:
        rows.append(("Changed here from", ", ".join(word for _, word in spell_preferences(before))))
    return facts(rows)


def _origin(node: NodeView) -> Html:
    origin = node.origin
    return facts(
        [
            (
                "Workflow",
                element(
                    "a",
                    origin.workflow_name,
                    href=workflow_path(origin.workflow_id, run=node.run_id),
                ),
            ),
            ("Source", f"{origin.source_kind}, {origin.source_ref}"),
            ("Project", origin.project),
            ("Branch", origin.branch),
            ("Commit", mono(origin.head_sha[:12]) if origin.head_sha else ""),
            ("Imported from", origin.imported_from),
            ("Node", mono(node.node_id)),
            ("Run", mono(node.run_id)),
            ("Session", mono(node.session_id)),
            ("Chosen", node.option_id),
        ]
    )
