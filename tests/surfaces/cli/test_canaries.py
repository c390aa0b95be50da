"""One unique secret per channel, every command in every mode: none comes out where it does not belong.

Every example of every command runs as it stands, as text, with a wrong flag, with a made-up token, and
interrupted. The whole home is searched afterwards, but for the file that holds the keys.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail import main
from handrail.contract.redaction import Secrets
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.process import Interrupted, Process
from handrail.surfaces.cli.run import run
from handrail.surfaces.cli.self_description.help_table import read_help
from handrail.surfaces.mcp.results import answer_call
from handrail.surfaces.mcp.tools import offered_tools
from handrail.wiring import build_runtime
from tests.conftest import THREE_STEPS
from tests.hostile.spelled import carries
from tests.operations.asked import answered

pytestmark = pytest.mark.thorough

ENVIRONMENT = "canary-environment-7f3a/+x"
TOKEN = "ct_canary-argv-91be77"
SETTING = "canary-setting-55d0c1"
CONTEXT = "canary-context-0c4e19"
NOTES = "canary-notes-b7d2e8"
SKIPPED = ("mcp", "hook", "demo", "serve", "console", "update", "setup", "store selftest", "completion")
"""Servers, the demo and what installs have tests of their own; a self-test takes long."""

EXAMPLES = [
    (path, example)
    for path, entry in read_help().items()
    if path not in SKIPPED
    for example in entry["examples"]
]


class Silent(Process):
    """Keeps what would be written, after redaction, as the real one writes it."""

    def __init__(self, secrets: Secrets) -> None:
        super().__init__()
        self.redact = secrets.redact
        self.written = b""

    def start_deadline(self, seconds: int) -> None:
        del seconds

    def read_stdin(self, limit_bytes: int) -> bytes:
        del limit_bytes
        return NOTES.encode()

    def deliver(self, out: bytes, err: bytes, status: int, undelivered: int) -> int:
        del undelivered
        self.written += self.redact(err) + self.redact(out)
        return status

    def deliver_line(self, line: bytes) -> OSError | None:
        self.written += self.redact(line)
        return None


class Place:
    """A home with one session in it, and what its owner would never want to see elsewhere."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.home = str(folder / "home")
        self.environment = {"HANDRAIL_PROJECT": str(folder), **environment}
        os.makedirs(self.home)
        Path(self.home, "config.json").write_text(f'{{"apiKey": "{SETTING}"}}', encoding="utf-8")
        rt = build_runtime(self.environment, home=self.home)
        self.reply = answered(rt, "run.start", workflowId="wr.small_change", requestId="k")
        self.outputs: dict[str, bytes] = {}

    def names(self) -> dict[str, str]:
        return {
            "CONFIRM_TOKEN": TOKEN,
            "ACK_TOKEN": self.reply["ackToken"],
            "STATE_TOKEN": self.reply["stateToken"],
            "CHECKPOINT_TOKEN": self.reply["checkpointToken"],
            "SESSION_ID": self.reply["session"]["sessionId"],
            "RUN_ID": self.reply["session"]["runId"],
        }

    def call(self, words: list[str], *, is_interrupted: bool = False) -> None:
        secrets = Secrets()
        process = Silent(secrets)

        def runtime() -> Runtime:
            built = build_runtime(self.environment, home=self.home, secrets=secrets)
            return msgspec.structs.replace(built, clock=_Stopping(built.clock)) if is_interrupted else built

        parts = msgspec.structs.replace(main._command_parts(secrets), runtime=runtime)
        run(process, words, self.environment, parts)
        self.outputs[shlex.join(words) + (" (interrupted)" if is_interrupted else "")] = process.written

    def everything_written(self) -> Iterator[tuple[str, bytes]]:
        yield from self.outputs.items()
        for path in sorted(Path(self.home).rglob("*")):
            if path.is_file() and path.name not in ("keyring.json", "config.json"):
                yield str(path), path.read_bytes()


class _Stopping:
    """A clock at which a signal arrives: the first look is that of the call, the next that of its work."""

    def __init__(self, clock: Any) -> None:
        self._clock = clock
        self._looks = 0

    def __getattr__(self, name: str) -> Any:
        if name in ("unix_seconds", "now"):
            self._looks += 1
            if self._looks == 1:
                raise Interrupted(is_deadline=False)
        return getattr(self._clock, name)


def found_in(place: Place, secret: bytes) -> list[str]:
    return [where for where, content in place.everything_written() if carries(content, secret)]


