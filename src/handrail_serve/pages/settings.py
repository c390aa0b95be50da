"""Settings and preferences: what is asked for, what is in force, and what has to start again. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from handrail.contract.outcome import Json
from handrail.projections.html.elements import Child, Html, element
from handrail.views.checks import CheckRow
from handrail.views.preferences import Choice, Preset, ShownPreferences
from handrail.views.settings import Context, ProblemRow, ServerRow, SettingRow, ShownSettings
from handrail_serve.pages.parts import (
    acts,
    badge,
    button,
    cluster,
    count,
    details,
    dots,
    facts,
    format_json,
    head,
    meta,
    moment,
    mono,
    notice,
    page,
    panel,
    points,
    reveal,
    section,
    select,
    session_crumbs,
    soft,
    text_field,
    under,
)

_SOURCES = {
    "default": ("default", ""),
    "user": ("your file", ""),
    "project": ("the project", ""),
    "environment": ("environment", "busy"),
}


def settings_page(
    settings: ShownSettings,
    preferences: ShownPreferences,
    context: Context,
    checks: Sequence[CheckRow],
    meaning: str,
) -> Html:
    """`settings` is of self.settings, `preferences` of preferences.show, `context` of self.context, `checks`
    of check.list; `meaning` says what an approval lets happen."""
    return page(
        head(
            "Settings",
            meta(f"Handrail {context.version}", f"account {context.account}"),
        ),
        _problems(settings.problems),
        preferences_form(preferences),
        _checks(checks, meaning) if checks else None,
        _settings(settings),
        _servers(settings.servers),
        panel(
            "Where things are",
            facts(
                [
                    ("Project", mono(settings.project)),
                    ("Home", mono(context.config.home)),
                    ("Store", mono(context.config.store)),
                    ("Your file", mono(settings.user_file)),
                    ("The project's file", mono(settings.project_file)),
                ]
            ),
            soft("What is set here goes into your file; the project's file is edited with the project."),
            class_="stack tight",
        ),
    )


def session_preferences_page(preferences: ShownPreferences, goal: str) -> Html:
    """The preferences of one session. `preferences` is of preferences.show."""
    session_id = preferences.session_id or ""
    return page(
        head("Preferences of the session", crumbs=session_crumbs(session_id, goal)),
        preferences_form(preferences),
    )


def _problems(problems: Sequence[ProblemRow]) -> Child:
    if not problems:
        return None
    return notice(
        "bad",
        element("p", "Something in the settings cannot be used:"),
        points([f"{one.message} {one.fix}" for one in problems]),
    )


# Preferences: presets first, then each value by itself


def preferences_form(held: ShownPreferences) -> Html:
    """How far agents may go: of new sessions, or of one."""
    where = {"session": held.session_id} if held.session_id else {}
    title = "In this session" if where else "In new sessions"
    return panel(
        f"How far agents may go: {title.lower()}",
        element(
            "p",
            _in_words(held),
            " ",
            element("span", held.takes_effect, class_="soft"),
        ),
        element(
            "div",
            *(_preset(one, held, where) for one in held.presets),
            class_="strip",
            role="group",
            aria_label="Presets",
        ),
        details(
            "Each by itself",
            element(
                "form",
                _choice("autonomy", "Autonomy", held.choices.autonomy, held.autonomy),
                _choice("riskPolicy", "Risk", held.choices.risk_policy, held.risk_policy),
                button("Set these two"),
                class_="toolbar",
                **acts("preferences.set", where, title="Set the preferences?", word="Set them", done="Set."),
            ),
        ),
        class_="stack",
        id_="preferences",
    )


def _in_words(held: ShownPreferences) -> Html:
    label = next((one.label for one in held.presets if one.id == held.preset), "")
    chosen = {"user": "chosen", "run": "set when the present run was started", "default": "by default"}
    name = element("strong", label or f"{held.autonomy}, {held.risk_policy}")
    base = held.new_runs
    later = f" New runs here begin with {base.autonomy}, {base.risk_policy}."
    return element("span", "Now ", name, f", {chosen[held.source]}.", later if held.source == "run" else None)


def _preset(preset: Preset, held: ShownPreferences, where: Mapping[str, str]) -> Html:
    is_on = preset.id == held.preset
    return element(
        "div",
        element("h3", preset.label),
        element("p", preset.text),
        soft(_in_labels(preset, held)),
        cluster(badge("in force", "good", "done") if is_on else _use(preset, where)),
        class_="panel stack tight",
    )


def _in_labels(preset: Preset, held: ShownPreferences) -> str:
    """The two values by the names that people see."""
    choices = held.choices
    named = {one.id: one.label for one in (*choices.autonomy, *choices.risk_policy)}
    return f"{named[preset.autonomy]}, {named[preset.risk_policy].lower()} risk"


def _use(preset: Preset, where: Mapping[str, str]) -> Html:
    word, asked = f"Use {preset.label}", {**where, "preset": preset.id}
    call = acts("preferences.set", asked, title=f"{word}?", word="Use it", done="Set.")
    return element("button", word, type="button", class_="button", **call)


def _choice(name: str, label: str, choices: Sequence[Choice], held: str) -> Html:
    options = [(one.id, f"{one.label}: {one.text}") for one in choices]
    return select(name, label, options, held, class_="field grow")


# Checks that Handrail may run itself


def _checks(checks: Sequence[CheckRow], meaning: str) -> Html:
    rows = [
        element(
            "li",
            element(
                "div",
                element("strong", one.name),
                under(one.description) if one.description else None,
                under(mono(one.line)),
                under(_limits(one)),
                _decide(one, meaning),
            ),
            element(
                "span",
                badge("Handrail runs it", "good") if one.is_approved else badge("only by name"),
                class_="aside cluster",
            ),
            data_key=one.name,
        )
        for one in checks
    ]
    return section("Checks of this project", element("ul", *rows, class_="rows two"), id_="checks")


def _limits(one: CheckRow) -> str:
    report = f", report {one.report}" if one.report else ""
    return f"in {one.directory}, at most {one.timeout_seconds} s{report}"


def _decide(one: CheckRow, meaning: str) -> Html:
    """A yes names the digest of the declaration that this page shows, and is about nothing else."""
    if one.is_approved:
        back = acts(
            "check.approve",
            {"name": one.name, "withdraw": True},
            done="Taken back: it runs only by name.",
        )
        return element("form", button("Take it back"), class_="toolbar", **back)
    form = element(
        "form",
        element("p", meaning, class_="small"),
        button(f"Yes, run {one.name} without asking", "main"),
        class_="stack tight",
        **acts(
            "check.approve",
            {"name": one.name, "digest": one.digest},
            done="Approved: Handrail runs it when a report needs it.",
        ),
    )
    return reveal("Let Handrail run it", form)


# Settings and servers


def _settings(settings: ShownSettings) -> Html:
    rows = [
        element(
            "li",
            element(
                "div",
                mono(one.name),
                under(one.text),
                under(
                    element("span", "in force: ", _value(one.applied, "nothing")),
                    element("span", "set to: ", _value(one.desired, "")) if _waits(one) else None,
                    element("span", f"a change counts {one.takes_effect}"),
                ),
                _list_roots(one) if one.name == "roots" else None,
                _change(one) if "user" in one.of and one.name != "roots" else None,
            ),
            element(
                "span",
                badge("restart needed", "warn", "gap") if one.restart_needed else None,
                _source(one.source),
                class_="aside cluster",
            ),
            data_key=one.name,
        )
        for one in settings.settings
    ]
    return section("Every setting", element("ul", *rows, class_="rows two"))


def _waits(one: SettingRow) -> bool:
    """Whether something is set that is not in force yet."""
    return one.desired is not None and one.desired != one.applied


def _change(one: SettingRow) -> Html:
    """The value of the user's own file, shown before it is set as everywhere else."""
    held = "" if one.desired is None or one.source == "project" else one.desired
    shown = held if isinstance(held, str) else format_json(held)
    form = element(
        "form",
        text_field(f"{one.takes}; null goes back to the default", "value", value=shown, class_="field grow"),
        button("Set it"),
        class_="toolbar",
        **acts("settings.set", {"key": one.name}, title=f"Set {one.name}?", word="Set it", done="Set."),
    )
    return reveal("Change it", form)


