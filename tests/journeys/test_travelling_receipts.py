"""Receipts that travel: signed about a commit, checked elsewhere, and refused for the least change."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from google.protobuf.json_format import ParseDict
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from securesystemslib.dsse import Envelope
from securesystemslib.signer._key import SSlibKey

from handrail.contract.dsse import write_envelope
from handrail.contract.json.canonical import canonical_bytes
from handrail.contract.outcome import Failure
from handrail.contract.redaction import Secrets
from handrail.host.checks import LocalReceiptKeys
from handrail.host.process import SystemRandomness
from handrail.host.worktree.committed_files import LocalCommittedFiles
from handrail.operations.checks.receipts import MOST_SESSIONS
from handrail.operations.checks.run_check import RunCheck, run_check
from handrail.projections.receipt_statement import write_markdown
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from tests.conftest import GivenFiles
from tests.host.worktree.project import commit, write
from tests.hostile.repository.checkout import run_git
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import answer, refusal
from tests.journeys.doors import tool_call
from tests.journeys.given_workflows import give, step
from tests.journeys.test_approved_checks import NEEDED, approve
from tests.journeys.workplace import CHANGE, RIGHT, TESTS, VERIFY, changed, verified
from tests.journeys.workplace import Site as Workplace

ROOT = Path(__file__).parents[2]
WAIT_SECONDS = 300

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


class Signer(Workplace):
    """A site whose home has keys, and a run in it that is over and committed."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self.runtime = with_keys(self.runtime, self.home)

    def finish(self) -> None:
        self.declare(tests={"command": TESTS.split()})
        self.begin()
        self.write("src/bill.py", RIGHT)
        self.run_declared("tests")
        assert self.send(changed("src/bill.py"))["kind"] == "ok"
        assert self.send(verified())["isComplete"] is True
        commit(self.root)

    def export(self, **params: Any) -> dict[str, Any]:
        return answer(self.runtime, "receipt.export", **params)

    def verify(self, content: str, ref: str = "HEAD", **params: Any) -> Any:
        return perform(
            self.runtime,
            "receipt.verify",
            {"receipt": {"source": "receipt.json", "text": content}, "commit": ref, **params},
        )

    def replay(self, content: str) -> dict[str, Any]:
        return answer(self.runtime, "check.replay", receipt={"source": "receipt.json", "text": content})


def with_keys(runtime: Runtime, home: Path) -> Runtime:
    keys = LocalReceiptKeys(str(home), SystemRandomness(), Secrets())
    committed = LocalCommittedFiles(str(home), {"PATH": "/usr/bin:/bin"})
    return msgspec.structs.replace(runtime, receipt_keys=lambda: keys, committed=lambda: committed)


@pytest.fixture
def signer(tmp_path: Path) -> Signer:
    made = Signer(tmp_path)
    made.finish()
    return made


def reasons(outcome: Any) -> list[str]:
    assert isinstance(outcome, Failure), outcome
    assert outcome.kind.code == "RECEIPT_REFUSED", outcome
    return list(outcome.details["reasons"])


def statement_of(content: str) -> Any:
    return json.loads(base64.b64decode(json.loads(content)["payload"]))


