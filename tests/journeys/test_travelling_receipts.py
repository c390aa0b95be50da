"""Receipts: signed about a tree of files, verified elsewhere, and refused for the least change."""

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

from handrail.contract.outcome import Failure
from handrail.contract.redaction import Secrets
from handrail.evidence.proof import CaseCounts, Cell, Cells, Proof, ProofWord
from handrail.host.checks import LocalReceiptKeys
from handrail.host.process import SystemRandomness
from handrail.operations.checks.export_receipt import MOST_SESSIONS
from handrail.operations.checks.prove_in_run import find_proven_run, record_proofs
from handrail.projections.receipt_statement import hide_places
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from tests.hostile.repository.checkout import run_git
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import answer, refusal
from tests.journeys.given_workflows import step
from tests.journeys.proved_projects import FIXED, NEW_TEST
from tests.journeys.test_moving_sessions import imported
from tests.journeys.test_proofs_of_runs import ProvedRun
from tests.surfaces.cli.here import run_here
from tests.worktree.project import commit

ROOT = Path(__file__).parents[2]
WAIT_SECONDS = 300
PASSES = Cell(state="passed", counts=CaseCounts(passed=2), exit_status=0)
PROVED = Proof(
    word="proved",
    check="tests",
    command="pytest -q",
    cells=Cells(
        tests_before_code_after=PASSES,
        tests_after_code_before=Cell(state="failed", counts=CaseCounts(passed=1, failed=1), exit_status=1),
        tests_after_code_after=PASSES,
    ),
    names=("test_bills.py::test_halves",),
    names_total=1,
    new_tests=1,
)
LABELS = ("PROVED", "Files", "Commit", "Key", "Run", "Executed", "Approved", "Stated by the agent")

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


class Signer(ProvedRun):
    """A project with a run whose fix was proven, and committed."""

    def finish(self, *proofs: Proof) -> None:
        self.change({"bills.py": FIXED, "test_bills.py": NEW_TEST})
        commit(self.root)
        self.record(*(proofs or (PROVED,)))
        self.send()
        assert self.send()["isComplete"]

    def record(self, *proofs: Proof, run: str = "") -> None:
        """Record proofs of the committed files, without running anything."""
        target = find_proven_run(self.runtime, str(self.root), run or self.run_id)
        assert target is not None
        tree = self.git("rev-parse", "HEAD^{tree}")
        own = [msgspec.structs.replace(one, base=target.base, head=one.head or tree) for one in proofs]
        record_proofs(self.runtime, target, own)

    def git(self, *words: str) -> str:
        return run_git(self.root, *words).decode().strip()

    def export(self, **params: Any) -> dict[str, Any]:
        return answer(self.runtime, "receipt.export", **params)

    def state(self) -> Any:
        """What the receipt says beside what in-toto defines."""
        return statement_of(self.export()["content"])["predicate"]["handrailRun"]

    def verify(self, content: str, ref: str = "HEAD", **params: Any) -> Any:
        return perform(
            self.runtime,
            "receipt.verify",
            {"receipt": {"source": "receipt.json", "text": content}, "commit": ref, **params},
        )


def with_keys(runtime: Runtime, home: Path) -> Runtime:
    keys = LocalReceiptKeys(str(home), SystemRandomness(), Secrets())
    return msgspec.structs.replace(runtime, receipt_keys=lambda: keys)


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


# What it says


