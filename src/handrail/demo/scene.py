"""The scene of the demo: the narrator, and the agent with its memory and its calls."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from handrail.host.programs import make_child_environment, own_command

WIDTH = 80
_INDENT = "   "
_TOKEN = re.compile(r"\b((?:st|ak|ck)1)[0-9a-z]{20,}([0-9a-z]{5})\b")


class Narrator:
    """Writes plain lines of at most 80 columns at once, and keeps all of them."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self.chapters: list[tuple[str, list[str]]] = []
        """Each with its title and its lines."""
        self.checks: list[tuple[str, bool]] = []
        """Each claim, and whether it held."""

    def begin(self, title: str) -> None:
        """Begin a new, numbered chapter."""
        self.chapters.append((title, []))
        self._write(f"\n{len(self.chapters)}. {title}\n\n")

    def write(self, text: str) -> None:
        """Write a paragraph, or a command in one line."""
        self._show([text] if text.startswith("$") else textwrap.wrap(text, WIDTH - len(_INDENT)))

    def row(self, name: str, value: object) -> None:
        """Write one fact beside its name; tokens are shortened, and the end is cut if it is long."""
        self._show([f"  {name:<12} {value}".rstrip()])

    def draw(self, lines: Sequence[str]) -> None:
        """Write lines that must keep their shape."""
        self._show([f"  {line}" for line in lines])

    def check(self, claim: str, passed: bool) -> None:
        """Write a claim with its verdict."""
        self.checks.append((claim, passed))
        mark = "[ok]" if passed else "[FAILED]"
        self._show(textwrap.wrap(f"{mark} {claim}", WIDTH - len(_INDENT), subsequent_indent="     "))

    def failed_claims(self) -> list[str]:
        """Return the claims that did not hold; a story without claims shows nothing."""
        failed = [claim for claim, passed in self.checks if not passed]
        return failed if self.checks else ["The demo checks something."]

    def _show(self, lines: Sequence[str]) -> None:
        width = WIDTH - len(_INDENT)
        short = [_TOKEN.sub(r"\1…\2", line) for line in lines]
        cut = [line if len(line) <= width else line[: width - 1] + "…" for line in short]
        self.chapters[-1][1].extend(cut)
        self._write("".join(f"{_INDENT}{line}".rstrip() + "\n" for line in cut))


CALL_SECONDS = 60
MOMENT_SECONDS = 20
_LOOK_SECONDS = 0.0005
_HERMETIC = ("HANDRAIL_", "AI_NATIVE_CLI_SECRET", "PYTHONSTARTUP", "PYTHONINSPECT")
_TOKEN_FIELD = re.compile(rb'"(ackToken|retryAckToken|stateToken)":"([a-z0-9]+)"')
_FROM_MEMORY = {"@ack": "ackToken", "@retry": "retryAckToken", "@state": "stateToken"}
"""Words of a call that the agent replaces by what it remembers."""


class Broken(Exception):
    """The story cannot go on: a call did not do what it always does."""


def make_demo_environment(environment: Mapping[str, str], home: str, project: str) -> dict[str, str]:
    """Return the caller's environment, but of Handrail's settings only the scratch directory."""
    kept = {name: value for name, value in environment.items() if not name.startswith(_HERMETIC)}
    return kept | {"HANDRAIL_HOME": home, "HANDRAIL_PROJECT": project}


