"""docs/reference/http.md: every address of the HTTP server, from its route table and the registry."""

from __future__ import annotations

from typing import NoReturn, cast

import msgspec

from handrail.contract.catalogue import KINDS
from handrail.wiring import build_runtime, registry
from handrail_serve.accounts.service import AccountService
from handrail_serve.api import PREFIX, methods_of, why_not_served
from handrail_serve.app import App, Parts
from handrail_serve.calls import LAFS_TYPE
from handrail_serve.endpoints.lafs import A2A, PROTOCOL_VERSION
from handrail_serve.exchange import Route
from handrail_serve.guard import ALWAYS, loopback_identity
from handrail_serve.serving import DEFAULT_PORT
from tools.page_parts import page, table

_INTRO = f"""Every address that `handrail serve` answers, who may ask, and what comes back.
The server listens on loopback, on port {DEFAULT_PORT} unless `--port` says otherwise.
[Open the Console, and run the server](../how-to/run-the-server.md) shows how to start and reach it."""

_CHECKS = (
    ("only HTTP; a WebSocket is closed", ""),
    ("exactly one `Host`: 127.0.0.1, localhost or [::1], with our port", "HOST_REFUSED"),
    ("at most one `Origin`: ours, with scheme and port; `null` is foreign", "ORIGIN_REFUSED"),
    (
        "`Sec-Fetch-Site` absent, `none` or `same-origin`; else only a link to a page without data",
        "ORIGIN_REFUSED",
    ),
    ("the token, as `Authorization: Bearer TOKEN`, where the address needs it", "E_AUTH"),
    ("a method that the address takes", "METHOD_NOT_ALLOWED"),
    ("`Content-Type: application/json` with POST", "MEDIA_TYPE_REFUSED"),
    ("an address and headers within their limits", "REQUEST_TOO_LARGE"),
    ("a server that takes new work", "SERVER_DRAINING"),
    ("room for one more request", "SERVER_BUSY"),
)

_INPUT = f"""## Input and answers

Only what reads can be fetched: `GET {PREFIX}session.list?limit=5&status=blocked`.
Each parameter is a field of the operation's input; a list repeats its name.
Everything can be posted, as a JSON object with the same fields; in the \
repository, `python tools/generate.py --schemas DIRECTORY` writes their JSON Schemas.
Names that begin with an underscore say how to answer, in the query or in the body:

| name | in a query | in a body |
| --- | --- | --- |
| `_fields` | `_fields=goal,status` | `["goal", "status"]` |
| `_expand` | `_expand=a,b` | `["a", "b"]` |
| `_mvi` | `_mvi=minimal` | `"minimal"`, `"standard"` or `"full"` |
| `_budget` | `_budget=tokens=500,items=5` | `{{"maxTokens": 500, "maxBytes": 9000, "maxItems": 5}}` |

A success is the document of the command line, `{{"ok": true, "data": …}}`.
A failure is problem details (RFC 9457) with the code, the hint and, where there is one, the corrected \
call in `details.next_call`.
Its `type` is the address of a registered code of LAFS; with 401, 403 and 421, for which there is none, \
it is `about:blank`.
With `Accept: {LAFS_TYPE.decode()}` both are LAFS envelopes; what is refused before an operation runs \
stays problem details.

A creation needs its `requestId`; without it the refusal offers the call with one.
A change that needs a confirm token is posted with `dryRun`, then with the `confirm_token` of that answer \
as `confirm`; what destroys something also needs `dangerous`, both times.
An answer that a person must give counts only from a page of the Console, which the browser says with \
`Sec-Fetch-Site: same-origin`."""

_FEED = """## The feed

`GET /api/feed?cursor=CURSOR` is an event stream of what changed; a page says where its feed begins in \
`X-Handrail-Cursor`.

| event | data |
| --- | --- |
| `change` | `{"sessionId", "head", "cursor"}`: the session has another head; an empty head means that \
it is gone |
| `reset` | `{"cursor"}`: the cursor is not known here; read everything again |
| `bye` | `{"cursor"}`: the server stops |

The last cursor is where a later call goes on.
A comment comes when nothing else does, so that both sides see that the other is there."""


_HEALTH = """## Health

| address | says |
| --- | --- |
| `/health/live` | `pass` while the process answers |
| `/health/ready` | `pass`, `warn` or `fail`; 503 for `fail`, also while the server drains |
| `/health` | `{"status", "checks": [{"check", "status", "fix"}]}`: the checks of `doctor` that matter here, \
`server`, and `upstream HOST` for each host that the server has asked, a warning while it does not answer |"""

