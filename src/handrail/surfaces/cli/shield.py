"""Ports whose commits no signal can tear apart: inside one it waits, after one the truth is told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING

from handrail.contract.ids import BlobRef, SessionId
from handrail.contract.vocabulary import Autonomy, RiskPolicy
from handrail.ports import (
    Appended,
    AuthoredFiles,
    Blob,
    Claim,
    Committed,
    ConfirmedTokens,
    Draft,
    EventLog,
    KeyringFacts,
    Keys,
    Loaded,
    Remembered,
    SessionHold,
    SessionStamp,
    SettingProblem,
    Settings,
    SettingsFiles,
)
from handrail.surfaces.cli.process import Process

if TYPE_CHECKING:  # Every call pays for an import, and few make a file.
    from handrail.contract.authored_facts import FilePlace


class ShieldedLog:
    """Passes everything on; only appending is guarded."""

    def __init__(self, log: EventLog, process: Process) -> None:
        self._log = log
        self._process = process

    def load(self, session_id: SessionId) -> Loaded | None:
        return self._log.load(session_id)

    def load_since(self, session_id: SessionId, index: int) -> Loaded | None:
        return self._log.load_since(session_id, index)

    def recall(self, session_id: SessionId) -> Remembered | None:
        return self._log.recall(session_id)

    def list_sessions(self) -> Sequence[SessionStamp]:
        return self._log.list_sessions()

    def get_blob(self, ref: BlobRef) -> bytes:
        return self._log.get_blob(ref)

    def hold(self, session_id: SessionId, wait_ms: int) -> AbstractContextManager[SessionHold]:
        return _ShieldedScope(self._log.hold(session_id, wait_ms), self._process)

    def hold_existing(self, session_id: SessionId, wait_ms: int) -> AbstractContextManager[SessionHold]:
        return _ShieldedScope(self._log.hold_existing(session_id, wait_ms), self._process)


class ShieldedFiles:
    """New files: made whole, and told."""

    def __init__(self, files: AuthoredFiles, process: Process) -> None:
        self._files = files
        self._process = process

    def place(self, project: str, directory: str, name: str) -> FilePlace:
        return self._files.place(project, directory, name)

    def create(self, path: str, content: bytes) -> bool:
        with self._process.shielded():
            is_made = self._files.create(path, content)
            if is_made:
                self._process.settle()
        return is_made

    def create_private(self, path: str, parts: Iterable[bytes]) -> bool:
        with self._process.shielded():
            is_made = self._files.create_private(path, parts)
            if is_made:
                self._process.settle()
        return is_made


class ShieldedTokens:
    """Used confirm tokens: a claim is made whole; the write it is for may still be interrupted."""

    def __init__(self, tokens: ConfirmedTokens, process: Process) -> None:
        self._tokens = tokens
        self._process = process

    def claim(self, fingerprint: str, *, expires_at: int, now: int) -> Claim:
        with self._process.shielded():
            return self._tokens.claim(fingerprint, expires_at=expires_at, now=now)

    def is_used(self, fingerprint: str) -> bool:
        return self._tokens.is_used(fingerprint)


class ShieldedKeys:
    """The keyring: a rotation is made whole, and told."""

    def __init__(self, keys: Keys, process: Process) -> None:
        self._keys = keys
        self._process = process

    def facts(self) -> KeyringFacts:
        return self._keys.facts()

    def signing_key(self, purpose: str) -> bytes:
        return self._keys.signing_key(purpose)

    def request_key(self) -> bytes:
        return self._keys.request_key()

    def verifying_keys(self, purpose: str) -> tuple[bytes, ...]:
        return self._keys.verifying_keys(purpose)

    def rotate(self, expected_version: str) -> bool:
        with self._process.shielded():
            is_done = self._keys.rotate(expected_version)
            if is_done:
                self._process.settle()
        return is_done


class ShieldedSettings:
    """The user's settings: a change is kept whole, and told."""

    def __init__(self, settings: SettingsFiles, process: Process) -> None:
        self._settings = settings
        self._process = process

    def of(self, project: str = "") -> Settings:
        return self._settings.of(project)

    def problems(self, project: str = "") -> tuple[SettingProblem, ...]:
        return self._settings.problems(project)

    def set_preferences(
        self, autonomy: Autonomy | None, risk_policy: RiskPolicy | None, shown: Settings
    ) -> bool:
        with self._process.shielded():
            is_set = self._settings.set_preferences(autonomy, risk_policy, shown)
            if is_set:
                self._process.settle()
        return is_set


class _ShieldedScope(AbstractContextManager[SessionHold]):
    def __init__(self, scope: AbstractContextManager[SessionHold], process: Process) -> None:
        self._scope = scope
        self._process = process

    def __enter__(self) -> SessionHold:
        return _ShieldedHold(self._scope.__enter__(), self._process)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._scope.__exit__(kind, error, trace)


class _ShieldedHold:
    def __init__(self, hold: SessionHold, process: Process) -> None:
        self._hold = hold
        self._process = process

    def load(self) -> Loaded | None:
        return self._hold.load()

    def load_since(self, index: int) -> Loaded | None:
        return self._hold.load_since(index)

    def append(self, expected_head: int, plan: Sequence[Draft], blobs: Sequence[Blob] = ()) -> Appended:
        with self._process.shielded():
            answer = self._hold.append(expected_head, plan, blobs)
            if isinstance(answer, Committed):
                self._process.settle()
        return answer

    def remember(self, content: bytes) -> None:
        self._hold.remember(content)
