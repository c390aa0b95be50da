"""The server of a team as a process of its own, on a database of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

from handrail.wiring import build_runtime
from handrail_team.accounts.directory import open_directory
from tests.referees.console_place import WAIT_SECONDS, next_line
from tests.referees.equipment import ROOT


class TeamServer:
    """`handrail serve --team`; ended by `stop`. Its pages are opened without a token."""

    token = ""

    def __init__(self, home: Path, store: str, *more: str) -> None:
        """`more` are flags of `serve`."""
        self._around = {
            "HANDRAIL_HOME": str(home),
            "HANDRAIL_PROJECT": str(home.parent),
            "HANDRAIL_STORE": store,
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join((os.path.join(ROOT, "src"), ROOT)),
        }
        made = self._run("team", "init", "--request-id", "first")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "handrail.main", "serve", "--team", "--port", "0", *more],
            env=self._around,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            encoding="utf-8",
        )
        self.address = next_line(self.process).strip()
        self.invitation = f"{self.address}join#{made['link'].partition('#')[2]}"

    def _run(self, *words: str) -> Any:
        command = [sys.executable, "-m", "handrail.main", *words]
        done = subprocess.run(
            command, env=self._around, capture_output=True, check=True, timeout=WAIT_SECONDS
        )
        return json.loads(done.stdout)["data"]

    def make_token(self, name: str) -> str:
        """The secret of an agent of a person who joins for it."""
        rt = build_runtime(
            {"HANDRAIL_PROJECT": self._around["HANDRAIL_PROJECT"]}, home=f"{self._around['HOME']}/own"
        )
        directory = open_directory(self._around["HANDRAIL_STORE"], rt.clock, rt.randomness, rt.secrets)
        workspace = directory.find_workspace("").id
        directory.accept(directory.invite(workspace, "member", name, "test").secret, name, "three blue words")
        account = directory.find_member(workspace, name).account
        return directory.make_token(workspace, account, name, "laptop", ("read", "work"), 1).secret

    def call(self, operation: str, bearer: str, **params: Any) -> Any:
        """What the operation answers an agent."""
        request = urllib.request.Request(
            f"{self.address}api/{operation}",
            data=json.dumps(params).encode(),
            headers={"Authorization": f"Bearer {bearer}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as answered:
            return json.load(answered)["data"]

    def stop(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=WAIT_SECONDS)
