"""The page of a team: who belongs to it, which tokens there are, and what was changed by whom. Pure.

What the one who looks may not do is not on the page; the server refuses it as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from handrail.contract.accounts import ROLES
from handrail.contract.outcome import Json
from handrail.projections.html.elements import Child, Html, element, join_html
from handrail.views.team import AuditRow, MemberList, MemberRow, TokenRow, WorkspaceRow
from handrail_serve.pages.parts import (
    acts,
    ago,
    badge,
    button,
    cells,
    cluster,
    empty,
    head,
    meta,
    mono,
    page,
    panel,
    reveal,
    select,
    soft,
    table,
    text_field,
)

_WHAT = {
    "viewer": "may see everything in the workspace",
    "member": "may also work, and confirm steps",
    "admin": "may also invite, remove and delete",
    "owner": "may also rotate keys and make owners",
}
_STATES = {"good": "good", "revoked": "bad", "expired": "warn"}
_LONGEST = 128


def no_team_page() -> Html:
    """Where there are no accounts."""
    return page(
        head("Team"),
        empty(
            "This server has no accounts",
            element("p", "It belongs to whoever started it. A team has a server of its own:"),
            element("pre", "handrail serve --team --store URI --origin URL"),
        ),
    )


def team_page(
    about: MemberList,
    members: Sequence[MemberRow],
    tokens: Sequence[TokenRow],
    audit: Sequence[AuditRow] | None,
    workspaces: Sequence[WorkspaceRow],
) -> Html:
    """Return the page; `audit` is None for a reader who may not see it."""
    role = about.my_role
    return page(
        head(
            about.workspace,
            meta(f"you are {role} here"),
            beside=element("button", "Sign out", type="button", class_="button", data_leave=True),
        ),
        _elsewhere(workspaces),
        _members(members, role),
        _tokens(tokens, can_make=_rank(role) >= _rank("member")),
        None if audit is None else _audit(audit),
    )


def _rank(role: str) -> int:
    return ROLES.index(role) if role in ROLES else -1


def _elsewhere(workspaces: Sequence[WorkspaceRow]) -> Child:
    others = [one for one in workspaces if not one.is_here]
    if not others:
        return None
    return panel(
        "Your other workspaces",
        cluster(
            *(
                element("button", one.name, type="button", class_="button", data_enter=one.id)
                for one in others
            )
        ),
    )


def _members(members: Sequence[MemberRow], role: str) -> Html:
    can_change = _rank(role) >= _rank("admin")
    given = [one for one in ROLES if _rank(one) <= _rank(role)]
    rows = [
        cells(
            join_html(one.name, " (you)" if one.is_me else None),
            one.role,
            badge(one.state, "good" if one.state == "member" else ""),
            ago(one.since),
            _change_member(one, given) if can_change else None,
        )
        for one in members
    ]
    return panel(
        "Members",
        table(("Name", "Role", "State", "Since", "Change"), rows, "Members of this workspace"),
        _invite(given) if can_change else None,
        class_="stack",
        id_="members",
    )


def _change_member(one: MemberRow, given: Sequence[str]) -> Html:
    if one.state == "invited":
        return _gated("team.revoke_token", {"token": one.id}, "Withdraw", "Withdraw the invitation?")
    about = {"member": one.id}
    roles = [
        _gated("team.set_member", {**about, "role": role}, f"Make {role}", f"Make {one.name} {role}?")
        for role in given
        if role != one.role
    ]
    gone = _gated("team.set_member", {**about, "remove": True}, "Remove", f"Remove {one.name}?")
    reset = _form(
        "team.reset",
        about,
        "Make a link to a new passphrase",
        "link",
        "For who forgot theirs: whoever opens the link becomes this person, once. It is shown here and never "
        "again. Who is in other workspaces too is reset by the operator.",
    )
    return reveal("Change", cluster(*roles, gone), reset if one.role in given else None)


def _invite(given: Sequence[str]) -> Html:
    return _form(
        "team.invite",
        {},
        "Invite",
        "link",
        "Whoever opens the link joins, once, within seven days. It is shown here and never again.",
        text_field("Who", "name", longest=_LONGEST),
        select("role", "As", ((role, f"{role}: {_WHAT[role]}") for role in given), "member"),
    )


def _tokens(tokens: Sequence[TokenRow], *, can_make: bool) -> Html:
    rows = [
        cells(
            one.name or "a page",
            one.owner,
            one.machine,
            one.scopes if one.kind == "agent" else "signed in",
            badge(one.state, _STATES.get(one.state, "")),
            ago(one.used_at) if one.used_at else "never used",
            _gated("team.revoke_token", {"token": one.id}, "Revoke", "Revoke it?")
            if one.state == "good" and (can_make or one.is_mine)
            else None,
        )
        for one in tokens
    ]
    make = _form(
        "team.new_token",
        {},
        "Make a token",
        "bearer",
        "An agent of yours works with it: HANDRAIL_TOKEN, or `Authorization: Bearer` at /mcp. It never "
        "confirms, invites or deletes. It is shown here and never again.",
        text_field("What the agent is called", "name", longest=_LONGEST),
        text_field("On which machine", "machine", is_required=False, longest=_LONGEST),
    )
    return panel(
        "Agents and pages",
        table(
            ("Name", "Of", "Machine", "May", "State", "Last used", "End"), rows, "Tokens of this workspace"
        ),
        make if can_make else None,
        class_="stack",
        id_="tokens",
    )


def _audit(audit: Sequence[AuditRow]) -> Html:
    rows = [
        cells(
            ago(one.at),
            one.who,
            mono(one.command),
            one.about,
            one.code or ("shown only" if one.is_dry_run else "done"),
        )
        for one in audit
    ]
    return panel(
        "What was changed",
        table(("When", "Who", "What", "With", "Result"), rows, "The newest changes and refusals")
        if rows
        else element("p", "Nothing yet.", class_="soft"),
        id_="audit",
    )


def _gated(operation: str, given: Mapping[str, Json], word: str, title: str) -> Html:
    call = acts(operation, given, title=title, word=word, done="Done.")
    return element("button", word, type="button", class_="button plain", **call)


def _form(
    operation: str, given: Mapping[str, Json], word: str, field: str, text: str, *fields: Child
) -> Html:
    spot = "-".join(("told", *operation.split("."), *map(str, given.values())))
    return element(
        "form",
        soft(text),
        *fields,
        cluster(button(word, "main")),
        element("pre", id=spot, class_="tall", tabindex="0"),
        class_="stack tight",
        **acts(operation, given, title=f"{word}?", word=word, answer=f"#{spot}", answer_field=field),
    )