@pytest.mark.thorough
def test_a_receipt_has_the_word_of_a_real_proof(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    signer.change({"bills.py": FIXED, "test_bills.py": NEW_TEST})
    proven = answer(signer.runtime, "check.prove")
    signer.send()
    signer.send()
    commit(signer.root)

    made = signer.export()

    told = statement_of(made["content"])
    run = told["predicate"]["handrailRun"]
    tree = signer.git("rev-parse", "HEAD^{tree}")
    assert (proven["word"], made["word"], made["tree"]) == ("proved", "proved", tree)
    assert told["subject"] == [{"name": "project", "digest": {"gitTree": tree}}]
    assert (told["predicate"]["result"], told["predicate"]["passedTests"]) == ("PASSED", ["tests"])
    (proof,) = run["proofs"]
    assert proof["proof"]["cells"]["testsAfterCodeBefore"]["state"] == "failed"
    assert [one["step"] for one in run["steps"]] == ["fix", "end"]
    assert run["workflow"]["id"] == "project.fix"


@pytest.mark.parametrize(
    ("word", "result"), [("kept", "PASSED"), ("rewrote", "WARNED"), ("unseen", "WARNED"), ("fails", "FAILED")]
)
def test_the_result_follows_from_the_word(tmp_path: Path, word: ProofWord, result: str) -> None:
    signer = Signer(tmp_path)
    signer.change({"bills.py": FIXED})
    commit(signer.root)
    signer.record(Proof(word=word, check="tests"))

    made = signer.export()

    assert (made["word"], made["result"]) == (word, result)


def test_proofs_of_other_files_do_not_count(signer: Signer) -> None:
    signer.change({"bills.py": FIXED + "# later\n"})
    commit(signer.root)

    made = signer.export()

    assert (made["word"], made["result"]) == ("not_tried", "WARNED")
    assert made["sentence"] == "The proofs of the run are about other files"
    assert "proofs" not in signer.state()


def test_the_newest_proof_of_a_check_counts(signer: Signer) -> None:
    signer.record(Proof(word="flaky", check="tests", names=("test_halves",)))

    assert signer.export()["word"] == "flaky"
    assert [one["proof"]["word"] for one in signer.state()["proofs"]] == ["flaky"]


def test_a_receipt_says_who_approved_what(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    signer.send()
    signer.send()
    signer.send()
    (gap,) = signer.events("gap_recorded")
    seated = seat(signer.runtime, Person("yes"))
    answer(seated, "session.resolve_gap", gap=gap["gapId"], note="We test it by hand.")

    (approval,) = signer.state()["approvals"]

    assert (approval["source"], approval["note"]) == ("terminal", "We test it by hand.")
    assert approval["what"].startswith("accepted the gap “")


def test_a_receipt_quotes_the_reports_as_stated(signer: Signer) -> None:
    assert [one["stated"] for one in signer.state()["steps"]] == ["Done.", "Done."]


def test_no_file_of_credentials_is_named_in_a_receipt(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    signer.finish(Proof(word="new_rules", check="tests", names=("deploy/.npmrc", "tox.ini"), names_total=2))

    (proof,) = signer.state()["proofs"]

    assert proof["proof"]["names"] == ["tox.ini"]


def test_no_absolute_path_is_in_a_receipt(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    command = f"{sys.executable} -m pytest {signer.root}/tests"
    signer.finish(msgspec.structs.replace(PROVED, command=command, remarks=(f"Linked {signer.home}/x.",)))

    made = signer.export()

    stated = json.dumps(statement_of(made["content"]))
    shown = signer.export(**{"as": "markdown"})["content"]
    assert [one for one in (str(tmp_path), sys.executable) if one in stated + shown] == []
    assert signer.state()["proofs"][0]["proof"]["command"] == "…/python -m pytest …/tests".replace(
        "python", Path(sys.executable).name
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see https://example.org/a/b and src/a.py", "see https://example.org/a/b and src/a.py"),
        ("in /home/anna/bills/a.py:12", "in …/a.py:12"),
        ("(/home/anna/) or C:\\Users\\anna\\a.py", "(…/) or …/a.py"),
        ("either/or, and 1/2, and /tmp", "either/or, and 1/2, and /tmp"),
    ],
)
def test_absolute_paths_are_cut_to_their_last_name(text: str, shown: str) -> None:
    assert hide_places([{"text": text}]) == [{"text": shown}]


def hand_out(signer: Signer) -> dict[str, Any]:
    """Start a run with one child, and prove the change of the child."""
    parts: dict[str, Any] = {"id": "parts", "title": "Parts"}
    parts |= {"delegate": {"children": [{"id": "a", "steps": [step("change")]}]}}
    about = {"id": "project.parts", "name": "Parts", "description": "For a receipt.", "steps": [parts]}
    signer.change({".handrail/workflows/parts.json": json.dumps(about), "bills.py": FIXED})
    commit(signer.root)
    waiting = answer(signer.runtime, "run.start", workflowId="project.parts", requestId="parts")
    work = answer(signer.runtime, "run.continue", stateToken=waiting["children"][0]["workToken"])
    signer.record(PROVED, run=work["session"]["runId"])
    return waiting


def test_a_receipt_has_the_proofs_of_children_by_name(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    hand_out(signer)

    made = signer.export()

    (proof,) = statement_of(made["content"])["predicate"]["handrailRun"]["proofs"]
    assert (made["word"], proof["child"]) == ("proved", "a")
    assert statement_of(made["content"])["predicate"]["passedTests"] == ["a: tests"]


def test_proofs_that_came_in_a_bundle_do_not_count(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    session_id = hand_out(signer)["session"]["sessionId"]
    bundle = answer(signer.runtime, "session.export", sessionId=session_id)["content"]
    (tmp_path / "elsewhere").mkdir()
    elsewhere = Signer(tmp_path / "elsewhere")
    taken = imported(elsewhere.runtime, json.dumps(bundle))
    signer.runtime = elsewhere.runtime

    made = signer.export(session=taken["session_id"], project=str(signer.root))

    assert (made["word"], made["sentence"]) == ("not_tried", "Nothing was proven in the run")


@pytest.mark.thorough
def test_runs_of_other_projects_do_not_hide_the_newest(signer: Signer, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    for number in range(MOST_SESSIONS):
        answer(
            signer.runtime,
            "run.start",
            workflowId="wr.small_change",
            project=str(other),
            requestId=f"other-{number}",
        )

    assert signer.export()["session_id"] == signer.session_id


def test_markdown_begins_with_word_table_approvals_and_key(signer: Signer) -> None:
    made = signer.export(**{"as": "markdown"})

    above, below = made["content"].split("<details>")
    assert above.splitlines() == [
        "### Receipt: PROVED",
        "",
        "1 new test fails without the change and passes with it.",
        "",
        "|  | code before | code after |",
        "|---|---|---|",
        "| **tests before** | not needed | 2 pass |",
        "| **tests after** | 1 FAIL, 1 pass | 2 pass |",
        "",
        "Approved by: nobody",
        "",
        f"Key: `{made['key_id']}`. This Markdown is not signed; the file of `handrail receipt export` is.",
        "",
    ]
    assert f"tree `{made['tree']}`" in below
    assert below.endswith("</details>\n")


def test_markdown_links_to_the_signed_receipt(signer: Signer) -> None:
    shown = signer.export(**{"as": "markdown", "link": "https://example.org/1.json"})["content"]

    assert "the [signed receipt](<https://example.org/1.json>) is." in shown


@pytest.mark.parametrize("link", ["javascript:alert(1)", "a b", "<x>", "https://", "x" * 501])
def test_a_link_of_a_receipt_is_an_address_or_a_path(signer: Signer, link: str) -> None:
    refused = refusal(signer.runtime, "receipt.export", **{"as": "markdown", "link": link})

    assert refused.details["problems"][0]["param"] == "link"


def test_a_link_without_markdown_is_refused(signer: Signer) -> None:
    refused = refusal(signer.runtime, "receipt.export", link="receipt.json")

    assert refused.message == "link: only Markdown has a link."


# Verifying it


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


def test_a_receipt_holds_for_every_commit_with_the_same_files(signer: Signer) -> None:
    content = signer.export()["content"]
    first = signer.git("rev-parse", "HEAD")
    author = ("-c", "user.name=A", "-c", "user.email=a@b")
    signer.git(*author, "commit", "-q", "--amend", "-m", "Another message")
    amended = signer.git("rev-parse", "HEAD")
    signer.git("checkout", "-q", "-b", "side", "HEAD~1")
    signer.git(*author, "merge", "-q", "--no-ff", "-m", "M", "main")

    by_amend = signer.verify(content, "main").data
    by_merge = signer.verify(content).data

    assert first != amended
    assert (by_amend["commit"], by_amend["made_for"]) == (amended, first)
    assert by_merge["commit"] == signer.git("rev-parse", "side")
    assert reasons(signer.verify(content, "HEAD~1")) == ["other_files"]
    assert reasons(signer.verify(content, "no-such-branch")) == ["unknown_commit"]


@pytest.mark.thorough
def test_another_machine_with_the_public_key_believes_it(signer: Signer, tmp_path: Path) -> None:
    content = signer.export()["content"]
    public = answer(signer.runtime, "receipt.key")["public"]
    elsewhere = with_keys(signer.runtime, tmp_path / "elsewhere")
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
    assert given.data["word"] == "proved"
    assert any("stated" in one for one in given.data["does_not_prove"])


@pytest.mark.thorough
def test_no_byte_of_it_can_change(signer: Signer) -> None:
    content = signer.export()["content"]

    for at in range(len(content)):
        other = "A" if content[at] != "A" else "B"
        changed_byte = content[:at] + other + content[at + 1 :]
        assert isinstance(signer.verify(changed_byte), Failure), at
    for more in (content + " ", " " + content, content.rstrip("\n"), content + content, ""):
        assert reasons(signer.verify(more)) == ["not_a_receipt"]


def test_another_word_than_expected_is_a_failed_check(signer: Signer) -> None:
    content = signer.export()["content"]

    same, other = (signer.verify(content, expect=word) for word in ("proved", "kept"))

    assert same.data["word"] == "proved"
    assert isinstance(other, Failure)
    assert (other.kind.code, other.details["proof"]["word"]) == ("E_CHECK_FAILED", "proved")
    assert other.message.endswith("Expected was KEPT.")


def test_the_text_of_a_verified_receipt_has_eight_lines(signer: Signer, tmp_path: Path) -> None:
    (tmp_path / "receipt.json").write_text(signer.export()["content"], encoding="utf-8")
    line = ["receipt", "verify", str(tmp_path / "receipt.json"), "--project", str(signer.root)]

    shown = run_here(signer.runtime, [*line, "--human"])
    other = run_here(signer.runtime, [*line, "--human", "--expect", "kept"])

    assert shown.status == 0, shown.err
    lines = shown.out.decode().splitlines()
    assert [one.split(":")[0] for one in lines] == list(LABELS)
    assert "Executed: tests (pytest -q), PROVED." in lines
    assert (shown.status, other.status, other.out) == (0, 1, shown.out)


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


def test_without_the_extra_the_line_that_installs_it_is_told(
    signer: Signer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handrail.host.checks.find_spec", lambda name: None)

    refused = perform(signer.runtime, "receipt.export", {})

    assert isinstance(refused, Failure)
    assert refused.kind.code == "E_CONFIG"
    assert "'.[verify]'" in refused.hint
    assert sys.executable in refused.hint


def test_no_server_signs(signer: Signer) -> None:
    served = msgspec.structs.replace(signer.runtime, is_served=True)

    refused = perform(served, "receipt.export", {})

    assert isinstance(refused, Failure)
    assert refused.kind.code == "FEATURE_DISABLED"


def test_without_a_repository_a_receipt_asks_for_a_commit(signer: Signer) -> None:
    shutil.rmtree(signer.root / ".git")

    refused = perform(signer.runtime, "receipt.export", {})

    assert isinstance(refused, Failure)
    assert "the project is not in a git repository" in refused.message
    assert "commit the work first" in refused.hint


@pytest.mark.thorough
def test_wheel_extra_repository_and_public_key_are_enough(signer: Signer, tmp_path: Path) -> None:
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
    assert json.loads(known.stdout)["data"]["word"] == "proved"
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
