"""The page on which a person lets a machine in that runs `handrail login`; a server with accounts has it."""

from __future__ import annotations

from handrail.projections.html.elements import Html, element
from handrail_serve.pages.parts import head, json_text, page
from handrail_serve.view_parts import Call, Page, Query, View, payload


def show_machine(call: Call, segments: tuple[str, ...], _: Query) -> View:
    """Which machine shows this code, and the button that lets it in."""
    (code,) = segments
    asking = payload(call, "team.admit", {"code": code, "show": True})
    return View(title="Let a machine in", html=_draw(str(asking["machine"]), code))


def _draw(machine: str, code: str) -> Html:
    told = f"The machine {machine} shows the code {code} and asks to work as an agent of yours."
    means = (
        "Let it in only if you started this yourself just now. Its agent then works in this workspace "
        "under your name; it never confirms, invites or deletes, and you end its token at any time."
    )
    button = element("button", "Let it in", type="submit", class_="button main")
    form = element(
        "form",
        element("p", means, class_="small"),
        element("div", button, class_="cluster"),
        element("p", id="let-in"),
        class_="stack tight",
        data_operation="team.admit",
        data_input=json_text({"code": code}),
        data_answer="#let-in",
        data_answer_field="next",
    )
    return page(head("Let a machine in"), element("p", told), form)


MACHINE_PAGES: tuple[Page, ...] = (Page(pattern="/machines/*", show=show_machine),)
