"""The scene of the demo: its processes, the narrator, the log as it is, and the agent with its memory."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.contract.ids import SessionId
from handrail.contract.json.canonical import digest
from handrail.engine.events import Advanced, AdvanceRecorded, NodeOutputAppended, NotesKept, decode_event
from handrail.host.programs import make_child_environment, own_command
from handrail.wiring import build_runtime

# Processes: the Handrail calls that the agent makes, and only ever this package

Moment: TypeAlias = Literal["at_once", "when_written", "when_attested"]
"""When the agent kills the call it has just started.

`when_written`: its events have reached the disk; `when_attested`: so has the record that makes them count.
"""

FROM_MEMORY = {
    "@ack": "ackToken",
    "@retry": "retryAckToken",
    "@state": "stateToken",
    "@session": "sessionId",
}
"""Words of a call that the agent replaces by what it remembers; a new agent remembers nothing."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """How the call went. A killed one has no `out`: whatever it answered, nobody read it."""

    arguments: list[str]
    """As they were sent, tokens filled in."""
    status: int
    out: str
    is_killed: bool
    duration_ms: int


CALL_SECONDS = 60
MOMENT_SECONDS = 20
_LOOK_SECONDS = 0.0005
_HERMETIC = ("HANDRAIL_", "AI_NATIVE_CLI_SECRET", "PYTHONSTARTUP", "PYTHONINSPECT")


def make_demo_environment(environment: Mapping[str, str], home: str, project: str) -> dict[str, str]:
    """The caller's environment, but of Handrail's settings only the scratch directory."""
    kept = {name: value for name, value in environment.items() if not name.startswith(_HERMETIC)}
    return kept | {"HANDRAIL_HOME": home, "HANDRAIL_PROJECT": project}


class Calls:
    """Calls of the command line, each in a process of its own."""

    def __init__(self, environment: Mapping[str, str], directory: str) -> None:
        self._environment = make_child_environment(environment)
        self._directory = directory

    def make(self, arguments: Sequence[str]) -> Report:
        """One call, to its end."""
        started = time.monotonic_ns()
        with self._start(arguments, subprocess.PIPE) as child:
            try:
                out, _ = child.communicate(timeout=CALL_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
                out, _ = child.communicate()
        return _report(arguments, child, out, started)

    def kill(self, arguments: Sequence[str], moment: Moment, watched: str) -> Report:
        """The same call, killed at a given moment. It cannot end before, because nobody reads its reply."""
        started = time.monotonic_ns()
        reader, writer = _full_pipe()
        try:
            with self._start(arguments, writer) as child:
                try:
                    _wait(child, moment, watched)
                finally:
                    child.kill()
        finally:
            os.close(reader)
            os.close(writer)
        return _report(arguments, child, b"", started)

    def _start(self, arguments: Sequence[str], out: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - this interpreter and this package, no shell
            [*own_command(), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.DEVNULL,
            env=self._environment,
            cwd=self._directory,
        )


def read_tokens(out: str) -> dict[str, str]:
    """The tokens of an answer; of a list, those of the next call of its first item."""
    try:
        data = msgspec.json.decode(out).get("data", {})
    except (msgspec.DecodeError, AttributeError):
        return {}
    places: list[Any] = [data, data.get("session", {})]
    for candidate in data.get("items", [])[:1]:
        places += [candidate, candidate.get("nextCall", {}).get("params", {})]
    return {name: place[name] for place in places for name in FROM_MEMORY.values() if place.get(name)}


def _report(arguments: Sequence[str], child: subprocess.Popen[bytes], out: bytes, started: int) -> Report:
    return Report(
        arguments=list(arguments),
        status=child.returncode,
        out=out.decode(errors="replace"),
        is_killed=child.returncode == -signal.SIGKILL,
        duration_ms=(time.monotonic_ns() - started) // 1_000_000,
    )


def _full_pipe() -> tuple[int, int]:
    """A full pipe, so that a process that writes to it waits."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, bytes(4096))
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"x")
    os.set_blocking(writer, True)
    return reader, writer


def _wait(child: subprocess.Popen[bytes], moment: Moment, watched: str) -> None:
    """Wait for the moment, with a limit, because a failing call writes nothing."""
    begins = {"when_written": "events-", "when_attested": "manifest"}.get(moment)
    if begins is None:
        return
    ends_at = time.monotonic() + MOMENT_SECONDS
    before = _written(watched, begins)
    while child.poll() is None and time.monotonic() < ends_at and _written(watched, begins) == before:
        time.sleep(_LOOK_SECONDS)


