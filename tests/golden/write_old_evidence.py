"""Writes `old_evidence/`: what the last build that weighed evidence left behind. Run once, never again.

`python -m tests.golden.write_old_evidence` was run with the build before `proof_recorded`, and drives nothing
but its command line. It wrote a home with six sessions, `calls.json` with each call that uses a token and
its reply, two bundles, a signed receipt, and the project as a git bundle. Later versions continue, import
and verify them (test_old_evidence.py), so they are not written anew.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PLACE = Path(__file__).resolve().parent / "old_evidence"
RIGHT = "def total(rows):\n    return round(sum(rows), 2)\n"
TESTS = ["grep", "-q", "round", "src/bill.py"]


def step(step_id: str, **fields: Any) -> dict[str, Any]:
    return {"id": step_id, "title": step_id.title(), "prompt": f"Do {step_id}."} | fields


CHANGE = step("change", output={"contractRef": "wr.contracts.changed_files"})
VERIFY = step("verify", output={"contractRef": "wr.contracts.verification_report"})
ROUNDS = {
    "type": "loop",
    "loopId": "again",
    "maxIterations": 3,
    "while": {"kind": "loop_control"},
    "body": [step("try")],
}
OPTIONS = [{"id": "small", "label": "Small"}, {"id": "large", "label": "Large"}]
PARTS = [{"id": "a", "steps": [CHANGE]}, {"id": "b", "steps": [step("look")]}]
WORKFLOWS: dict[str, list[dict[str, Any]]] = {
    "fix": [CHANGE, VERIFY],
    "rounds": [
        ROUNDS,
        {"type": "choice", "id": "size", "title": "Size", "prompt": "Which?", "options": OPTIONS},
        step("agree", requireConfirmation=True),
        CHANGE,
    ],
    "parts": [step("plan"), {"id": "hand", "title": "Hand", "delegate": {"children": PARTS}}, step("end")],
}


def changed(path: str, status: int = 0) -> dict[str, Any]:
    checks = [{"command": " ".join(TESTS), "exitCode": status, "summary": "It ran."}]
    files = [{"path": path, "change": "modified", "why": "Each line was rounded."}]
    return {"kind": "wr.changed_files", "files": files, "checks": checks}


def verified() -> dict[str, Any]:
    seen = {"source": "file", "ref": "README:1", "result": "It names the project."}
    claim = {"claim": "It rounds.", "status": "confirmed", "evidence": [seen]}
    return {"kind": "wr.verification_report", "verdict": "passed", "claims": [claim], "notChecked": []}


class Story:
    """A project, a home, and the command line."""

    def __init__(self, place: Path) -> None:
        self.project, self.home = place / "project", place / "home"
        self.project.mkdir()
        self.calls: list[dict[str, Any]] = []
        self.git("init", "-q", "-b", "main", ".")
        self.write("src/bill.py", "def total(rows):\n    return sum(rows)\n")
        self.write("README", "The bills.\n")
        for name, steps in WORKFLOWS.items():
            about = {"id": f"project.{name}", "name": name.title(), "description": "For a golden store."}
            self.write(f".handrail/workflows/{name}.json", json.dumps(about | {"steps": steps}))
        self.write(".handrail/config.json", json.dumps({"checks": {"tests": {"command": TESTS}}}))
        self.commit()

    def git(self, *words: str) -> None:
        named = ("-c", "user.name=Golden", "-c", "user.email=golden@example.org")
        subprocess.run(["git", *named, *words], cwd=self.project, check=True)

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "one")

    def write(self, name: str, text: str) -> None:
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run(self, *words: str) -> Any:
        environment = {"PATH": os.environ["PATH"], "HANDRAIL_HOME": str(self.home), "HOME": str(self.home)}
        program = [sys.executable, "-m", "handrail.main", *words]
        done = subprocess.run(program, cwd=self.project, env=environment, capture_output=True, check=False)
        answer = json.loads(done.stdout)
        assert answer["ok"], answer
        return answer["data"]

    def start(self, workflow: str, key: str, mode: str = "guided") -> Any:
        words = ("run", "start", workflow, "--request-id", key, "--goal", f"Golden {key}")
        return self.run(*words, "--autonomy", mode)

    def send(self, reply: Any, *artifacts: dict[str, Any], token: str = "") -> Any:
        token = token or reply["retryAckToken" if reply["kind"] == "blocked" else "ackToken"]
        output = {"notesMarkdown": "Done.", "artifacts": list(artifacts)}
        given = json.dumps(output["artifacts"])
        told = self.run("run", "continue", "--ack", token, "--notes", "Done.", "--artifacts", given)
        self.calls.append({"params": {"ackToken": token, "output": output}, "reply": told})
        return told

    def check(self, reply: Any) -> None:
        self.run("check", "run", "tests", "--state", reply["stateToken"])


def tell(story: Story) -> dict[str, Any]:
    """Make every session; the sessions, bundles and the receipt by name."""
    made: dict[str, Any] = {}
    blocked = story.send(story.start("project.fix", "blocked"), changed("README"))
    assert blocked["kind"] == "blocked"
    gaps = story.send(story.start("project.fix", "gaps", "full_auto_never_stop"), changed("README"))
    assert gaps["kind"] == "ok"
    parts = story.send(story.start("project.parts", "parts"))
    rounds = story.send(
        story.start("project.rounds", "rounds"), {"kind": "wr.loop_control", "decision": "continue"}
    )
    story.start("wr.bug_investigation", "bug")
    fix = story.start("project.fix", "finished")
    story.write("src/bill.py", RIGHT)
    story.check(fix)
    fix = story.send(fix, changed("src/bill.py"))
    last = story.send(fix, verified())
    assert last["isComplete"], last
    story.commit()
    child = story.run("run", "continue", "--state", parts["children"][1]["workToken"])
    assert story.send(child)["isComplete"]
    for name, reply in {"finished": last, "parts": parts, "rounds": rounds}.items():
        made[name] = reply["session"]["sessionId"]
    for name in ("finished", "parts"):
        content = story.run("session", "export", made[name])["content"]
        made[f"{name}.bundle"] = content if isinstance(content, str) else json.dumps(content)
    made["receipt"] = story.run("receipt", "export", "--session", made["finished"])["content"]
    made["public_key"] = story.run("receipt", "key")["public"]
    return made


def main() -> None:
    """Refuses to touch what exists."""
    PLACE.mkdir()
    with tempfile.TemporaryDirectory(prefix="golden") as scratch:
        story = Story(Path(scratch))
        made = tell(story)
        kept = PLACE / "home" / "data"
        for name in ("sessions", "blobs", "keys"):
            shutil.copytree(story.home / "data" / name, kept / name)
        (kept / "keys" / "receipts.json").unlink()
        story.git("bundle", "create", "-q", str(PLACE / "project.git-bundle"), "main")
    for name in ("finished.bundle", "parts.bundle", "receipt"):
        content = made.pop(name)
        text = content if isinstance(content, str) else json.dumps(content)
        (PLACE / f"{name}.json").write_text(text, encoding="utf-8")
    document = {"names": made, "calls": story.calls}
    (PLACE / "calls.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
