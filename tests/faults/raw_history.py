"""What a store on disk says, read from its bytes by the page docs/explanation/log-format.md alone.

Nothing of the product is imported: a checker that folded events with the engine would share its mistakes.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

Event = dict[str, Any]
Heard = dict[str, Any]
"""One call that was answered: `session`, `token` (empty for a read), `use`, `notes`, `reply`."""


class RawSession(NamedTuple):
    """The attested events of one session, oldest first, and what is wrong with the files."""

    session_id: str
    events: list[Event]
    keys: list[str]
    problems: list[str]


_FACTS = ("kind", "pending", "isComplete", "nextIntent", "nextCall", "stateToken", "ackToken")


def raw_sessions(data: Path) -> list[RawSession]:
    """Every session of a store."""
    return [_readable(folder) for folder in sorted((data / "sessions").iterdir()) if folder.is_dir()]


def _readable(folder: Path) -> RawSession:
    try:
        return _read(folder)
    except (ValueError, KeyError, OSError) as error:
        problem = f"{folder.name} cannot be read: {error!r}"
        return RawSession(session_id=folder.name, events=[], keys=[], problems=[problem])


def _read(folder: Path) -> RawSession:
    """Follow the manifest line by line; its chain and that of the events are worked out again."""
    session_id = folder.name
    events: list[Event] = []
    keys: list[str] = []
    problems: list[str] = []
    sum_before = hashlib.sha256(b"handrail.manifest.v1\0" + session_id.encode()).digest()
    chain = hashlib.sha256(b"handrail.log.v1\0" + session_id.encode()).digest()
    for line in (folder / "manifest.jsonl").read_bytes().splitlines():
        commit = json.loads(line)
        head, _, _ = line.rpartition(b',"sum"')
        sum_before = hashlib.sha256(sum_before + head).digest()
        if commit["sum"] != sum_before.hex():
            problems.append(f"{session_id}: the manifest line of event {commit['first']} is not chained")
        if commit["first"] != len(events):
            problems.append(f"{session_id}: event {commit['first']} follows event {len(events) - 1}")
        content = (folder / commit["segment"]).read_bytes()[commit["from"] : commit["to"]]
        for record in content.splitlines():
            key, body = _framed(record)
            chain = hashlib.sha256(chain + key.encode() + b"\n" + body).digest()
            keys.append(key)
            events.append(json.loads(body))
        if commit["head"] != chain.hex():
            problems.append(f"{session_id}: the events up to {commit['last']} do not give their digest")
        if commit["last"] != len(events) - 1:
            problems.append(f"{session_id}: a line says {commit['last']}, there are {len(events)} events")
    return RawSession(session_id=session_id, events=events, keys=keys, problems=problems)


def _framed(record: bytes) -> tuple[str, bytes]:
    """The key and the exact bytes of the event of one line."""
    middle = b',"event":'
    start = record.index(middle)
    key: str = json.loads(record[:start] + b"}")["dedupeKey"]
    return key, record[start + len(middle) : -1]


def trouble(sessions: list[RawSession], heard: list[Heard]) -> list[str]:
    """Everything that contradicts exactly-once, given every reply that any caller heard."""
    found = [problem for session in sessions for problem in session.problems]
    for session in sessions:
        own = [call for call in heard if call["session"] == session.session_id]
        found += [f"{session.session_id}: {problem}" for problem in _session_trouble(session, own)]
    known = {session.session_id for session in sessions}
    found += [
        f"a reply names {call['session']}, which is not stored"
        for call in heard
        if call["session"] not in known
    ]
    return found


def _session_trouble(session: RawSession, heard: list[Heard]) -> Iterator[str]:
    for key, times in Counter(session.keys).items():
        if times > 1:
            yield f"{times} events have the key {key}"
    attempts = Counter(
        (event["scope"]["nodeId"], event["data"]["attemptId"]) for event in _of(session, "advance_recorded")
    )
    for (node, attempt), times in attempts.items():
        if times > 1:
            yield f"attempt {attempt} at {node} was answered {times} times"
    yield from _graph_trouble(session)
    yield from _replies_differ(heard)
    yield from _outputs_lost(session, heard)
    yield from _advances_unheard(session, heard)


def _of(session: RawSession, kind: str) -> list[Event]:
    return [event for event in session.events if event["data"]["kind"] == kind]


def _graph_trouble(session: RawSession) -> Iterator[str]:
    """Every node has one birth and, unless it begins a run, one parent that is older."""
    born: dict[str, int] = {}
    edges = Counter(event["data"]["toNodeId"] for event in _of(session, "edge_created"))
    for place, event in enumerate(session.events):
        if event["data"]["kind"] != "node_created":
            continue
        node, parent = event["scope"]["nodeId"], event["data"].get("parentNodeId")
        if node in born:
            yield f"{node} was created twice"
        born[node] = place
        if parent is None and edges[node]:
            yield f"{node} begins a run and has an edge"
        if parent is not None and parent not in born:
            yield f"{node} is older than its parent {parent}"
        if parent is not None and edges[node] != 1:
            yield f"{node} has {edges[node]} edges"
    for event in _of(session, "advance_recorded"):
        if event["data"]["outcome"]["toNodeId"] not in born:
            yield f"an answer leads to {event['data']['outcome']['toNodeId']}, which does not exist"


def _replies_differ(heard: list[Heard]) -> Iterator[str]:
    """The same token with the same use always got the same facts, whatever is told beside them."""
    first: dict[tuple[str, str], str] = {}
    for call in heard:
        if not call["token"]:
            continue
        said = json.dumps({name: call["reply"][name] for name in call["reply"] if name in _FACTS})
        known = first.setdefault((call["token"], call["use"]), said)
        if known != said:
            yield f"two replies to {call['token']}: {known} and {said}"


def _outputs_lost(session: RawSession, heard: list[Heard]) -> Iterator[str]:
    """What a caller was told is stored is there once; what was not taken is not there."""
    stored = Counter(
        event["data"]["notes"]["text"]
        for event in _of(session, "node_output_appended")
        if event["data"]["channel"] == "recap"
    )
    for notes, times in stored.items():
        if times > 1:
            yield f"{times} times: {notes}"
    sent = {call["notes"] for call in heard if call["notes"]}
    for notes in stored:
        if notes not in sent:
            yield f"nobody who got an answer sent: {notes}"
    for call in heard:
        was_taken = not any(
            warning["code"] == "REPLAY_INPUT_MISMATCH" for warning in call["reply"].get("warnings", ())
        )
        if call["notes"] and was_taken and not stored[call["notes"]]:
            yield f"lost: {call['notes']}"
        if call["notes"] and not was_taken and stored[call["notes"]]:
            yield f"said not to be stored, but it is: {call['notes']}"


def _advances_unheard(session: RawSession, heard: list[Heard]) -> Iterator[str]:
    """Nobody died, so there are exactly as many answers as acks that somebody used."""
    for use, kinds in (("advance", "advance_recorded"), ("checkpoint", "")):
        used = {call["token"] for call in heard if call["use"] == use}
        if kinds:
            recorded = len(_of(session, kinds))
        else:
            recorded = sum(
                event["data"]["nodeKind"] == "checkpoint" for event in _of(session, "node_created")
            )
        if recorded != len(used):
            yield f"{len(used)} {use} tokens were used, {recorded} answers are recorded"