class Scene:
    """The agent, whose calls are processes."""

    def __init__(self, narrator: Narrator, environment: Mapping[str, str], home: str, project: str) -> None:
        self.narrator = narrator
        self.home = home
        self.calls = 0
        self.kills = 0
        self.session_id = ""
        self._environment = make_child_environment(environment)
        self._project = project
        self._memory: dict[str, str] = {}
        """The tokens that the agent got."""

    def forget_tokens(self) -> None:
        """Lose what was in the chat."""
        self._memory = {}

    def call(self, *arguments: str) -> dict[str, Any]:
        """Let the agent make a call, and return its answer. Raises Broken when it fails."""
        what = " ".join(arguments[:2])
        with self._start(arguments, subprocess.PIPE) as child:
            try:
                out, _ = child.communicate(timeout=CALL_SECONDS)
            except subprocess.TimeoutExpired as trouble:
                child.kill()
                raise Broken(f"{what} took longer than {CALL_SECONDS} seconds") from trouble
        self._memory |= {name.decode(): token.decode() for name, token in reversed(_TOKEN_FIELD.findall(out))}
        try:
            document: dict[str, Any] = msgspec.json.decode(out, type=dict)
        except msgspec.DecodeError as trouble:
            raise Broken(f"{what} ended with {child.returncode} and no document: {out[:200]!r}") from trouble
        if "data" not in document:
            raise Broken(f"{what} failed: {document['error']['message']}")
        data: dict[str, Any] = document["data"]
        return data

    def kill_report(self, notes: str) -> str:
        """Start the call that `finish` makes and kill it once its commit is on the disk; say what came of it.

        The call cannot end before, because nobody reads its reply.
        """
        started = time.monotonic_ns()
        before = self.commits()
        reader, writer = _full_pipe()
        try:
            with self._start(_spell_report("@ack", notes, None), writer) as child:
                ends_at = time.monotonic() + MOMENT_SECONDS
                while child.poll() is None and time.monotonic() < ends_at and self.commits() == before:
                    time.sleep(_LOOK_SECONDS)
                child.kill()
        finally:
            os.close(reader)
            os.close(writer)
        is_killed = child.returncode == -signal.SIGKILL
        self.kills += is_killed
        passed_ms = (time.monotonic_ns() - started) // 1_000_000
        return f"after {passed_ms} ms" if is_killed else "no, it had ended"

    def finish(self, notes: str, artifact: dict[str, Any] | None = None) -> dict[str, Any]:
        """Report the pending step as done, with the artifact that it requires."""
        return self._deliver(_spell_report("@ack", notes, artifact))

    def correct(self, artifact: dict[str, Any]) -> dict[str, Any]:
        """Send the artifact that a blocked report left out; its notes are kept and not sent again."""
        return self._deliver(_spell_report("@retry", "", artifact))

    def write_workflow(self, text: str) -> None:
        """Put a workflow where the user keeps theirs."""
        folder = os.path.join(self.home, "workflows")
        os.makedirs(self.home, 0o700)
        os.mkdir(folder, 0o700)
        with open(os.path.join(folder, "demo.md"), "w", encoding="utf-8") as file:
            file.write(text)

    def write_file(self, name: str, content: str) -> None:
        """Let the agent change a file of the project."""
        with open(os.path.join(self._project, name), "w", encoding="utf-8") as file:
            file.write(content)

    def _deliver(self, arguments: Sequence[str]) -> dict[str, Any]:
        answer = self.call(*arguments)
        if answer.get("kind") == "blocked":
            why = "; ".join(blocker["message"] for blocker in answer["blockers"])
            raise Broken(f"the step {answer['pending']['title']!r} was blocked: {why}")
        return answer

    def _start(self, arguments: Sequence[str], out: int) -> subprocess.Popen[bytes]:
        typed = [self._memory.get(_FROM_MEMORY.get(word, ""), word) for word in arguments]
        self.calls += 1
        self.narrator.write(f"$ handrail {shlex.join(typed)}")
        return subprocess.Popen(  # noqa: S603 - this interpreter and this package, no shell
            [*own_command(), *typed, "--compact"],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.DEVNULL,
            env=self._environment,
            cwd=self._project,
        )

    def commits(self) -> list[tuple[str, int, int]]:
        """Return name, size and time of the files that make events count."""
        with os.scandir(os.path.join(self.home, "data", "sessions", self.session_id)) as found:
            files = [entry for entry in found if entry.name.startswith("manifest")]
            return sorted((entry.name, entry.stat().st_size, entry.stat().st_mtime_ns) for entry in files)


def _spell_report(token: str, notes: str, artifact: dict[str, Any] | None) -> tuple[str, ...]:
    words = ("--notes", notes) if notes else ()
    sent = msgspec.json.encode({"output": {"artifacts": [artifact]}}).decode()
    return ("run", "continue", "--ack", token, *words, *(() if artifact is None else ("--input", sent)))


def _full_pipe() -> tuple[int, int]:
    """Return a full pipe, so that a process that writes to it waits."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    for size in (4096, 1):
        try:
            while True:
                os.write(writer, bytes(size))
        except BlockingIOError:
            continue
    os.set_blocking(writer, True)
    return reader, writer
