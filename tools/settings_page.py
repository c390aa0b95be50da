"""docs/reference/settings.md: every setting of both `config.json` files, and every environment variable."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from typing import Any, get_args, get_origin

import msgspec

from handrail.host import settings
from tools.commands.rows import GLOBAL_FLAGS
from tools.page_parts import page, table

LIST_OF = {
    "roots": "absolute paths",
    "keptSessions": "ids",
    "command": "words",
    "narrow": "words",
    "prepare": "words",
    "kinds": "kinds",
    "links": "relative paths",
    "tests": "patterns",
    "inherits": "names",
}
"""What the items of each list are, by the last part of its name; a schema does not say it."""
UNSAID_DEFAULTS = {
    "output.format": "json",
    "output.envelope": "cli",
    "preferences.autonomy": "guided",
    "preferences.riskPolicy": "conservative",
}
"""What holds where a file leaves it out and the field itself stays empty."""
_LINK = re.compile(r"; \[[^\]]*\]\([^)]*\)")
"""Where a page says more: there is none beside the packed texts."""
USER, PROJECT = settings.USER_FILE, settings.PROJECT_FILE

WORKFLOW_SETTINGS = {
    "workflowSources": (
        "list of objects, up to 50",
        "Repositories of workflows, each at a commit; [how](../how-to/use-workflows-from-elsewhere.md).",
    ),
    "plugins": ("list of names, up to 50", "Installed packages that offer workflows."),
    "workflowDirectories": (
        "list of paths, up to 50",
        "More directories of workflows, inside the project and relative to it.",
    ),
}
"""What `host/workflow_sources` reads; it is lenient and has no struct to read types from."""

ENVIRONMENT_ONLY = {
    "HANDRAIL_HOME": "Where all state lives, `~/.handrail` by default.",
    "HANDRAIL_WORK": "The work token of the child run that the caller works on; checks, hooks and "
    "`code status` use it; [how](../how-to/delegate-work.md).",
    "HANDRAIL_WORKER": "What the caller is called among helpers, as with `--worker`; "
    "[how](../how-to/delegate-work.md).",
    "HANDRAIL_STORE": "A PostgreSQL database in place of files, `postgresql://…`; "
    "[how](../how-to/use-a-postgresql-store.md).",
    "HANDRAIL_SERVER": "The server of a team, for every project of this process, with `HANDRAIL_TOKEN`; "
    "[how](../how-to/connect-an-agent-to-a-team.md).",
    "HANDRAIL_TOKEN": "The token of an agent for that server, in place of `handrail login`.",
    "HANDRAIL_ORIGIN": "Read by the files in `deploy/` alone: the address that a team opens; "
    "[how](../how-to/deploy-a-team-server.md).",
    "HANDRAIL_CLIENT_SECRET": "What a server of a team shows its identity provider; with `--client-id`.",
    "HANDRAIL_CASES": "Set by Handrail for test runners in a copy of the project; never set it yourself.",
    "HANDRAIL_MAX_EFFECT": "The permission ceiling: read, write or dangerous. It can only lower the setting.",
    "AI_NATIVE_CLI_SECRET": "A secret that signs tokens, in place of the key file: 16 bytes of text or more, "
    "or `base64:…`. The CLI specification names this variable.",
}
NOT_OURS = {
    "HOME": "Where `~` is: the default home, the files of agent clients, the skill.",
    "PATH": "Where `git`, package managers and the commands of agent clients are looked for.",
    "USER": "The account, in audit lines and request ids; without it `USERNAME`, then the user's number.",
    "USERNAME": "As `USER`.",
    "OTEL_*": "Where `handrail serve` sends telemetry, with `handrail[otel]`; "
    "`OTEL_EXPORTER_OTLP_ENDPOINT` switches it on, `OTEL_SDK_DISABLED=true` off.",
    "COLUMNS": "How wide the terminal is, for text.",
    "CODEX_HOME": "Where Codex keeps its file, for `setup`; `~/.codex` by default.",
    "XDG_CONFIG_HOME": "Where VS Code and Zed keep their files, for `setup`.",
    "XDG_CACHE_HOME": "Where checks run in copies of a project; `~/.cache` by default, "
    "on macOS `~/Library/Caches`.",
    "VIRTUAL_ENV": "Where `uv run` keeps the program, for commands that are printed.",
    "UV_*": "Of uv: where it keeps its cache and its interpreters, for checks in copies of a project.",
}
"""Read, but set by others for their own purposes; a star stands for the rest of a name."""


def settings_page() -> str:
    """The whole page."""
    return page(
        "# Settings",
        "What can be set once instead of with every call.\n"
        "`handrail settings show` shows what is in force, and where each value comes from.\n"
        "`handrail doctor --checks settings` names what is wrong, and what nothing reads.",
        f"## Of the user\n\n`{USER}` in the [Handrail home](home.md), one JSON object.\n"
        "No file means the defaults; a file with a wrong value is refused with `E_CONFIG`, never half used.",
        table(("setting", "value", "default", "what"), _rows("_UserFile", USER)),
        f"## Of a project\n\n`{PROJECT}` in the project.\n"
        "It comes with a checkout, so it may only set how answers look, where workflows are inside the "
        "project, its name, and which [checks](../how-to/let-a-run-see-your-tests.md) there are.\n"
        "It may also be stricter than its user: keep no files, or want the approval of a person.\n"
        "If both set the same, the project beats the user.",
        table(("setting", "value", "default", "what"), _rows("_ProjectFile", PROJECT)),
        "## Environment\n\nAn empty variable counts as not set.\n"
        "A flag beats the environment, the environment beats the settings of the project, and those beat the "
        "settings of the user.",
        table(("variable", "what"), _variable_rows()),
        "These belong to others, and Handrail reads them too:",
        table(("variable", "what"), ([f"`{name}`", text] for name, text in NOT_OURS.items())),
    )


def packed_settings() -> list[dict[str, Any]]:
    """The same rows for `settings show`: one for each name, with whose files may set it."""
    found: dict[str, dict[str, Any]] = {}
    for struct, file, whose in (("_UserFile", USER, "user"), ("_ProjectFile", PROJECT, "project")):
        defaults = dict(_defaults(getattr(settings, struct), ""))
        for name, takes, _, text in _rows(struct, file):
            plain = name.strip("`")
            if ".NAME." in plain:
                continue  # they stand with the check that has them
            default = defaults.get(plain, UNSAID_DEFAULTS.get(plain))
            told: dict[str, Any] = {
                "name": plain,
                "of": [],
                "takes": takes.replace("`", ""),
                "default": default,
                "text": text,
            }
            found.setdefault(plain, told)["of"].append(whose)
    return [{**one, "text": _LINK.sub("", one["text"]).replace("`", "")} for one in found.values()]


def _defaults(struct: type[msgspec.Struct], prefix: str) -> Iterator[tuple[str, Any]]:
    for field in msgspec.structs.fields(struct):
        name = prefix + field.encode_name
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from _defaults(field.type, name + ".")
        elif field.default not in ("", None, (), msgspec.NODEFAULT):
            yield name, msgspec.to_builtins(field.default)


def documented_variables() -> set[str]:
    """Every variable on the page; a star stands for the rest of a name."""
    flags = {one.environment for one in GLOBAL_FLAGS if one.environment}
    return flags | set(ENVIRONMENT_ONLY) | set(NOT_OURS)


def _variable_rows() -> list[list[str]]:
    flags = [[f"`{one.environment}`", f"`{one.flag}`: {one.text}"] for one in GLOBAL_FLAGS if one.environment]
    return sorted([*flags, *([f"`{name}`", text] for name, text in ENVIRONMENT_ONLY.items())])


def _rows(struct: str, file: str) -> list[list[str]]:
    own = list(_struct_rows(getattr(settings, struct), ""))
    told = {name: WORKFLOW_SETTINGS[name] for name in settings.WORKFLOW_KEYS[file]}
    return [*own, *([f"`{name}`", value, "none", text] for name, (value, text) in told.items())]


def _struct_rows(struct: type[msgspec.Struct], prefix: str) -> Iterator[list[str]]:
    texts = _texts(struct)
    schema = msgspec.json.schema_components([struct])[1][struct.__name__]["properties"]
    for field in msgspec.structs.fields(struct):
        name = prefix + field.encode_name
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from _struct_rows(field.type, name + ".")
        else:
            assert field.name in texts, f"{struct.__name__}.{field.name}: say below it what it does"
            facts = schema[field.encode_name]
            yield [f"`{name}`", _value(name, facts), _default(facts), texts[field.name]]
            yield from _inner_rows(field.type, name)


def _inner_rows(kind: Any, name: str) -> Iterator[list[str]]:
    """The settings of objects that stand under names of their own, or that may be left out."""
    for part in get_args(kind):
        if isinstance(part, type) and issubclass(part, msgspec.Struct):
            yield from _struct_rows(part, f"{name}.NAME." if get_origin(kind) is dict else f"{name}.")
        else:
            yield from _inner_rows(part, name)


def _texts(struct: type[msgspec.Struct]) -> dict[str, str]:
    """What stands below each field of a struct; Python itself throws it away."""
    (found,) = ast.parse(inspect.getsource(struct)).body
    assert isinstance(found, ast.ClassDef), "a struct is a class"
    texts = {}
    for line, below in zip(found.body, found.body[1:], strict=False):
        named = isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.target.id
        if named and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            texts[named] = " ".join(str(below.value.value).split())
    return texts


def _value(name: str, facts: dict[str, Any]) -> str:
    if "enum" in facts:
        return " or ".join(f"`{one}`" for one in facts["enum"] if one)
    if "anyOf" in facts:
        return " or ".join(_value(name, one) for one in facts["anyOf"] if one.get("type") != "null")
    if "$ref" in facts:
        return "object"
    match facts["type"]:
        case "object":
            items = "objects" if "$ref" in facts["additionalProperties"] else "texts"
            return f"{items} by name, up to {facts['maxProperties']}"
        case "boolean":
            return "`true` or `false`"
        case "integer":
            return f"{facts['minimum']} to {facts['maximum']}"
        case "array":
            return f"list of {LIST_OF[name.rpartition('.')[2]]}, up to {facts['maxItems']}"
        case _:
            return f"text, up to {facts['maxLength']} characters"


def _default(facts: dict[str, Any]) -> str:
    default = facts.get("default")
    return "none" if default in ("", None, [], (), {}) else f"`{msgspec.json.encode(default).decode()}`"