@pytest.fixture(scope="module", params=["keyring", "environment"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Every command, in every mode, once with keys from the file and once with a secret from outside."""
    folder = tmp_path_factory.mktemp(request.param)
    here = Place(folder, {"AI_NATIVE_CLI_SECRET": ENVIRONMENT} if request.param == "environment" else {})
    before = os.getcwd()
    os.chdir(folder)
    try:
        (folder / "my_check.json").write_bytes(THREE_STEPS)
        for _, example in EXAMPLES:
            words = [here.names().get(word, word) for word in shlex.split(example)[1:]]
            here.call(words)
            if "--" not in words:  # what follows it are the words of a program, which a receipt keeps
                here.call([*words, "--bogus", "--also=canary-argv-91be77"])
            here.call(words, is_interrupted=True)
            if "--format" not in words and "--stream" not in words:
                here.call([*words, "--format", "text"])
    finally:
        os.chdir(before)
    return here


def test_every_command_ran_in_every_mode(place: Place) -> None:
    assert len(place.outputs) > 3 * len({path for path, _ in EXAMPLES})
    assert any(b"E_INTERRUPTED" in content for content in place.outputs.values())


@pytest.mark.promise("cli.secrets")
def test_no_key_and_no_secret_of_the_environment_comes_out(place: Place) -> None:
    secrets = [ENVIRONMENT.encode()]
    ring = Path(place.home, "data", "keys", "keyring.json")
    if ring.exists():
        stored = msgspec.json.decode(ring.read_bytes())
        secrets += [bytes.fromhex(stored[name]) for name in ("current", "previous") if stored.get(name)]

    assert {str(secret): found_in(place, secret) for secret in secrets if found_in(place, secret)} == {}


@pytest.mark.promise("cli.secrets")
@pytest.mark.parametrize("more", [[], ["--format", "text"]])
def test_a_call_that_names_a_secret_is_not_told_it_back(tmp_path: Path, more: list[str]) -> None:
    here = Place(tmp_path, {"AI_NATIVE_CLI_SECRET": ENVIRONMENT})

    here.call(["workflow", "inspect", ENVIRONMENT, *more])

    assert b"[redacted]" in b"".join(here.outputs.values())
    assert found_in(here, ENVIRONMENT.encode()) == []


@pytest.mark.promise("cli.secrets")
def test_no_token_of_a_command_line_and_no_setting_comes_out(place: Place) -> None:
    assert found_in(place, TOKEN.encode()) == []
    assert found_in(place, b"canary-argv-91be77") == []
    assert found_in(place, SETTING.encode()) == []


@pytest.mark.promise("cli.details-redacted")
def test_secret_in_a_refused_start_is_not_repeated(place: Place) -> None:
    line = ["run", "start", "wr.small_change", "--context", f'{{"dbPassword":"{CONTEXT}","scope":"src"}}']

    place.call(line)
    place.call([*line, "--format", "text"])
    place.call([*line, "--request-id", "not a key"])

    outputs = [place.outputs[shlex.join([*line, *more])] for more in ([], ["--format", "text"])]
    assert all(CONTEXT.encode() not in output for output in outputs)
    assert b"[redacted]" in outputs[0]


@pytest.mark.promise("cli.untrusted")
def test_notes_come_out_as_untrusted_data_only(place: Place) -> None:
    place.call(["run", "continue", "--ack", "ak1nonsense", "--notes-file", "-"])
    audit = b"".join(path.read_bytes() for path in Path(place.home, "audit").iterdir())

    assert NOTES.encode() not in place.outputs["run continue --ack ak1nonsense --notes-file -"]
    assert NOTES.encode() not in audit


@pytest.mark.promise("cli.secrets")
def test_a_defect_s_traceback_holds_no_secret(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = Secrets()
    rt = build_runtime(
        {**place.environment, "AI_NATIVE_CLI_SECRET": ENVIRONMENT}, home=place.home, secrets=secrets
    )

    def broken(*_: object) -> None:
        raise RuntimeError(f"the secret is {ENVIRONMENT}")

    monkeypatch.setattr("handrail.event_log.files.log.FileLog.load", broken)
    perform(rt, "session.show", {"sessionId": "ses_000000000000"})

    texts = [path.read_bytes() for path in Path(place.home, "incidents").iterdir()]
    assert any(b"the secret is [redacted]" in text for text in texts)
    assert all(ENVIRONMENT.encode() not in text for text in texts)


def test_a_secret_does_not_reach_a_protocol_client_either(place: Place) -> None:
    rt = build_runtime({**place.environment, "AI_NATIVE_CLI_SECRET": ENVIRONMENT}, home=place.home)
    tools = offered_tools()

    rendered = answer_call(rt, tools, tools["resume_session"], {"query": ENVIRONMENT}, "standard")

    assert ENVIRONMENT not in rendered.text
    assert ENVIRONMENT not in msgspec.json.encode(rendered.structured).decode()
