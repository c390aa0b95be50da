"""The HTTP server as one ASGI app: the guard around every route, limits, and the answers of the handlers."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from typing import Any, TypeAlias, TypeVar
from urllib.parse import quote as percent_encode

import msgspec

from handrail.contract.catalogue import (
    E_AUTH,
    E_INTERRUPTED,
    E_NOT_FOUND,
    E_RATE_LIMITED,
    E_TIMEOUT,
    HOST_REFUSED,
    SERVER_BUSY,
    SERVER_DRAINING,
)
from handrail.contract.outcome import Failure, Fault, Json, Notice, Outcome
from handrail.contract.wording import mark_hidden
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import Runtime, no_http_client, no_terminal
from handrail.surfaces.mcp.results import run_guarded
from handrail_serve.accounts.forms import drop_answers, drop_forms, join_names
from handrail_serve.accounts.refusals import Refusals, Turn, address_of
from handrail_serve.accounts.service import AccountService, challenge, sign_in_routes
from handrail_serve.api import (
    PREFIX,
    answer_request,
    methods_of,
    most_body_bytes,
    refuse_unknown,
)
from handrail_serve.calls import Asked, CallTime, Served, perform_call
from handrail_serve.endpoints.health import NEEDED, NEEDED_OF_TEAM, Health, describe_life
from handrail_serve.endpoints.lafs import (
    A2A,
    CARD,
    DISCOVERY,
    LEDGER,
    NOT_INSTALLED,
    SUCCESSION,
    A2aCalls,
    BuildA2a,
    Published,
    answer_ledger,
    answer_published,
    publish_card,
    publish_operations,
    publish_service,
)
from handrail_serve.exchange import (
    HTML_TYPE,
    IS_LET_IN,
    JSON_TYPE,
    Found,
    Headers,
    HttpRequest,
    Receive,
    Response,
    Route,
    Router,
    Scope,
    Send,
    open_route,
    parameters,
    problem,
    read_accept,
    read_body,
    send_response,
    send_stream,
    values_of,
)
from handrail_serve.feed import Feed, Marks
from handrail_serve.guard import (
    Identity,
    bearer,
    finish_response,
    is_from_console,
    is_own_page,
    refuse,
)
from handrail_serve.limits import Bounds, Load, refuse_size
from handrail_serve.mcp_over_http import HttpAnswer
from handrail_serve.shell import asset_response, shell_response
from handrail_serve.views import MAIN_PAGES, PAGES, render_view

_T = TypeVar("_T")

SHELLS = ("/", *dict.fromkeys(f"/{page.pattern.split('/')[1]}/**" for page in PAGES))
"""First segments of the addresses of the Console: each returns the same page without data."""


AnswerMcp: TypeAlias = Callable[[Headers, bytes, Runtime], HttpAnswer]
"""Answers one message from its headers and body by a runtime, in a worker thread."""


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """What the server is made of; `main` hands it over."""

    runtime: Runtime
    identity: Identity
    answer_mcp: AnswerMcp
    notices: Callable[[str], Sequence[Notice]] = lambda _: ()
    log: Callable[[str], None] | None = None
    """Receiver of one log line per request; None if there is none."""
    note_unlocked: Callable[[], None] = lambda: None
    """Called when a caller has shown the token: a page that carries it is no longer needed."""
    marks: Marks | None = None
    """A mark for every session that changes with every commit; None lists the log for it."""
    build_a2a: BuildA2a | None = None
    """Builder of the answers to A2A clients; None if the library for it is not installed."""
    proxies: frozenset[str] = frozenset()
    """Addresses of trusted proxies. If there are any, only connections from them are answered."""
    accounts: AccountService | None = None
    """The account service, if callers have accounts; None accepts every caller with the token of the
    server.
    """
    bounds: Bounds = Bounds()
    turn_to_hash: Turn = nullcontext
    """Turn to wait for before a passphrase is hashed."""


class App:
    """The ASGI app. `load` says what is in progress, and `drain` stops new work."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        # Nobody sits at the terminal of a server: who confirms a step there would not see who asks.
        # A server that asks others where its callers say would reach what they cannot reach.
        runtime = msgspec.structs.replace(
            parts.runtime, terminal=no_terminal, http_client=no_http_client, is_served=True
        )
        self._served = Served(
            runtime=runtime, notices=parts.notices, operation_seconds=parts.bounds.operation_seconds
        )
        self.load = Load(parts.bounds)
        self._most_bytes = parts.bounds.limits.body_bytes
        self._checks = Health(self._served, NEEDED if parts.accounts is None else NEEDED_OF_TEAM)
        self._a2a: A2aCalls | None = None
        self._a2a_lock = asyncio.Lock()
        self.feed = self._make_feed(parts.marks or partial(_list_marks, runtime))
        self._feeds: dict[str, Feed] = {}
        """The feed of each workspace, if there are accounts."""
        self._cuts: set[asyncio.Future[None]] = set()
        """One future for each call in progress; it is done if the server ends during the call."""
        self._refusals = Refusals()
        self._threads = ThreadPoolExecutor(parts.bounds.requests, thread_name_prefix="request")
        self.router = Router(self._routes())
        self._lost = open_route("/**", self._show_lost, _PAGE, is_shell=True)

    def drain(self) -> None:
        """Accept no new work from now on, and inform every open feed."""
        self.load.is_draining = True
        for feed in (self.feed, *self._feeds.values()):
            feed.close()

    def _make_feed(self, marks: Marks) -> Feed:
        return Feed(marks, self._served.runtime.randomness.bytes(6).hex())

    def _feed_of(self, request: HttpRequest) -> Feed:
        principal, accounts = request.runtime.principal, self._parts.accounts
        if principal is None or accounts is None:
            return self.feed
        if principal.workspace not in self._feeds:
            self._feeds[principal.workspace] = self._make_feed(accounts.marks(principal.workspace))
        return self._feeds[principal.workspace]

    def _served_to(self, request: HttpRequest) -> Served:
        return msgspec.structs.replace(self._served, runtime=request.runtime)

    def cut_off(self) -> None:
        """Answer every call in progress that its outcome is unknown; the server ends now."""
        for cut in self._cuts:
            cut.set_result(None)

    # Routes

    def _routes(self) -> list[Route]:
        shells = [open_route(path, self._shell, _PAGE, is_shell=True) for path in SHELLS]
        routes = [
            *shells,
            open_route("/assets/*", self._asset, "Scripts, styles and icons; their names carry a digest."),
            open_route("/health/live", self._live, "`pass`: the process answers.", is_always_answered=True),
            open_route("/health/ready", self._ready, "`pass`, `warn` or `fail`, and what did not pass."),
            open_route(DISCOVERY, self._discovery, "The LAFS discovery document."),
            open_route(CARD, self._card, "The agent card, where `handrail[a2a]` is installed."),
            Route(
                pattern="/health",
                is_kept_while_draining=True,
                serves="The same with every check of `doctor` that matters here, and its fix.",
                handler=self._health,
            ),
            Route(
                pattern=LEDGER + "*",
                serves="The context ledger of a run (LAFS 8.1): `mode`, `sinceVersion`, `filterByOperation`, "
                "`limit`, `includeChecksum`; always a LAFS envelope.",
                handler=self._ledger,
            ),
            Route(
                pattern=A2A,
                methods=("POST",),
                is_for_programs=True,
                serves="A2A 1.0 by JSON-RPC, where `handrail[a2a]` is installed: a task per call.",
                handler=self._call_a2a,
            ),
            Route(
                pattern="/mcp",
                methods=("POST",),
                is_for_programs=True,
                serves="[MCP](mcp.md), stateless, in both eras.",
                handler=self._call_mcp,
            ),
            Route(
                pattern="/api/view/**",
                serves="A page of the Console as HTML, drawn from the operations.",
                handler=self._view,
            ),
            Route(
                pattern="/api/feed",
                methods=("GET",),
                serves="The feed of changes.",
                handler=self._listen,
            ),
        ]
        return [*routes, *self._team_routes(), *self._operation_routes()]

    def _team_routes(self) -> list[Route]:
        accounts = self._parts.accounts
        if accounts is None:
            return []
        team_client = Route(
            pattern=PREFIX + "team-client",
            methods=("POST",),
            is_for_programs=True,
            serves="A call of a team client, where there are accounts: its outcome, or a look to make.",
            handler=partial(self._call_team_client, accounts),
        )
        signing_in = sign_in_routes(accounts, self._parts.runtime.origin, self._parts.turn_to_hash)
        return [*signing_in, team_client]

    def _operation_routes(self) -> list[Route]:
        listed = Route(
            pattern=PREFIX.rstrip("/"),
            serves="Every operation that the caller may perform, with its methods, its effect and the JSON "
            "Schema of its input.",
            handler=self._operations,
        )
        offered = [
            Route(pattern=PREFIX + one.name, methods=methods_of(one), handler=partial(self._operation, one))
            for one in self._served.runtime.registry.operations()
        ]
        return [listed, *offered]

    async def _shell(self, _: HttpRequest) -> Response:
        return shell_response()

    async def _show_lost(self, _: HttpRequest) -> Response:
        return msgspec.structs.replace(shell_response(), status=E_NOT_FOUND.http_status)

    async def _asset(self, request: HttpRequest) -> Response:
        found = asset_response(request.segments[0])
        return problem(refuse_unknown("", ()), request.id) if found is None else found

    async def _live(self, _: HttpRequest) -> Response:
        return describe_life()

    async def _ready(self, _: HttpRequest) -> Response:
        is_draining = self.load.is_draining
        return await self._in_thread(lambda: self._checks.describe_readiness(is_draining=is_draining))

    async def _health(self, _: HttpRequest) -> Response:
        is_draining = self.load.is_draining
        return await self._in_thread(lambda: self._checks.describe_checks(is_draining=is_draining))

    async def _discovery(self, request: HttpRequest) -> Response:
        more = () if self._parts.build_a2a is None else SUCCESSION
        return answer_published(
            publish_service(self._served.runtime.registry, _address(request)), request, more
        )

    async def _card(self, request: HttpRequest) -> Response:
        if self._parts.build_a2a is None:
            return problem(NOT_INSTALLED, request.id)
        return answer_published(publish_card(self._served.runtime.registry, _address(request)), request)

    async def _call_a2a(self, request: HttpRequest) -> Response:
        build = self._parts.build_a2a
        if build is None:
            return problem(NOT_INSTALLED, request.id)
        body = await read_body(request)
        async with self._a2a_lock:
            if self._a2a is None:
                self._a2a = await self._in_thread(lambda: build(self._served, self._in_thread))
        return await self._a2a.answer(request, body)

    async def _call_mcp(self, request: HttpRequest) -> Response:
        body = await read_body(request, self._most_bytes)
        answer = await self._in_thread(lambda: self._parts.answer_mcp(request.headers, body, request.runtime))
        headers = ((b"content-type", JSON_TYPE),) if answer.body else ()
        return Response(status=answer.status, headers=headers, body=answer.body)

    async def _call_team_client(self, accounts: AccountService, request: HttpRequest) -> Response:
        body = await read_body(request, self._most_bytes)
        runtime = msgspec.structs.replace(
            request.runtime, interruptions=CallTime(self._served.operation_seconds)
        )
        answer = await self._in_thread(lambda: accounts.answer_team_client(runtime, body))
        return Response(headers=((b"content-type", JSON_TYPE),), body=answer)

    async def _ledger(self, request: HttpRequest) -> Response:
        return await self._in_thread(lambda: answer_ledger(self._served_to(request), request))

    async def _operations(self, request: HttpRequest) -> Response:
        def publish() -> Published:
            known = self._served.runtime.registry
            closed = (name for name in known.names if not _may_perform(request.runtime, name))
            return publish_operations(known, frozenset(closed))

        published = await self._in_thread(publish)
        return Response(headers=((b"content-type", JSON_TYPE),), body=published.body)

    async def _operation(self, called: Operation, request: HttpRequest) -> Response:
        most = most_body_bytes(called, self._most_bytes)
        body = await read_body(request, most) if request.method == "POST" else b""
        is_at_console = request.runtime.is_at_console or is_from_console(
            self._parts.identity, request.headers
        )
        served = self._served_to(request)
        return await self._in_thread(
            lambda: answer_request(served, called, request, body, is_at_console=is_at_console)
        )

    async def _view(self, request: HttpRequest) -> Response:
        self._parts.note_unlocked()
        return await self._in_thread(lambda: self._render_view(request))

    def _render_view(self, request: HttpRequest) -> Response:
        def call(operation: str, params: dict[str, Json]) -> Outcome:
            source = f"GET /api/view for {operation}"
            asked = Asked(operation=operation, params=params, request_id=request.id, source=source)
            return perform_call(self._served_to(request), asked)

        def work() -> Response:
            # Before the page is read: what changes meanwhile comes again.
            cursor = self._feed_of(request).cursor()
            path = "/" + "/".join(request.segments)
            view = render_view(call, path, dict(parameters(request.query)))
            body = self._fit_to_reader(request, view.html.markup).encode("utf-8", "replace")
            title = percent_encode(mark_hidden(view.title), safe=" ", errors="replace")
            headers = (
                (b"content-type", HTML_TYPE),
                (b"x-handrail-title", title.encode()),
                (b"x-handrail-cursor", cursor.encode()),
                (b"x-handrail-closed", " ".join(self._closed_to(request)).encode()),
                *(() if view.waiting is None else ((b"x-handrail-needs", str(view.waiting).encode()),)),
            )
            return Response(headers=headers, body=body)

        answered = run_guarded(self._served.runtime, work)
        return problem(answered, request.id) if isinstance(answered, Failure) else answered

    def _fit_to_reader(self, request: HttpRequest, markup: str) -> str:
        """Return the page with only what the reader may do; on a server with accounts, people are shown by
        name.
        """
        principal, accounts = request.runtime.principal, self._parts.accounts
        if principal is None or accounts is None:
            is_person = is_from_console(self._parts.identity, request.headers)
            is_looking = is_own_page(request.headers) and not is_person
            return drop_answers(markup, self._served.runtime.registry) if is_looking else markup
        may = partial(_may_perform, request.runtime)
        return join_names(drop_forms(markup, may), lambda: accounts.names(principal.workspace))

    def _closed_to(self, request: HttpRequest) -> list[str]:
        """Return the pages that the navigation bar hides from this reader."""
        return [path for path, name in MAIN_PAGES.items() if not _may_perform(request.runtime, name)]

    async def _listen(self, request: HttpRequest) -> Response:
        if not self.load.has_room_for_feed():
            return problem(
                Failure(kind=SERVER_BUSY, message="As many feeds are open as there may be."), request.id
            )
        cursors = [value for name, value in parameters(request.query) if name == "cursor"]
        headers = ((b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no"))
        counted = self._count_feed(self._feed_of(request).stream("".join(cursors[:1])), request)
        await anext(counted)  # nothing waits in between, so of many at once each sees the others
        return Response(headers=headers, body=counted)

    async def _count_feed(
        self, events: AsyncGenerator[bytes, None], request: HttpRequest
    ) -> AsyncGenerator[bytes, None]:
        observer = self._served.runtime.observer
        with self.load.feeds_open.take(request.runtime.principal):
            self.load.feeds += 1
            observer.note_feeds(1)
            try:
                yield b""
                async for event in events:
                    yield event
            finally:
                self.load.feeds -= 1
                observer.note_feeds(-1)
                await events.aclose()

    # One request

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http":
                await self._answer(scope, receive, send)
            case "websocket":
                await send({"type": "websocket.close", "code": 1008})
            case _:
                return

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        own_id = values_of(scope["headers"], b"x-request-id")
        made_id = "req_" + self._parts.runtime.randomness.bytes(10).hex()
        request_id = own_id[0].decode() if own_id and _REQUEST_ID.fullmatch(own_id[0]) else made_id
        started = time.monotonic()
        found = self.router.find(scope["path"]) or self._find_lost(scope)
        refusal = self._refusal(scope, found)
        if refusal is not None:
            response = problem(refusal, request_id)
        else:
            assert found is not None, "what no route fits is refused"
            weight = 0 if found.route.is_always_answered else 1
            self.load.requests += weight
            try:
                response = await self._serve(found, scope, receive, request_id)
            finally:
                self.load.requests -= weight
        if self._parts.accounts is not None and response.status == E_AUTH.http_status:
            kept = tuple(pair for pair in response.headers if pair[0] != b"www-authenticate")
            header = (b"www-authenticate", challenge(self._served.runtime.origin))
            response = msgspec.structs.replace(response, headers=(*kept, header))
        if self._parts.accounts is not None and found is not None:
            await self._slow_down(scope, found.route, response.status)
        await self._send(receive, send, response, scope)
        if self._parts.log is not None:
            took = int((time.monotonic() - started) * 1000)
            line = _log_line(scope, response.status, took, request_id)
            self._parts.log(self._served.runtime.secrets.redact_text(line))

    async def _slow_down(self, scope: Scope, route: Route, status: int) -> None:
        """Count a refusal of a caller without a credential, and delay an address that has many."""
        address = address_of(scope, self._parts.proxies)
        is_crowded = status == E_RATE_LIMITED.http_status
        is_unknown = not route.needs_bearer or self._refusals.is_over(address)
        if status == E_AUTH.http_status or (is_crowded and is_unknown):
            self._refusals.note_refused(address)
            await self._refusals.hold(address)

    def _find_lost(self, scope: Scope) -> Found | None:
        """Return the page for an unknown address, if a browser asks for a page."""
        first = scope["path"].split("/")[1]
        is_ours = any(route.pattern.split("/")[1] == first for route in self.router.routes)
        is_page_taken = b"text/html" in read_accept(scope["headers"])[0]
        return Found(route=self._lost, segments=()) if is_page_taken and not is_ours else None

    def _refusal(self, scope: Scope, found: Found | None) -> Failure | None:
        """Return why the request goes no further: the guard first, then what the server can take on."""
        if self._parts.proxies and (scope.get("client") or ("",))[0] not in self._parts.proxies:
            return Failure(kind=HOST_REFUSED, message="This server answers its proxy, and nobody else.")
        method, headers = scope["method"], tuple(scope["headers"])
        route = None if found is None else found.route
        if (refusal := refuse(self._parts.identity, method, headers, route)) is not None:
            return refusal
        url = scope.get("raw_path", b"") + b"?" + scope["query_string"]
        if (too_large := refuse_size(url, list(headers))) is not None:
            return too_large
        if route is None:
            return refuse_unknown(scope["path"], self._served.runtime.registry.names)
        if self.load.is_draining and not route.is_kept_while_draining:
            return Failure(kind=SERVER_DRAINING, message="The server is stopping and takes no new work.")
        if not route.is_always_answered and not self.load.has_room():
            return Failure(
                kind=SERVER_BUSY, message="The server is at work on as much as it takes on at once."
            )
        return None

    async def _serve(self, found: Found, scope: Scope, receive: Receive, request_id: str) -> Response:
        request = HttpRequest(
            id=request_id,
            method=scope["method"],
            segments=found.segments,
            query=scope["query_string"],
            headers=tuple(scope["headers"]),
            receive=receive,
            runtime=self._served.runtime,
            address=address_of(scope, self._parts.proxies),
        )
        answered = await self._in_time(self._enter_and_handle(found, request, scope))
        return problem(answered, request_id) if isinstance(answered, Failure) else answered

    async def _enter_and_handle(self, found: Found, request: HttpRequest, scope: Scope) -> Response:
        """Return the answer of the handler, in the runtime of the caller. Raise Fault for an unknown
        caller.
        """
        accounts = self._parts.accounts
        if accounts is not None and found.route.needs_bearer:
            # Whatever comes by an interface for programs is a program, whoever signed in for it.
            is_person = is_own_page(request.headers) and not found.route.is_for_programs
            shown = bearer(request.headers).decode("latin-1")
            is_program = found.route.is_for_programs
            self._refusals.require(request.address, shown)
            runtime = await self._in_thread(
                lambda: accounts.enter(
                    request.runtime,
                    accounts.identify(shown, is_person=is_person, is_for_programs=is_program),
                )
            )
            self._refusals.note_good(shown)
            request = msgspec.structs.replace(request, runtime=runtime)
        scope[IS_LET_IN] = found.route.needs_bearer
        with self.load.calls.take(request.runtime.principal):
            return await found.route.handler(request)

    async def _send(self, receive: Receive, send: Send, response: Response, scope: Scope) -> None:
        """Send the answer without any secret that this process has read."""
        if isinstance(response.body, bytes):
            clean = self._served.runtime.secrets.redact(response.body)
            whole = finish_response(msgspec.structs.replace(response, body=clean))
            await send_response(send, whole, is_head=scope["method"] == "HEAD")
        else:
            await send_stream(receive, send, finish_response(response), response.body)

    async def _in_time(self, work: Coroutine[Any, Any, _T]) -> _T | Failure:
        """Return the result of the work; an exception or a timeout becomes a failure."""
        task, cut = asyncio.ensure_future(work), asyncio.get_running_loop().create_future()
        self._cuts.add(cut)
        seconds = self._parts.bounds.request_seconds
        try:
            done, _ = await asyncio.wait({task, cut}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if task in done:
                return run_guarded(self._served.runtime, task.result)
            return _CUT_OFF if cut in done else _TOO_LATE
        finally:
            task.cancel()
            self._cuts.remove(cut)

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:-]{1,128}")
"""Form of an `X-Request-Id` that is used as it is; any other value is replaced by an id of ours."""
_TOO_LATE = Failure(
    kind=E_TIMEOUT,
    message="The request took too long; whether it changed something is not known.",
    details={"committed": None},
    hint="Send the same call again: if it was committed, the recorded answer comes back.",
)


_CUT_OFF = Failure(
    kind=E_INTERRUPTED,
    message="A second signal ended the server during this call; whether it changed something is not known.",
    details={"committed": None},
    hint="Send the same call to the next server: if it was committed, the recorded answer comes back.",
)


_PAGE = "The Console: a page without data, which then asks for its content."


def _address(request: HttpRequest) -> str:
    """Return the address by which the client reaches this server: the configured one, or the host header,
    which the guard has checked.
    """
    return request.runtime.origin or "http://" + request.header(b"host").decode("ascii")


def _list_marks(runtime: Runtime) -> Mapping[str, str]:
    return {stamp.session_id: str(stamp.order) for stamp in runtime.log.list_sessions()}


def _may_perform(runtime: Runtime, operation: str) -> bool:
    """Whether the caller may perform the operation; without accounts every caller may perform everything."""
    called = runtime.registry.operation(operation)
    try:
        return runtime.may is None or runtime.may(called, called.effect) is None
    except Fault:
        return False


def _log_line(scope: Scope, status: int, took_ms: int, request_id: str) -> str:
    """Return a log line that holds nothing a caller wrote except the path: a query may hold text, headers
    the token.
    """
    path = percent_encode(scope["path"][:200], safe="/", errors="replace")
    return f"{scope['method']} {path} {status} {took_ms} ms {request_id}"
