"""The team client: sends the calls of a linked machine to the team server and gathers facts for it.

A call that the server did not answer was not made. The client queues nothing and never falls back to the
store of this machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, Final, cast

import msgspec

from handrail.contract.catalogue import (
    E_AUTH,
    E_HUMAN_REQUIRED,
    E_NETWORK,
    E_TIMEOUT,
    STORE_UNAVAILABLE,
    TOKEN_BAD_SIGNATURE,
)
from handrail.contract.disclosure.fields import Ask
from handrail.contract.envelopes.mcp_and_http import read_outcome
from handrail.contract.ids import SessionId, is_session_id
from handrail.contract.outcome import Failure, Fault, Json, Outcome
from handrail.contract.tokens.reading import ANY_KIND, read_token
from handrail.contract.tokens.workflow import WORKFLOW
from handrail.host.roots import RootedWorktree
from handrail.ports.server import HttpClient, TeamCall, TeamState
from handrail.ports.trees import LASTING_PREFIX
from handrail.ports.worktree import Worktree
from handrail.runtime.hub import try_afterwards
from handrail.runtime.runtime import Runtime, keeps_code
from handrail.version import __version__
from handrail_team.client.fetched_session import READS_A_SESSION, perform_here
from handrail_team.client.gathering import FactGatherer, describe_surroundings, gather_beforehand
from handrail_team.client.kept_contents import KeepingTrees, KeepingWorktree
from handrail_team.client.team_file import Link, TeamFile, read_team_file
from handrail_team.client.wire import (
    ClientAnswer,
    ClientCall,
    ClientFacts,
    FactsOrder,
    from_wire,
    require_same_major,
    to_wire,
)

SERVER_VARIABLE: Final = "HANDRAIL_SERVER"
TOKEN_VARIABLE: Final = "HANDRAIL_TOKEN"  # noqa: S105 - the name of a variable
ADDRESS: Final = "/api/team-client"
WHOAMI: Final = "team.whoami"
WHO: Final = "/api/" + WHOAMI
_PERSONS: Final = ("run.answer", "session.resolve_gap", "session.rename")
STATE_SECONDS: Final = 5.0
MOST_ROUNDS: Final = 12
"""The most rounds of one call; two or three are usual."""
MOST_ANSWER_BYTES: Final = 32 * 1024 * 1024
ANSWER_SECONDS: Final = 60.0
_TOKENS: Final = ("ackToken", "stateToken", "checkpointToken", "session", "sessionId", "runId", "ids")
_STORED_BY_CLIENT: Final = ("process", "record")
"""Effects of operations on the client that add to a session: the server records them."""
_NOT_IN_A_TEAM: Final = ("keys.", "store.")
"""Operations that need the database, so only the operator can do them."""


class TeamLink:
    """`ports.Team` over HTTP."""

    def __init__(self, home: str, environment: Mapping[str, str], local: Runtime) -> None:
        self._home = home
        self._environment = environment
        self._local = local

    # Which calls go to the server

    def takes(self, call: TeamCall) -> bool:
        is_stored = call.operation.startswith("check.") and call.effect in _STORED_BY_CLIENT
        is_stored = is_stored and call.operation != "check.prove"  # it needs copies of the files
        if call.where == "client" and not is_stored and call.operation not in READS_A_SESSION:
            return False
        if call.operation.startswith("team.") and "store" in call.params:
            return False  # the operator names the database
        if call.operation.startswith("preferences.") and "session" not in call.params:
            return False  # the user's own file
        if call.operation.startswith(_NOT_IN_A_TEAM):
            return False
        is_local = self._is_of_this_store(call.params)
        link = self._find_link(self._find_project(call.params))
        if is_local is None:
            return link is not None
        # Without a team, an unknown session fails locally, as it does on every other machine.
        return not is_local and (link is not None or bool(self._list_servers()))

    def _is_of_this_store(self, params: Mapping[str, Json]) -> bool | None:
        """Whether the session that a call names is in the store of this machine; None: it names none.

        A session stays in the store where it began.
        """
        named = [value for name in _TOKENS for value in _texts(params.get(name))]
        if not named:
            return None
        return any(map(self._is_local, named))

    def _is_local(self, text: str) -> bool:
        if is_session_id(text):
            return self._local.log.load(SessionId(text)) is not None
        try:
            claims = read_token(self._local.keys.verifying_keys(WORKFLOW), text, ANY_KIND).claims
        except Fault as fault:
            return fault.kind is not TOKEN_BAD_SIGNATURE  # the local call reports malformed tokens
        return self._local.log.load(claims.session_id) is not None

    @cached_property
    def _file(self) -> TeamFile:
        return read_team_file(self._home)

    def _find_link(self, project: str) -> Link | None:
        """Return the team of a project: from the environment, else from the user's setting."""
        if server := self._environment.get(SERVER_VARIABLE, ""):
            return Link(server=server.rstrip("/"))
        return self._file.projects.get(project)

    def _find_project(self, params: Mapping[str, Json]) -> str:
        asked = params.get("project")
        try:
            return self._local.workspace.project(asked if isinstance(asked, str) else "")
        except Fault:
            return ""

    def _require_link(self, project: str) -> Link:
        """Return the team of a project, or the only team that this machine knows."""
        link = self._find_link(project)
        if link is not None:
            return link
        known = self._list_servers()
        if len(known) == 1:
            return Link(server=known[0])
        raise Fault(
            TOKEN_BAD_SIGNATURE,
            "This call names a session of another store, and this project is not linked to a team.",
            hint="Send the call from the run's project, or link this one with handrail team link.",
        )

    def _list_servers(self) -> list[str]:
        return [server for server, held in self._file.servers.items() if held.token]

    # Calling

    def perform(self, call: TeamCall) -> Outcome:
        project = self._local.workspace.project(str(call.params.get("project") or ""))
        link = self._require_link(project)
        if call.operation in _PERSONS or (call.operation.startswith("team.") and call.operation != WHOAMI):
            raise _needs_console(link.server, call)
        if call.operation in READS_A_SESSION:

            def ask(operation: str, params: dict[str, Json]) -> Outcome:
                asked = TeamCall(operation=operation, where="server", effect="read", params=params, ask=Ask())
                return self._ask_server(link, project, asked)

            return perform_here(self._local, project, call, ask, self._open_worktree)
        return self._ask_server(link, project, call)

    def _ask_server(self, link: Link, project: str, call: TeamCall) -> Outcome:
        machine = self.machine
        params = {name: value for name, value in call.params.items() if name != "project"}
        sent = ClientCall(
            call_id=self._local.randomness.bytes(16).hex(),
            operation=call.operation,
            params=params,
            ask=_describe_ask(call),
            needs_key=call.needs_key,
            here=describe_surroundings(self._local, project, machine, call, __version__),
            facts=gather_beforehand(self._local, project, call),
        )
        gatherer = FactGatherer(self._local, project, machine, call)
        for _ in range(MOST_ROUNDS):
            answered = self._send(link, sent)
            if answered.outcome is not None:
                try_afterwards(self._local, partial(self._keep_contents, project, sent.facts))
                return read_outcome(answered.outcome)
            order = answered.facts_first or FactsOrder()
            seen: ClientFacts = gatherer.gather(order, sent.facts)
            sent = msgspec.structs.replace(sent, facts=seen, request_state=order.request_state)
        raise _unavailable("The server kept asking for more facts.")

    def _open_worktree(self, note: Callable[[], str]) -> tuple[Worktree, KeepingTrees]:
        trees = KeepingTrees(self._home, self._environment)
        worktree = KeepingWorktree(self._home, self._environment, self._local, note, trees)
        roots = self._local.roots
        confined = worktree if roots is None else cast("Worktree", RootedWorktree(worktree, roots))
        return confined, trees

    def _keep_contents(self, project: str, seen: ClientFacts) -> str:
        """Keep the contents of the files that the server knows by name, for `code.restore`."""
        trees = KeepingTrees(self._home, self._environment)
        if keeps_code(self._local, project):
            for tree in (seen.tree, *(row.tree for row in seen.programs)):
                if tree is not None:
                    trees.keep(project, f"{LASTING_PREFIX}{tree.taken.tree}", tree.taken.tree)
        return ""

    def _send(self, link: Link, sent: ClientCall) -> ClientAnswer:
        headers = self._headers(link)
        try:
            response = self._client.ask(
                "POST", link.server + ADDRESS, headers, to_wire(sent), ANSWER_SECONDS, MOST_ANSWER_BYTES
            )
        except Fault as fault:
            if fault.kind in (E_NETWORK, E_TIMEOUT):
                raise _unavailable(fault.message) from fault
            raise
        if response.status == 200:
            try:
                answered = from_wire(response.body, ClientAnswer)
            except (msgspec.MsgspecError, UnicodeDecodeError) as trouble:
                raise _unavailable("The server's answer is not one of a team server.") from trouble
            require_same_major(answered.version, "this program")
            return answered
        raise _refusal_of(response.status, response.body)

    def _headers(self, link: Link) -> dict[str, str]:
        token = self._environment.get(TOKEN_VARIABLE, "") or self._token_of(link.server)
        if not token:
            raise Fault(
                E_AUTH,
                f"This machine is not signed in to {link.server}.",
                details={"setting": TOKEN_VARIABLE},
                hint=f"Run handrail login {link.server}, or set {TOKEN_VARIABLE}.",
            )
        self._local.secrets.register(token.encode())
        return {"authorization": f"Bearer {token}", "content-type": "application/json"}

    def _token_of(self, server: str) -> str:
        held = self._file.servers.get(server)
        return "" if held is None else held.token

    @cached_property
    def _client(self) -> HttpClient:
        return self._local.http_client()

    @cached_property
    def machine(self) -> str:
        """The name of this machine in the team."""
        return os.uname().nodename or "unknown"

    # Showing the link

    def state(self, project: str, *, is_offline: bool = False) -> TeamState | None:
        try:
            link = self._find_link(project)
        except Fault as fault:
            return TeamState(server="", workspace="", machine=self.machine, trouble=fault.message)
        if link is None:
            return None
        state = TeamState(server=link.server, workspace=link.workspace, machine=self.machine)
        if is_offline:
            return state
        try:
            headers = self._headers(link)
            response = self._client.ask("GET", link.server + WHO, headers, b"", STATE_SECONDS, 65_536)
        except Fault as fault:
            away = fault.kind in (E_NETWORK, E_TIMEOUT)
            return msgspec.structs.replace(state, is_reachable=not away, trouble=fault.message)
        if response.status != 200:
            return msgspec.structs.replace(state, trouble=_refusal_of(response.status, response.body).message)
        data = _read_problem(response.body).get("data")
        who = data if isinstance(data, dict) else {}
        return msgspec.structs.replace(
            state, account=str(who.get("name", "")), expires_at=str(who.get("expires_at", ""))
        )