def _written(directory: str, begins: str) -> list[tuple[str, int, int]]:
    """Name, size and time of the files with this prefix, which change when a session is written."""
    try:
        with os.scandir(directory) as found:
            files = [entry for entry in found if entry.name.startswith(begins)]
            return sorted((entry.name, entry.stat().st_size, entry.stat().st_mtime_ns) for entry in files)
    except OSError:
        return []


# The narrator: plain lines of at most 80 columns, and the same as data

WIDTH = 80
_INDENT = "   "
_TOKEN = re.compile(r"\b((?:st|ak|ck)1)[0-9a-z]{20,}([0-9a-z]{5})\b")
CHAPTER_SECONDS = 0.4
CHECK_SECONDS = 0.1


class ShownCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One claim of the demo and whether it held."""

    claim: str
    passed: bool


class Chapter(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the story with all its lines."""

    title: str
    told: list[str]


class Narrator:
    """Writes each line at once, and keeps all of them."""

    def __init__(self, write: Callable[[str], None], pause: Callable[[float], None]) -> None:
        self._write = write
        self._pause = pause
        self.chapters: list[Chapter] = []
        self.checks: list[ShownCheck] = []

    def begin(self, title: str) -> None:
        """Begin a new, numbered chapter."""
        self._pause(CHAPTER_SECONDS)
        self.chapters.append(Chapter(title=title, told=[]))
        self._write(f"\n{len(self.chapters)}. {title}\n\n")

    def say(self, text: str) -> None:
        """A paragraph."""
        self._show_lines(textwrap.wrap(text, WIDTH - len(_INDENT)))

    def quote(self, text: str, lines: int = 3) -> None:
        """The beginning of somebody's text, as it was written."""
        wrapped = [part for line in text.splitlines() for part in textwrap.wrap(line, WIDTH - 12)]
        more = ["…"] if len(wrapped) > lines else []
        self._show_lines([f"  | {line}" for line in (*wrapped[:lines], *more)])

    def command(self, arguments: Sequence[str]) -> None:
        """A call as it would be typed; tokens are shortened, and the end is cut if it is long."""
        typed = "$ handrail " + " ".join(shlex.quote(word) for word in arguments if word != "--compact")
        shown = _shortened(typed)
        line = _cut(shown, WIDTH - len(_INDENT))
        is_open = line != shown and line.count("'") % 2 == 1
        self._show_lines([line[:-2] + "…'" if is_open else line])

    def row(self, name: str, value: object) -> None:
        """One fact beside its name."""
        self._show_lines([_cut(f"  {name:<12} {_shortened(str(value))}", WIDTH - len(_INDENT))])

    def block(self, lines: Sequence[str]) -> None:
        """Lines that must keep their shape."""
        self._show_lines([_cut(f"  {line}", WIDTH - len(_INDENT)) for line in lines])

    def check(self, claim: str, passed: bool) -> None:
        """A claim, printed with its verdict."""
        self.checks.append(ShownCheck(claim=claim, passed=passed))
        mark = "[ok]" if passed else "[FAILED]"
        self._show_lines(textwrap.wrap(f"{mark} {claim}", WIDTH - len(_INDENT), subsequent_indent="     "))
        self._pause(CHECK_SECONDS)

    def has_passed(self) -> bool:
        return bool(self.checks) and all(check.passed for check in self.checks)

    def _show_lines(self, lines: Sequence[str]) -> None:
        self.chapters[-1].told.extend(lines)
        self._write("".join(f"{_INDENT}{line}".rstrip() + "\n" for line in lines))


def _shortened(text: str) -> str:
    """Tokens by their kind and their last characters: enough to tell them apart."""
    return _TOKEN.sub(r"\1…\2", text)


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 1] + "…"


# The log, read from the store itself


class LogFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A session's log at one moment."""

    events: int
    head: str
    """The chain digest of the last event: it changes whenever anything before it does."""
    is_healthy: bool
    advances: int
    """Steps that were accepted."""
    blocked: int = 0
    """Attempts that were not."""
    notes: Mapping[str, int]
    """Each text that was kept, and how often."""
    artifacts: Mapping[str, int] = {}
    """Each artifact that was found valid against its contract, by its digest, and how often."""

    def describe(self) -> str:
        return f"{self.events} events, head {self.head[:12]}"


def read_log(home: str, session_id: str) -> LogFacts:
    """Read the log from disk."""
    loaded = build_runtime({"HANDRAIL_HOME": home}).log.load(SessionId(session_id))
    assert loaded is not None, "the demo asks only for the session it has started"
    facts = [decode_event(record.body).data for record in loaded.records]
    answers = [fact.outcome for fact in facts if isinstance(fact, AdvanceRecorded)]
    kept = [fact for fact in facts if isinstance(fact, NodeOutputAppended)]
    checked = [fact.artifact for fact in kept if fact.artifact is not None and fact.artifact.contract_ref]
    advances = sum(isinstance(answer, Advanced) for answer in answers)
    return LogFacts(
        events=loaded.head,
        head=loaded.records[-1].digest,
        is_healthy=loaded.health.state == "healthy",
        advances=advances,
        blocked=len(answers) - advances,
        notes=Counter(fact.notes.text for fact in kept if isinstance(fact.notes, NotesKept)),
        artifacts=Counter(artifact.digest for artifact in checked),
    )


