"""The scene of the demo: the narrator, the log as it is, and the agent with its memory and its calls."""

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

# The narrator: plain lines of at most 80 columns, and the same as data

WIDTH = 80
_INDENT = "   "
_TOKEN = re.compile(r"\b((?:st|ak|ck)1)[0-9a-z]{20,}([0-9a-z]{5})\b")
CHAPTER_SECONDS = 0.4
CHECK_SECONDS = 0.1


class Narrator:
    """Writes each line at once, and keeps all of them."""

    def __init__(self, write: Callable[[str], None], pause: Callable[[float], None]) -> None:
        self._write = write
        self._pause = pause
        self.chapters: list[tuple[str, list[str]]] = []
        """Each with its title and its lines."""
        self.checks: list[tuple[str, bool]] = []
        """Each claim, and whether it held."""

    def begin(self, title: str) -> None:
        """Begin a new, numbered chapter."""
        self._pause(CHAPTER_SECONDS)
        self.chapters.append((title, []))
        self._write(f"\n{len(self.chapters)}. {title}\n\n")

    def write(self, text: str) -> None:
        """A paragraph."""
        self._show_lines(textwrap.wrap(text, WIDTH - len(_INDENT)))

    def quote(self, text: str) -> None:
        """The beginning of somebody's text, as it was written."""
        wrapped = [part for line in text.splitlines() for part in textwrap.wrap(line, WIDTH - 12)]
        more = ["…"] if len(wrapped) > 3 else []
        self._show_lines([f"  | {line}" for line in (*wrapped[:3], *more)])

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
        self.checks.append((claim, passed))
        mark = "[ok]" if passed else "[FAILED]"
        self._show_lines(textwrap.wrap(f"{mark} {claim}", WIDTH - len(_INDENT), subsequent_indent="     "))
        self._pause(CHECK_SECONDS)

    def has_passed(self) -> bool:
        return bool(self.checks) and all(passed for _, passed in self.checks)

    def _show_lines(self, lines: Sequence[str]) -> None:
        self.chapters[-1][1].extend(lines)
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


# The agent: its calls are processes of this package, each by itself

Moment: TypeAlias = Literal["at_once", "when_written", "when_attested"]
"""When the agent kills the call it has just started.

`when_written`: its events have reached the disk; `when_attested`: so has the record that makes them count.
"""

CALL_SECONDS = 60
MOMENT_SECONDS = 20
_LOOK_SECONDS = 0.0005
_BEGINNINGS: dict[Moment, str] = {"when_written": "events-", "when_attested": "manifest"}
"""Of the files that have changed then."""
_HERMETIC = ("HANDRAIL_", "AI_NATIVE_CLI_SECRET", "PYTHONSTARTUP", "PYTHONINSPECT")
_TOKEN_FIELD = re.compile(rb'"(ackToken|retryAckToken|stateToken)":"([a-z0-9]+)"')
_FROM_MEMORY = {"@ack": "ackToken", "@retry": "retryAckToken", "@state": "stateToken"}
"""Words of a call that the agent replaces by what it remembers; a new agent remembers nothing."""


class Broken(Exception):
    """The story cannot go on: a call did not do what it always does."""


