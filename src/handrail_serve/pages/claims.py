"""What a report claims, in its own words, and how each claim is known. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from handrail.projections.evidence import PROOF, WORTH_WORDS
from handrail.projections.html.elements import Child, Html, element
from handrail.projections.plain_words import HEADLINES, spell_name
from handrail_serve.pages.parts import Payload, cut, evidence_badge

MOST_CLAIMS = 8
"""Of each kind that a card names."""
_OWN_CHECKS = {"person": "A person confirms this step", "notes": "The notes"}


def spell_kind(kind: str) -> str:
    """`wr.loop_control` → `Loop control`."""
    return spell_name(kind.rpartition(".")[2])


def place_words(claim: Payload) -> str:
    """Where in a report a claim stands, in words: `Findings 2, path`."""
    if not claim["contract_ref"]:
        return _OWN_CHECKS.get(claim["check"], "The report")
    words: list[str] = []
    for key in filter(None, claim["pointer"].split("/")):
        if key.isdigit() and words:
            words[-1] += f" {int(key) + 1}"
        else:
            words.append(spell_name(key) if not words else spell_name(key).lower())
    return ", ".join(words) or spell_kind(claim["contract_ref"])


def claim_text(claim: Payload, artifacts: Sequence[Payload]) -> str:
    """What the claim says: the text that stands at its place in the report."""
    held = [one for one in artifacts if one["contract_ref"] == claim["contract_ref"]] or artifacts[:1]
    if not claim["contract_ref"] or not held:
        return _OWN_CHECKS.get(claim["check"], "The report")
    keys = [part.replace("~1", "/").replace("~0", "~") for part in claim["pointer"].split("/") if part]
    kind = spell_kind(held[0]["kind"])
    if not keys:
        return f"{kind} as a whole"
    name = next((key for key in reversed(keys) if not key.isdigit()), "")
    if not name:
        return kind
    said, value = _headline(held[0]["body"], keys), _read(held[0]["body"], keys)
    if said and said != value:
        return f"{cut(said)} ({cut(value)})"
    return cut(value if said else f"{spell_name(name)}: {value}")


def _headline(body: Any, keys: Sequence[str]) -> str:
    """The sentence that a place in a list belongs to: what is claimed, where only its proof is named."""
    for key in keys:
        if isinstance(body, dict) and isinstance(body.get("claim"), str):
            return str(body["claim"])
        if isinstance(body, list) and key.isdigit() and int(key) < len(body):
            body = body[int(key)]
        elif isinstance(body, dict):
            body = body.get(key)
    return ""


def _read(body: Any, keys: Iterable[str]) -> str:
    """The value at a place in a few words; what is no longer there is not told."""
    for key in keys:
        if isinstance(body, list) and key.isdigit() and int(key) < len(body):
            body = body[int(key)]
        elif isinstance(body, dict) and key in body:
            body = body[key]
        else:
            return "…"
    if isinstance(body, dict):
        named = (body[name] for name in HEADLINES if isinstance(body.get(name), str))
        return next(named, ", ".join(str(one) for one in body.values() if isinstance(one, str)))
    return ", ".join(map(str, body)) if isinstance(body, list) else str(body)


def is_seen(claim: Payload) -> bool:
    """Whether somebody else than the agent has seen that it is so; that a place exists is no proof."""
    return bool(claim["verdict"] == "holds" and claim["level"] in PROOF)


def claim_row(claim: Payload, artifacts: Sequence[Payload], *, is_imported: bool) -> Html:
    """The claim, and beside it how it is known; below it, what that word leaves out."""
    more = claim["told"].removeprefix(WORTH_WORDS.get(claim["level"], "")).removeprefix(": ")
    return element(
        "li",
        element("span", claim_text(claim, artifacts), dir="auto"),
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
        return element("p", told, class_="small soft") if node["notes"] or node["artifacts"] else None
    return element(
        "div",
        _side("Proven", seen, node) if seen else None,
        _side("On the agent's word", word, node) if word else None,
        class_="stack tight",
    )


def _side(title: str, claims: Sequence[Payload], node: Payload) -> Html:
    rows = [
        claim_row(one, node["artifacts"], is_imported=node["is_imported"]) for one in claims[:MOST_CLAIMS]
    ]
    more = len(claims) - len(rows)
    return element(
        "div",
        element("p", element("strong", title)),
        element("ul", *rows, class_="facts dots"),
        element("p", f"And {more} more, on the page of the step.", class_="small soft") if more else None,
    )