# The scene: makes the calls of its agent, counts, and remembers what was acknowledged


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a CLI document that the demo reads."""

    data: dict[str, Any] = {}
    error: dict[str, Any] = {}


class Broken(Exception):
    """The story cannot go on: a call did not do what it always does."""


class Scene:
    """The agent, the counts, and what was acknowledged."""

    def __init__(self, narrator: Narrator, environment: Mapping[str, str], home: str, project: str) -> None:
        self.narrator = narrator
        self.home = home
        self.calls = 0
        self.kills = 0
        self.session_id = ""
        self.acknowledged: list[str] = []
        """The notes of every step that was acknowledged; no two are the same."""
        self.delivered: list[str] = []
        """The digest of every artifact that came with one of them; no two are the same."""
        self._calls = Calls(environment, project)
        self._project = project
        self._memory: dict[str, str] = {}
        """The tokens that the agent was told: what is lost with a chat."""

    def new_agent(self) -> None:
        """An agent that knows nothing."""
        self._memory = {}

    def call(self, *arguments: str) -> Answer:
        """Let the agent make a call, and show it. Raises Broken when it fails."""
        self.calls += 1
        report = self._calls.make(self._fill_in(arguments))
        self._memory |= read_tokens(report.out)
        self.narrator.command(report.arguments)
        answer = _answer(report)
        if answer.error:
            raise Broken(f"{' '.join(arguments[:2])} failed: {answer.error.get('message', report.out)}")
        return answer

    def killed_call(self, *arguments: str, moment: Moment) -> Report:
        """Let the agent start a call and kill it."""
        self.calls += 1
        sessions = os.path.join(self.home, "data", "sessions")
        report = self._calls.kill(self._fill_in(arguments), moment, os.path.join(sessions, self.session_id))
        self.narrator.command(report.arguments)
        self.kills += report.is_killed
        return report

    def killed_report(self, notes: str, artifact: dict[str, Any] | None, moment: Moment) -> Report:
        """The same report as `finish` sends, in a call that is killed."""
        sent = () if artifact is None else ("--input", _input_with(artifact))
        return self.killed_call("run", "continue", "--ack", "@ack", "--notes", notes, *sent, moment=moment)

    def finish(self, notes: str, artifact: dict[str, Any] | None = None) -> Answer:
        """Report the pending step as done, with the artifact that it asks for."""
        return self._send_report(notes, artifact, "--ack", "@ack", "--notes", notes)

    def correct(self, notes: str, artifact: dict[str, Any]) -> Answer:
        """Bring the artifact that a blocked attempt left out; its notes are kept and not sent again."""
        return self._send_report(notes, artifact, "--ack", "@retry")

    def _send_report(self, notes: str, artifact: dict[str, Any] | None, *arguments: str) -> Answer:
        sent = () if artifact is None else ("--input", _input_with(artifact))
        answer = self.call("run", "continue", *arguments, *sent)
        if answer.data.get("kind") == "blocked":
            raise Broken(f"the step {answer.data['pending']['title']!r} was blocked")
        self.acknowledged.append(notes)
        if artifact is not None:
            self.delivered.append(digest(artifact))
        return answer

    def lie(self, artifact: dict[str, Any]) -> Answer:
        """Send an artifact that a blocked attempt left out, although the work behind it was not done."""
        return self.call("run", "continue", "--ack", "@retry", "--input", _input_with(artifact))

    def write_file(self, name: str, content: str) -> None:
        """Let the agent change a file of the project."""
        with open(os.path.join(self._project, name), "w", encoding="utf-8") as file:
            file.write(content)

    def log(self) -> LogFacts:
        return read_log(self.home, self.session_id)

    def _fill_in(self, arguments: Sequence[str]) -> list[str]:
        return [*(self._memory.get(FROM_MEMORY.get(word, ""), word) for word in arguments), "--compact"]


def _input_with(artifact: dict[str, Any]) -> str:
    return msgspec.json.encode({"output": {"artifacts": [artifact]}}).decode()


def _answer(report: Report) -> Answer:
    try:
        return msgspec.json.decode(report.out, type=Answer)
    except msgspec.DecodeError as trouble:
        raise Broken(
            f"the answer with status {report.status} is no document: {report.out[:200]}"
        ) from trouble