_A2A = f"""## Calls by A2A

Where `handrail[a2a]` is installed, `POST {A2A}` takes JSON-RPC of A2A {PROTOCOL_VERSION} (header \
`A2A-Version: {PROTOCOL_VERSION}`): `SendMessage`, `GetTask`, `ListTasks`.
A message has one data part, `{{"operation": "session.list", "input": {{…}}}}`; names that begin with an \
underscore go into the input.
Each call is one task, and its artifact `lafs_response` holds the LAFS envelope.

| state | when |
| --- | --- |
| completed | the operation succeeded |
| input-required | the step is blocked; a message to this task answers it |
| auth-required | the operation asks for a login |
| rejected | the card does not name the operation |
| failed | everything else |

Nothing streams, nothing is pushed, and an ended task cannot be cancelled; the card claims none of these."""


def http_page() -> str:
    """The whole page."""
    return page(
        "# The HTTP server",
        _INTRO,
        _addresses(),
        _checks(),
        _INPUT,
        _operations(),
        _FEED,
        _A2A,
        _HEALTH,
        "[Limits](limits.md#http) has the limits, and [errors](errors.md) every code with its status.",
    )


def _serve_nothing(_: object, __: bytes, ___: object) -> NoReturn:
    raise AssertionError("a page serves nothing")


def _addresses() -> str:
    identity = loopback_identity(DEFAULT_PORT, "token")
    parts = Parts(runtime=build_runtime({}), identity=identity, answer_mcp=_serve_nothing)
    app = App(parts)
    operations = {PREFIX + called.name for called in registry().operations()}
    others = [route for route in app.router.routes if route.pattern not in operations]
    known = {route.pattern for route in app.router.routes}
    team = App(
        msgspec.structs.replace(parts, accounts=cast(AccountService, object()))
    )  # who comes in asks it, a page not
    added = [_row(route) for route in team.router.routes if route.pattern not in known | operations]
    shells = [route for route in others if route.is_shell]
    rows = [_row(route) for route in others if route not in shells]
    pages = ", ".join(f"`{route.pattern}`" for route in shells)
    rows.insert(0, [pages, ", ".join(shells[0].methods), "no", shells[0].serves])
    rows.append([f"`{PREFIX}{{operation}}`", "GET, HEAD, POST", "yes", "An operation; the table below."])
    text = "`*` stands for one part of an address, and `**` for any rest."
    heads = ["address", "methods", "token", "serves"]
    also = f"A server of a team (`--team`) answers these too:\n\n{table(heads, added)}"
    return f"## Addresses\n\n{table(heads, rows)}\n\n{text}\n\n{also}"


def _row(route: Route) -> list[str]:
    return [
        f"`{route.pattern}`",
        ", ".join(route.methods),
        "yes" if route.needs_bearer else "no",
        route.serves,
    ]


def _checks() -> str:
    rows = [
        [str(number), check, f"{KINDS[code].http_status} `{code}`" if code else "closed"]
        for number, (check, code) in enumerate(_CHECKS, 1)
    ]
    names = ", ".join(f"`{name.decode()}`" for name, _ in ALWAYS)
    return (
        "## Who may ask\n\n"
        "Every request passes these checks in this order, on every address; the first that fails answers.\n\n"
        f"{table(['', 'check', 'refusal'], rows)}\n\n"
        f"Every answer has {names} and `cache-control`, and none sets a cookie or allows another origin.\n"
        "What is refused before it is read (no HTTP, or too many connections) is answered in the same way.\n"
        "If a call uses something that will be removed, the answer has a notice, `deprecation` (RFC 9745) "
        "and `sunset` (RFC 8594).\n"
        "The discovery document has `deprecation`, and a `link` to the agent card if there is one."
    )


def _operations() -> str:
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for called in registry().operations():
        methods = ", ".join(method for method in methods_of(called) if method != "HEAD")
        where = "nowhere" if why_not_served(called) else called.where
        grouped.setdefault((called.effect, methods, where), []).append(f"`{called.name}`")
    rows = ([*facts, ", ".join(names)] for facts, names in grouped.items())
    return (
        "## Operations\n\n"
        "[The commands](cli.md) say what each operation does.\n"
        "`GET /api` lists those that you may call, with the schema of each.\n\n"
        f"{table(['effect', 'methods', 'in a team, answered by', 'operations'], rows)}"
    )