@pytest.mark.promise("receipt.travels")
def test_no_file_of_credentials_is_named_in_a_receipt(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    signer.begin(step("change", **CHANGE))
    for path in ("src/bill.py", "tests/server.key", "deploy/.npmrc"):
        signer.write(path, RIGHT)
    signer.run(*TESTS.split())
    report = changed("src/bill.py", leftOut=[{"path": "deploy/.npmrc", "why": "It is a friend's."}])
    report["files"].append({"path": "tests/server.key", "change": "added", "why": "It had to."})
    assert signer.send(report)["isComplete"] is True
    signer.write("tests/server.key", "later\n")
    commit(signer.root)

    stated = json.dumps(statement_of(signer.export()["content"]))

    assert "than the commit has: files of credentials" in stated
    assert "never seen to fail" not in stated
    assert [name for name in ("server.key", ".npmrc") if name in stated] == []


@pytest.mark.thorough
@pytest.mark.promise("receipt.travels")
def test_runs_of_other_projects_do_not_hide_the_newest_of_this_one(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    signer.finish()
    other = tmp_path / "elsewhere"
    other.mkdir()
    own = signer.reply["session"]["sessionId"]
    for _ in range(MOST_SESSIONS):
        signer.begin(project=str(other))

    assert signer.export()["session_id"] == own


@pytest.mark.promise("receipt.travels")
def test_of_several_runs_of_a_check_that_on_the_files_of_the_commit_stands(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    signer.declare(tests={"command": TESTS.split()})
    signer.begin(step("change", **CHANGE))
    for text in (RIGHT, RIGHT + "# tried\n"):
        signer.write("src/bill.py", text)
        signer.run_declared("tests")
    signer.write("src/bill.py", RIGHT)
    assert signer.send(changed("src/bill.py"))["isComplete"] is True
    commit(signer.root)

    receipt = statement_of(signer.export()["content"])["predicate"]

    assert (receipt["result"], receipt["handrailRun"]["doubts"]) == ("PASSED", [])


@pytest.mark.promise("receipt.travels")
def test_markdown_says_of_each_check_whether_it_ran_on_other_files(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    signer.declare(tests={"command": TESTS.split()}, lint={"command": ["grep", "-q", "def", "src/bill.py"]})
    signer.begin(step("change", **CHANGE))
    signer.run_declared("lint")
    signer.write("src/bill.py", RIGHT)
    signer.run_declared("tests")
    ended = signer.send(changed("src/bill.py"))
    commit(signer.root)

    markdown = signer.export(**{"as": "markdown"})["content"]

    assert "not run since the files changed: `lint`" in ended["closing"]
    (line,) = (line for line in markdown.splitlines() if line.startswith("- Checks: "))
    of_lint, of_tests = sorted(line.removeprefix("- Checks: ").split("; "))
    assert "on other files than those of the commit" in of_lint
    assert "on other files" not in of_tests


@pytest.mark.promise("receipt.travels")
def test_a_receipt_says_what_ran_on_the_files_of_the_commit(signer: Signer) -> None:
    made = signer.export()

    told = statement_of(made["content"])
    run = told["predicate"]["handrailRun"]
    head = run_git(signer.root, "rev-parse", "HEAD").decode().strip()
    assert (told["_type"], told["predicateType"]) == (
        "https://in-toto.io/Statement/v1",
        "https://in-toto.io/attestation/test-result/v0.1",
    )
    assert told["subject"][0]["digest"]["gitCommit"] == head
    assert (told["predicate"]["result"], told["predicate"]["passedTests"]) == ("PASSED", ["tests"])
    (check,) = run["checks"]
    assert (check["command"], check["outcome"], check["door"]) == (TESTS.split(), "exit 0", "handrail")
    assert (check["isOnCommit"], run["isClean"]) == (True, True)
    assert check["programDigest"].startswith("sha256:")
    assert run["onlyAgentsWord"] == []


@pytest.mark.promise("receipt.travels")
def test_the_reference_verifiers_agree(signer: Signer) -> None:

    content = signer.export()["content"]
    public = answer(signer.runtime, "receipt.key")["public"]

    envelope = Envelope.from_dict(json.loads(content))
    raw = base64.b64decode(public.removeprefix("ed25519:"))
    (keyid,) = envelope.signatures
    key = SSlibKey.from_crypto(Ed25519PublicKey.from_public_bytes(raw), keyid=keyid)
    assert envelope.verify([key], 1) == {keyid: key}
    told = statement_of(content)
    held = Statement.copy_from_pb(ParseDict(told, statement_pb2.Statement()))
    held.validate()
    assert envelope.payload_type == "application/vnd.in-toto+json"


@pytest.mark.thorough
@pytest.mark.promise("receipt.verified")
def test_another_machine_with_the_public_key_believes_it(signer: Signer, tmp_path: Path) -> None:
    content = signer.export()["content"]
    public = answer(signer.runtime, "receipt.key")["public"]
    elsewhere = msgspec.structs.replace(with_keys(signer.runtime, tmp_path / "elsewhere"))
    signer.runtime = elsewhere

    assert reasons(signer.verify(content)) == ["unknown_key"]
    given = signer.verify(content, key=public)
    person = Person("n", "y")
    assert refusal(seat(elsewhere, person), "receipt.key", trust=public).kind.code == "E_HUMAN_REQUIRED"
    assert reasons(signer.verify(content)) == ["unknown_key"]
    answer(seat(elsewhere, person), "receipt.key", trust=public)
    assert public in person.shown[1]
    pinned = signer.verify(content)

    assert [one.data["key_from"] for one in (given, pinned)] == ["given", "pinned"]
    assert given.data["result"] == "PASSED"
    assert any("onlyAgentsWord" in one for one in given.data["does_not_prove"])


@pytest.mark.thorough
@pytest.mark.promise("receipt.verified")
def test_no_byte_of_it_can_change(signer: Signer) -> None:
    content = signer.export()["content"]

    for at in range(len(content)):
        other = "A" if content[at] != "A" else "B"
        changed_byte = content[:at] + other + content[at + 1 :]
        assert isinstance(signer.verify(changed_byte), Failure), at
    for more in (content + " ", " " + content, content.rstrip("\n"), content + content, ""):
        assert reasons(signer.verify(more)) == ["not_a_receipt"]


@pytest.mark.thorough
@pytest.mark.promise("receipt.verified")
def test_another_commit_another_key_and_other_files_are_named(signer: Signer) -> None:
    content = signer.export()["content"]
    write(signer.root, "README", "Other bills.\n")
    dirty = signer.export()["content"]
    commit(signer.root)
    late = signer.export()

    assert reasons(signer.verify(content)) == ["other_commit"]
    assert reasons(signer.verify(content, "no-such-branch")) == ["unknown_commit"]
    assert not isinstance(signer.verify(content, "HEAD~1"), Failure)
    assert not isinstance(signer.verify(dirty, "HEAD~1"), Failure)  # its check ran on the files of the commit
    assert (late["is_clean"], late["result"]) == (False, "WARNED")
    assert reasons(signer.verify(late["content"])) == ["dirty_tree"]
    (check,) = statement_of(late["content"])["predicate"]["handrailRun"]["checks"]
    assert check["differs"] == ["README"]


@pytest.mark.promise("receipt.verified")
def test_a_key_can_be_rotated_and_what_it_signed_stays_known(signer: Signer) -> None:
    content = signer.export()["content"]
    old = answer(signer.runtime, "receipt.key")

    assert refusal(signer.runtime, "receipt.key", rotate=True).kind.code == "E_HUMAN_REQUIRED"
    assert answer(signer.runtime, "receipt.key") == old

    new = answer(seat(signer.runtime, Person("yes")), "receipt.key", rotate=True)

    assert new["previous"] == [old["public"]]
    assert signer.verify(content).data["key_from"] == "own"
    assert signer.export()["key_id"] == new["key_id"] != old["key_id"]
    held = signer.home / "data" / "keys" / "receipts.json"
    assert held.stat().st_mode & 0o777 == 0o600


@pytest.mark.promise("receipt.verified")
def test_without_the_extra_the_line_that_installs_it_is_told(
    signer: Signer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handrail.host.checks.find_spec", lambda name: None)

    refused = perform(signer.runtime, "receipt.export", {})

    assert isinstance(refused, Failure)
    assert refused.kind.code == "E_CONFIG"
    assert "'.[verify]'" in refused.hint
    assert sys.executable in refused.hint


@pytest.mark.promise("receipt.travels")
def test_no_server_signs(signer: Signer) -> None:
    served = msgspec.structs.replace(signer.runtime, is_served=True)

    refused = perform(served, "receipt.export", {})

    assert isinstance(refused, Failure)
    assert refused.kind.code == "FEATURE_DISABLED"


@pytest.mark.promise("receipt.travels")
def test_where_there_is_no_repository_nobody_is_told_to_fetch(signer: Signer) -> None:
    shutil.rmtree(signer.root / ".git")

    refused = perform(signer.runtime, "receipt.export", {})

    assert isinstance(refused, Failure)
    assert refused.message == 'There is no commit "HEAD" of this project here: there is no git repository.'
    assert refused.hint == "A receipt is about a commit: git init, and commit."


@pytest.mark.promise("receipt.travels")
def test_a_name_in_a_sentence_stays_as_it_is_spelled(signer: Signer) -> None:
    statement = statement_of(signer.export()["content"])
    run = statement["predicate"]["handrailRun"]
    run |= {"doubts": ["changed: tests/test_bill.py, __init__.py"]}
    run |= {"testsTouched": ["tests/test_bill.py", "a_b"]}

    shown = write_markdown(statement, "")

    assert "not PASSED: changed: tests/test_bill.py, \\_\\_init\\_\\_.py\n" in shown
    assert "Tests changed: `tests/test_bill.py`, `a_b`;" in shown


@pytest.mark.promise("receipt.travels")
def test_markdown_is_ten_lines(signer: Signer) -> None:
    text = signer.export(**{"as": "markdown"})["content"]

    assert len(text.splitlines()) == 10
    assert "`tests` (`grep -q round src/bill.py`) passed (exit 0, by handrail with `" in text


@pytest.mark.promise("receipt.travels")
def test_what_an_overlay_left_out_is_named(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    base = give(signer.runtime, step("change", **CHANGE), step("verify", **VERIFY), step("end"))
    over = {"extends": base, "id": "project.over", "steps": {"verify": {"skip": True}}}
    assert isinstance(signer.runtime.library, GivenFiles)
    signer.runtime.library.add(json.dumps(over).encode(), "over.json")
    tool_call(signer.runtime, "start_workflow", workflowId="project.over")

    told = statement_of(signer.export()["content"])["predicate"]["handrailRun"]["leftOut"]
    shown = signer.export(**{"as": "markdown"})["content"]

    assert told == [{"step": "verify", "why": f"the overlay skips this step of {base}"}]
    assert "left out: `verify`\n" in shown


@pytest.mark.parametrize("is_automatic", [False, True])
@pytest.mark.promise("receipt.travels")
def test_what_failed_before_and_passes_now_is_shown_with_what_differs(
    tmp_path: Path, is_automatic: bool
) -> None:
    signer = Signer(tmp_path)
    signer.declare(tests={"command": TESTS.split()})
    signer.begin(NEEDED)
    signer.run_declared("tests")
    approve(signer)
    write(signer.root, "src/bill.py", RIGHT)
    commit(signer.root)
    if is_automatic:
        assert signer.send()["isComplete"] is True
    else:
        signer.run_declared("tests")

    (row,) = statement_of(signer.export()["content"])["predicate"]["handrailRun"]["redThenGreen"]
    shown = signer.export(**{"as": "markdown"})["content"]

    assert (row["command"], row["differs"], row["holds"]) == (TESTS, ["src/bill.py"], True)
    assert "" != row["red"] != row["green"] != ""
    differing = "what differs in the files that are seen: `src/bill.py`"
    assert f"- Failed before, passes now: `{TESTS}` ({differing})\n" in shown


@pytest.mark.promise("receipt.travels")
def test_a_test_that_only_tests_made_pass_is_told_as_such(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    signer.declare(tests={"command": [sys.executable, "-B", "-m", "unittest", "discover", "-s", "tests"]})
    text = (
        "import unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertTrue(0)\n"
    )
    write(signer.root, "tests/test_bill.py", text)
    signer.begin()
    signer.run_declared("tests")
    write(signer.root, "tests/test_bill.py", text.replace("0", "1"))
    signer.run_declared("tests")

    (row,) = statement_of(signer.export()["content"])["predicate"]["handrailRun"]["redThenGreen"]

    assert row["holds"] is False
    assert row["fact"].endswith("failed before and passes now, and only tests differ: tests/test_bill.py")


@pytest.mark.promise("receipt.travels")
def test_a_run_that_left_other_files_than_the_commit_has_is_warned_about_by_name(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    write(signer.root, "src/bill.py", RIGHT)
    commit(signer.root)
    signer.begin(step("change", **CHANGE))
    signer.run(*TESTS.split())
    write(signer.root, "src/bill.py", "def total(rows):\n    return 0\n")
    assert signer.send(changed("src/bill.py"))["kind"] == "blocked"
    assert signer.send(changed("src/bill.py"))["isComplete"] is True

    made = signer.export()
    shown = signer.export(**{"as": "markdown"})["content"]

    doubts = statement_of(made["content"])["predicate"]["handrailRun"]["doubts"]
    assert (made["result"], made["is_clean"]) == ("WARNED", False)
    assert "the run left other files than the commit has: src/bill.py" in doubts
    assert any("1 stale" in one for one in doubts)
    assert any("open gap" in one for one in doubts)
    assert "- Why it is not PASSED: the run left other files than the commit has: src/bill.py;" in shown
    assert reasons(signer.verify(made["content"])) == ["dirty_tree"]


@pytest.mark.promise("receipt.travels")
def test_the_folder_of_a_check_is_shown(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    signer.begin(step("change", **CHANGE))
    write(signer.root, "src/bill.py", RIGHT)
    asked = RunCheck(argv=["true"], directory="src", state_token=signer.reply["stateToken"])
    receipt = dict(run_check(signer.runtime, asked).data)["receiptId"]
    report = changed("src/bill.py", check="true")
    report["checks"][0]["receiptId"] = receipt
    assert signer.send(report)["isComplete"] is True
    commit(signer.root)

    shown = signer.export(**{"as": "markdown"})["content"]

    assert "`true` in `src` passed (exit 0, by handrail with `" in shown


# Replaying


@pytest.mark.promise("receipt.replayed")
def test_approved_checks_run_again_on_the_files_of_the_commit(signer: Signer) -> None:
    content = signer.export()["content"]
    write(signer.root, "src/bill.py", "broken\n")
    before = sorted(path.name for path in signer.root.iterdir())

    (unapproved,) = signer.replay(content)["checks"]
    approve(signer)
    told = signer.replay(content)

    assert unapproved["verdict"] == "not_approved"
    assert (told["is_same"], told["checks"][0]["status"]) == (True, "exit 0")
    assert sorted(path.name for path in signer.root.iterdir()) == before


@pytest.mark.promise("receipt.replayed")
def test_a_declaration_that_differs_at_the_commit_is_not_comparable(signer: Signer) -> None:
    content = signer.export()["content"]
    signer.declare(tests={"command": ["true"]})
    approve(signer)

    (row,) = signer.replay(content)["checks"]

    assert (row["verdict"], row["has_passed"]) == ("not_comparable", None)


@pytest.mark.promise("receipt.replayed")
def test_nothing_of_the_file_is_started(signer: Signer) -> None:
    approve(signer)
    forged = statement_of(signer.export()["content"])
    forged["predicate"]["handrailRun"]["checks"] += [
        {"name": "evil", "isDeclared": True, "hasPassed": True, "command": ["touch", "evil"]}
    ]
    forged["predicate"]["handrailRun"]["checks"][0]["hasPassed"] = False

    told = signer.replay(write_envelope(canonical_bytes(forged), "00", b"none").decode())

    assert [row["verdict"] for row in told["checks"]] == ["different", "not_declared"]
    assert not (signer.root / "evil").exists()


UNITTEST = [sys.executable, "-B", "-m", "unittest"]
ONE_TEST = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_it(self) -> None:\n        pass\n"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("ignored", "verdict", "status", "ran"),
    [
        ("*.log", "same", "exit 0", 2),
        ("test_more.py", "different", "exit 0; counts differ: 1 passed here, 2 passed in the receipt", 1),
        ("test_*.py", "not_run", "", None),
    ],
)
@pytest.mark.promise("receipt.replayed")
def test_a_replay_counts_the_tests_that_the_commit_has(
    tmp_path: Path, ignored: str, verdict: str, status: str, ran: int | None
) -> None:
    signer = Signer(tmp_path)
    write(signer.root, ".gitignore", f"{ignored}\n")
    write(signer.root, "test_bill.py", ONE_TEST)
    write(signer.root, "test_more.py", ONE_TEST)
    signer.declare(tests={"command": UNITTEST})
    signer.begin()
    signer.run_declared("tests")
    approve(signer)

    told = signer.replay(signer.export()["content"])

    (row,) = told["checks"]
    assert (told["is_same"], row["verdict"], row["stated"]) == (verdict == "same", verdict, True)
    assert (row["counts"] and row["counts"]["passed"]) == ran
    assert row["has_passed"] == (None if ran is None else True)
    assert row["status"] == status or verdict == "not_run", row


@pytest.mark.thorough
@pytest.mark.promise("receipt.verified")
def test_the_wheel_with_its_extra_the_repository_and_the_public_key_are_enough(
    signer: Signer, tmp_path: Path
) -> None:
    (tmp_path / "receipt.json").write_text(signer.export()["content"], encoding="utf-8")
    public = answer(signer.runtime, "receipt.key")["public"]
    run_git(tmp_path, "clone", "-q", "--no-hardlinks", str(signer.root), "clone")
    python = install_wheel(tmp_path)
    line = ["receipt", "verify", str(tmp_path / "receipt.json"), "--commit", "HEAD"]

    known, unknown = (
        subprocess.run(
            [python, "-m", "handrail.main", *line, *more],
            cwd=tmp_path / "clone",
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path / "nobody"), "LC_ALL": "C.UTF-8"},
            capture_output=True,
            check=False,
            timeout=WAIT_SECONDS,
        )
        for more in (["--key", public], [])
    )

    assert known.returncode == 0, known.stdout
    assert json.loads(known.stdout)["data"]["result"] == "PASSED"
    assert json.loads(unknown.stdout)["error"]["details"]["reasons"] == ["unknown_key"]
    assert "handrail receipt key --trust PUB" in str(json.loads(unknown.stdout))


def install_wheel(folder: Path) -> str:
    """An environment with nothing but our wheel and its extra; skips where no registry answers."""
    build = ["uv", "build", "--offline", "--quiet", "--wheel", "--out-dir", str(folder / "dist"), str(ROOT)]
    subprocess.run(build, check=True, timeout=WAIT_SECONDS)
    (wheel,) = (folder / "dist").glob("*.whl")
    python = folder / "venv" / "bin" / "python"
    subprocess.run(["uv", "venv", "--quiet", str(folder / "venv")], check=True, timeout=WAIT_SECONDS)
    installing = ["uv", "pip", "install", "--quiet", "--python", str(python), f"{wheel}[verify]"]
    done = subprocess.run(installing, check=False, capture_output=True, timeout=WAIT_SECONDS)
    if done.returncode:
        pytest.skip("the dependencies of the extra are neither cached nor to be fetched")
    return str(python)