def _needs_console(server: str, call: TeamCall) -> Fault:
    """Return the error for an answer that a person must give in the Console, signed in."""
    named = call.params.get("session")
    page = "/team" if call.operation.startswith("team.") else "/"
    page = f"/sessions/{named}" if isinstance(named, str) and is_session_id(named) else page
    return Fault(
        E_HUMAN_REQUIRED,
        f"In a team a person does this in the Console, signed in: {server}{page}",
        details={"action": call.operation, "url": server + page, "resume": "handrail session resume"},
        hint="Ask the user to open the address in details.url.",
    )


def _texts(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _describe_ask(call: TeamCall) -> dict[str, Json]:
    plain: dict[str, Json] = msgspec.to_builtins(call.ask)
    return {name: value for name, value in plain.items() if value not in (None, [], ())}


def _unavailable(message: str) -> Fault:
    return Fault(
        STORE_UNAVAILABLE,
        f"{message} The server may or may not have carried out the call.",
        details={"reason": "server_away"},
        hint="Wait, then send the same call again; it takes effect only once.",
    )


def _refusal_of(status: int, body: bytes) -> Fault:
    """Return the error of a response that is not an outcome: an HTTP problem document."""
    answer = _read_problem(body)
    message = answer.get("detail") or answer.get("title") or f"The server answered with the status {status}."
    if status in (502, 503, 504, 429):
        return _unavailable(str(message))
    if status == 401:
        return Fault(E_AUTH, str(message)[:1000], hint="Run handrail login again, or ask for a new token.")
    failure = answer.get("outcome")
    if isinstance(failure, dict):
        found = read_outcome(failure)
        if isinstance(found, Failure):
            return Fault(found.kind, found.message, details=found.details, hint=found.hint)
    return _unavailable(str(message)[:900])


def _read_problem(body: bytes) -> dict[str, Any]:
    try:
        problem = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {}
    return problem if isinstance(problem, dict) else {}
