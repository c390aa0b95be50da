"""What a report claims, in its own words, and how each claim is known. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.projections.evidence import PROOF, WORTH_WORDS
from handrail.projections.html.elements import Child, Html, element
from handrail_serve.pages.parts import Payload, dots, evidence_badge, soft

MOST_CLAIMS = 8
"""Of each kind that a card names."""


def is_seen(claim: Payload) -> bool:
    """Whether somebody else than the agent has seen that it is so; that a place exists is no proof."""
    return bool(claim["verdict"] == "holds" and claim["level"] in PROOF)


def claim_row(claim: Payload, *, is_imported: bool) -> Html:
    """The claim, and beside it how it is known; below it, what that word leaves out."""
    more = claim["told"].removeprefix(WORTH_WORDS.get(claim["level"], "")).removeprefix(": ")
    return element(
        "li",
        element("span", claim["text"], dir="auto"),
        " ",
        evidence_badge(claim["level"], claim["verdict"], is_imported=is_imported),
        element("span", more, class_="under soft small", dir="auto") if more else None,
    )


def sides(node: Payload) -> Child:
    """What is proven of a report and what rests on its word, as two lists of texts."""
    claims = [one for one in node["claims"] if one["check"] != "person" or is_seen(one)]  # else: the question
    seen = [one for one in claims if is_seen(one)]
    word = [one for one in claims if not is_seen(one)]
    if not claims:
        told = "Nothing in this report could be checked: it rests on the agent's word."
        return soft(told) if node["notes"] or node["artifacts"] else None
    return element(
        "div",
        _side("Proven", seen, node) if seen else None,
        _side("On the agent's word", word, node) if word else None,
        class_="stack tight",
    )


def _side(title: str, claims: Sequence[Payload], node: Payload) -> Html:
    rows = [claim_row(one, is_imported=node["is_imported"]) for one in claims[:MOST_CLAIMS]]
    more = len(claims) - len(rows)
    return element(
        "div",
        element("p", element("strong", title)),
        dots(rows),
        soft(f"And {more} more, on the page of the step.") if more else None,
    )
