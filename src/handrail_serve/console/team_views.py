"""The page of a team: which operations it asks."""

from __future__ import annotations

from handrail.contract.catalogue import E_CONFIG, FEATURE_DISABLED
from handrail.contract.outcome import Failure
from handrail_serve.pages.team import no_team_page, team_page
from handrail_serve.view_parts import Call, Page, Query, View, payload, payload_or_none


def show_team(call: Call, _: tuple[str, ...], query: Query) -> View:
    """Members, tokens and audit; or that there is no team here."""
    del query
    found = call("team.members", {})
    if isinstance(found, Failure) and found.kind in (FEATURE_DISABLED, E_CONFIG):
        return View(title="Team", html=no_team_page())
    members = payload(lambda *_: found, "team.members", {})
    tokens = payload(call, "team.tokens", {})
    audit = payload_or_none(call, "team.audit", {"limit": 50})
    workspaces = payload(call, "team.workspaces", {})
    return View(title=members["workspace"], html=team_page(members, tokens, audit, workspaces))


TEAM_PAGES: tuple[Page, ...] = (Page(pattern="/team", show=show_team),)