def _list_roots(one: SettingRow) -> Html:
    """The folders that servers may work in: each can be removed, and one can be added."""
    held = one.desired or []
    rows = [
        element("li", mono(folder), " ", _remove_root(folder, [other for other in held if other != folder]))
        for folder in held
    ]
    form = element(
        "form",
        text_field(
            "Add a folder (absolute, or beginning with ~/)",
            "value",
            class_="field grow",
            data_type="appended",
            data_held=format_json(held),
        ),
        button("Add it"),
        class_="toolbar",
        **acts("settings.set", {"key": "roots"}, title="Add the folder?", word="Add it", done="Added."),
    )
    return element("div", dots(rows) if rows else None, form, class_="stack tight", id="roots")


def _remove_root(folder: str, rest: Sequence[str]) -> Html:
    given = {"key": "roots", "value": format_json(rest)}
    call = acts("settings.set", given, title="Remove the folder?", word="Remove it", done="Removed.")
    label = f"Remove {folder}"
    return element("button", "Remove", type="button", class_="button plain", aria_label=label, **call)


def _value(value: Json, nothing: str) -> Html:
    if value is None or value == []:
        return element("span", nothing, class_="soft")
    return mono(value if isinstance(value, str) else format_json(value))


def _source(source: str) -> Html:
    word, look = _SOURCES[source]
    return badge(word, look)


def _servers(servers: Sequence[ServerRow]) -> Html:
    if not servers:
        return panel(
            "MCP servers that run now",
            element("p", "None. An agent's client starts one when it needs it.", class_="soft"),
        )
    rows = [
        element(
            "li",
            element(
                "div",
                element("span", f"process {one.pid}, by {one.transport}"),
                under(
                    element("span", f"version {one.version}"),
                    element("span", one.project, dir="auto"),
                    element("span", "since ", moment(one.started_at)),
                ),
                under(count(len(one.tools), "tool"), ": ", ", ".join(one.tools)),
            ),
            element(
                "span",
                badge("restart needed", "warn", "gap") if one.restart_needed else None,
                class_="aside",
            ),
        )
        for one in servers
    ]
    return section("MCP servers that run now", element("ul", *rows, class_="rows two"))
