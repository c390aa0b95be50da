"""Prove the change of a GitHub job: job summary, one comment, and a failed job if the word is FAILS.

It needs the standard library alone, and runs `handrail` of the environment of its interpreter.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

MARK = "<!-- handrail prove -->"
"""Finds our comment again."""
MOST_COMMENT = 60_000
"""GitHub refuses a comment of more than 65,536 characters."""
HTTP_SECONDS = 30
_PAGES = 10
_NO_COMMIT = re.compile(r"0+")


class Job:
    """What GitHub says about the job, from its environment and the file of the event."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        folder = environment.get("PROVE_DIRECTORY") or "."
        self.project = os.path.join(environment.get("GITHUB_WORKSPACE", "."), folder)
        self.event = _read_json(environment.get("GITHUB_EVENT_PATH", ""))
        self.pull_request: dict[str, Any] = self.event.get("pull_request") or {}

    def run_git(self, *words: str) -> str:
        """What git prints; empty if it refuses."""
        done = subprocess.run(
            ["git", "-C", self.project, *words], capture_output=True, encoding="utf-8", check=False
        )
        return done.stdout.strip() if done.returncode == 0 else ""

    def find_base(self) -> str:
        """The commit at the start of the change; empty: Handrail finds it."""
        named = self.environment.get("PROVE_BASE", "")
        if named:
            return named
        if self.pull_request:
            return self._find_base_of_pull_request()
        before = str(self.event.get("before") or "")
        if not before or _NO_COMMIT.fullmatch(before):
            return ""
        return before if self._fetch(before) else ""

    def _find_base_of_pull_request(self) -> str:
        """The first parent of GitHub's own merge commit, else the merge base."""
        head = str((self.pull_request.get("head") or {}).get("sha") or "")
        base = str((self.pull_request.get("base") or {}).get("sha") or "")
        parents = self.run_git("cat-file", "-p", "HEAD").split("\n\n")[0]
        commits = re.findall(r"(?m)^parent ([0-9a-f]{40,64})$", parents)
        if len(commits) == 2 and commits[1] == head and self._fetch(commits[0]):
            return commits[0]
        if base and self._fetch(base):
            if not self.run_git("merge-base", base, "HEAD"):
                self.run_git("fetch", "--quiet", "--no-tags", "--unshallow", "origin")
            return self.run_git("merge-base", base, "HEAD") or base
        return base

    def _fetch(self, commit: str) -> bool:
        """Whether a commit is here, also if the checkout is shallow."""
        if self.run_git("cat-file", "-t", commit) != "commit":
            self.run_git("fetch", "--quiet", "--no-tags", "--depth=1", "origin", commit)
        return self.run_git("cat-file", "-t", commit) == "commit"


def _read_json(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def make_command(job: Job) -> list[str]:
    """The command line of `handrail prove`."""
    given = job.environment
    argv = [os.path.join(os.path.dirname(sys.executable), "handrail"), "prove"]
    argv += given.get("PROVE_CHECKS", "").split()
    argv += ["--in-place", "--as", "markdown", "--format", "json", "--progress", "--project", job.project]
    base = job.find_base()
    argv += ["--base", base] if base else []
    command = shlex.split(given.get("PROVE_COMMAND", ""))
    return [*argv, "--", *command] if command else argv


def read_answer(printed: str) -> tuple[str, str]:
    """The word and the Markdown of an answer. Without a proof the word is `not_tried`."""
    try:
        answer = json.loads(printed)
    except ValueError:
        return "not_tried", "**NOT TRIED** – Handrail gave no answer."
    error = answer.get("error") or {}
    proof = answer.get("data") or (error.get("details") or {}).get("proof") or {}
    if "word" in proof:
        return proof["word"], proof.get("markdown") or proof["word"].upper()
    hint = (error.get("details") or {}).get("hint", "")
    return "not_tried", f"**NOT TRIED** – {error.get('message', 'Handrail gave no answer.')} {hint}".strip()


# The pull request


def write_comment(job: Job, text: str) -> str:
    """Write the one comment of this action, or renew it. Returns why not, or an empty text."""
    token = job.environment.get("PROVE_TOKEN", "")
    number = job.pull_request.get("number")
    if job.environment.get("PROVE_COMMENT", "true") != "true" or not number:
        return ""
    if not token:
        return "the job has no token"
    api = job.environment.get("GITHUB_API_URL", "https://api.github.com")
    place = f"{api}/repos/{job.environment.get('GITHUB_REPOSITORY', '')}/issues"
    body = {"body": f"{MARK}\n{text[:MOST_COMMENT]}"}
    try:
        known = _find_comment(f"{place}/{number}/comments", token)
        if known:
            _call("PATCH", f"{place}/comments/{known}", token, body)
        else:
            _call("POST", f"{place}/{number}/comments", token, body)
    except urllib.error.HTTPError as error:
        return f"GitHub answered {error.code}"
    except (OSError, ValueError) as error:
        return f"GitHub could not be reached ({error})"
    return ""


def _find_comment(place: str, token: str) -> int:
    for page in range(1, _PAGES + 1):
        found = _call("GET", f"{place}?per_page=100&page={page}", token)
        for comment in found:
            is_of_bot = (comment.get("user") or {}).get("type") == "Bot"
            if is_of_bot and str(comment.get("body", "")).startswith(MARK):
                return int(comment["id"])
        if len(found) < 100:
            return 0
    return 0


def _call(method: str, address: str, token: str, body: Mapping[str, str] | None = None) -> Any:
    request = urllib.request.Request(
        address,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {token}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
            "X-GitHub-Api-Version": "2022-11-28",
        },
    )
    with urllib.request.urlopen(request, timeout=HTTP_SECONDS) as answer:
        return json.loads(answer.read() or b"null")


# The job


def _append(path: str, text: str) -> None:
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)


def main(environment: Mapping[str, str]) -> int:
    """The exit status of the step: 1 for FAILS, and for nothing else."""
    job = Job(environment)
    own = {name: value for name, value in environment.items() if not name.startswith("PROVE_")}
    done = subprocess.run(make_command(job), stdout=subprocess.PIPE, encoding="utf-8", check=False, env=own)
    word, markdown = read_answer(done.stdout)
    _append(environment.get("GITHUB_OUTPUT", ""), f"word={word}\n")
    _append(environment.get("GITHUB_STEP_SUMMARY", ""), f"{markdown}\n")
    print(markdown)
    trouble = write_comment(job, markdown)
    if trouble:
        print(f"::notice::No comment was written: {trouble}. The result is in the job summary.")
    if word != "fails":
        return 0
    print("::error::The check fails at the end.")
    return 1


if __name__ == "__main__":
    sys.exit(main(os.environ))