def make_demo_environment(environment: Mapping[str, str], home: str, project: str) -> dict[str, str]:
    """The caller's environment, but of Handrail's settings only the scratch directory."""
    kept = {name: value for name, value in environment.items() if not name.startswith(_HERMETIC)}
    return kept | {"HANDRAIL_HOME": home, "HANDRAIL_PROJECT": project}


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
        self._environment = make_child_environment(environment)
        self._project = project
        self._memory: dict[str, str] = {}
        """The tokens that the agent was told: what is lost with a chat."""

    def new_agent(self) -> None:
        """An agent that knows nothing."""
        self._memory = {}

    def call(self, *arguments: str) -> dict[str, Any]:
        """Let the agent make a call, and show it: its answer. Raises Broken when it fails."""
        what = " ".join(arguments[:2])
        with self._start(arguments, subprocess.PIPE) as child:
            try:
                out, _ = child.communicate(timeout=CALL_SECONDS)
            except subprocess.TimeoutExpired as trouble:
                child.kill()
                raise Broken(f"{what} took longer than {CALL_SECONDS} seconds") from trouble
        self._memory |= read_tokens(out)
        try:
            document: dict[str, Any] = msgspec.json.decode(out, type=dict)
        except msgspec.DecodeError as trouble:
            raise Broken(f"{what} ended with {child.returncode} and no document: {out[:200]!r}") from trouble
        if "data" not in document:
            raise Broken(f"{what} failed: {document['error']['message']}")
        data: dict[str, Any] = document["data"]
        return data

    def kill(self, moment: Moment, *arguments: str) -> str:
        """Let the agent start a call and kill it; in words, what came of it.

        The call cannot end before, because nobody reads its reply.
        """
        started = time.monotonic_ns()
        reader, writer = _full_pipe()
        try:
            with self._start(arguments, writer) as child:
                try:
                    self._wait(child, moment)
                finally:
                    child.kill()
        finally:
            os.close(reader)
            os.close(writer)
        is_killed = child.returncode == -signal.SIGKILL
        self.kills += is_killed
        passed_ms = (time.monotonic_ns() - started) // 1_000_000
        return f"after {passed_ms} ms" if is_killed else "no, it had ended"

    def kill_report(self, moment: Moment, notes: str, artifact: dict[str, Any] | None) -> str:
        """The same report as `finish` sends, in a call that is killed."""
        return self.kill(moment, *_spell_report("@ack", artifact, notes))

    def finish(self, notes: str, artifact: dict[str, Any] | None = None) -> dict[str, Any]:
        """Report the pending step as done, with the artifact that it asks for."""
        return self._deliver(notes, artifact, *_spell_report("@ack", artifact, notes))

    def correct(self, notes: str, artifact: dict[str, Any]) -> dict[str, Any]:
        """Bring the artifact that a blocked attempt left out; its notes are kept and not sent again."""
        return self._deliver(notes, artifact, *_spell_report("@retry", artifact))

    def lie(self, artifact: dict[str, Any]) -> dict[str, Any]:
        """Send an artifact that a blocked attempt left out, although the work behind it was not done."""
        return self.call(*_spell_report("@retry", artifact))

    def write_file(self, name: str, content: str) -> None:
        """Let the agent change a file of the project."""
        with open(os.path.join(self._project, name), "w", encoding="utf-8") as file:
            file.write(content)

    def log(self) -> LogFacts:
        return read_log(self.home, self.session_id)

    def _deliver(self, notes: str, artifact: dict[str, Any] | None, *arguments: str) -> dict[str, Any]:
        answer = self.call(*arguments)
        if answer.get("kind") == "blocked":
            raise Broken(f"the step {answer['pending']['title']!r} was blocked")
        self.acknowledged.append(notes)
        self.delivered += [] if artifact is None else [digest(artifact)]
        return answer

    def _start(self, arguments: Sequence[str], out: int) -> subprocess.Popen[bytes]:
        typed = [*(self._memory.get(_FROM_MEMORY.get(word, ""), word) for word in arguments), "--compact"]
        self.calls += 1
        self.narrator.command(typed)
        return subprocess.Popen(  # noqa: S603 - this interpreter and this package, no shell
            [*own_command(), *typed],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.DEVNULL,
            env=self._environment,
            cwd=self._project,
        )

    def _wait(self, child: subprocess.Popen[bytes], moment: Moment) -> None:
        """Wait for the moment, with a limit, because a failing call writes nothing."""
        if moment == "at_once":
            return
        ends_at = time.monotonic() + MOMENT_SECONDS
        before = self._written(moment)
        while child.poll() is None and time.monotonic() < ends_at and self._written(moment) == before:
            time.sleep(_LOOK_SECONDS)

    def _written(self, moment: Moment) -> list[tuple[str, int, int]]:
        """Name, size and time of the files that are written until then."""
        with os.scandir(os.path.join(self.home, "data", "sessions", self.session_id)) as found:
            files = [entry for entry in found if entry.name.startswith(_BEGINNINGS[moment])]
            return sorted((entry.name, entry.stat().st_size, entry.stat().st_mtime_ns) for entry in files)


def read_tokens(out: bytes) -> dict[str, str]:
    """The tokens of a compact answer; the first of each kind is the one to go on with."""
    return {name.decode(): token.decode() for name, token in reversed(_TOKEN_FIELD.findall(out))}


def _spell_report(token: str, artifact: dict[str, Any] | None, notes: str = "") -> tuple[str, ...]:
    words = ("--notes", notes) if notes else ()
    sent = msgspec.json.encode({"output": {"artifacts": [artifact]}}).decode()
    return ("run", "continue", "--ack", token, *words, *(() if artifact is None else ("--input", sent)))


def _full_pipe() -> tuple[int, int]:
    """A full pipe, so that a process that writes to it waits."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    for size in (4096, 1):
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, bytes(size))
    os.set_blocking(writer, True)
    return reader, writer
