"""Setting clients up: only our own entry changes, and taking it out leaves every file as it was."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from handrail.contract.outcome import Failure
from handrail.host.program.installation import places_of
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.operations.asked import answered, refused

FILES = {
    ".claude.json": '{"runs":7,"mcpServers":{"other":{"command":"o","env":{"API_KEY":"s3cret-value"}}}}',
    ".cursor/mcp.json": '{\n    "mcpServers": {\n        "other": {"command": "o"} // mine\n    }\n}\n',
    ".gemini/settings.json": '{\n\t"theme": "dark",\n\t"mcpServers": {}\n}',
    ".config/Code/User/mcp.json": '{\r\n  "servers": {\r\n    "other": {"url": "u"},\r\n  },\r\n}\r\n',
    ".config/zed/settings.json": '// zed\n{\n  "theme": "One", // keep\n}\n',
}
CLIENTS = ["claude-code", "cursor", "gemini", "vscode", "zed"]
KNOW_SUBAGENTS = CLIENTS[:3]


class Machine:
    """A user's home with every client in it."""

    def __init__(self, folder: Path) -> None:
        self.user = folder / "user"
        self.project = folder / "project"
        self.programs = folder / "programs"
        for directory in (self.user, self.project, self.programs):
            directory.mkdir()
        for name, text in FILES.items():
            self.write(name, text.encode())

    def write(self, name: str, content: bytes) -> None:
        path = self.user / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def read(self, name: str) -> str:
        return (self.user / name).read_bytes().decode()

    def runtime(self) -> Runtime:
        environment = {
            "HOME": str(self.user),
            "PATH": str(self.programs),
            "HANDRAIL_PROJECT": str(self.project),
            "HANDRAIL_HOME": str(self.user / ".handrail"),
        }
        return build_runtime(environment)

    def setup(self, **params: Any) -> Any:
        """Preview, then confirm; the answer of the second call, with the preview."""
        shown = answered(self.runtime(), "clients.setup", **params, dryRun=True)
        done = answered(self.runtime(), "clients.setup", **params, confirm=shown["confirm_token"])
        return {**done, **shown}

    def tree(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.user)): path.read_bytes()
            for path in sorted(self.user.rglob("*"))
            if path.is_file() and ".handrail" not in path.parts
        }


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def entries(machine: Machine) -> dict[str, Any]:
    """Our entry in each file, by readers that are not ours; comments are taken out by hand."""
    vscode = machine.read(".config/Code/User/mcp.json").replace("},\r\n", "}\r\n")
    cursor = machine.read(".cursor/mcp.json").replace(" // mine", "")
    zed = machine.read(".config/zed/settings.json").replace("// zed\n", "").replace(", // keep", "")
    return {
        "claude-code": json.loads(machine.read(".claude.json"))["mcpServers"]["handrail"],
        "cursor": json.loads(cursor)["mcpServers"]["handrail"],
        "gemini": json.loads(machine.read(".gemini/settings.json"))["mcpServers"]["handrail"],
        "vscode": "handrail" in vscode and '"type": "stdio"' in vscode,
        "zed": json.loads(zed)["context_servers"]["handrail"],
    }


def test_every_client_gets_its_entry_with_an_absolute_command(machine: Machine) -> None:
    done = machine.setup()

    found = entries(machine)
    workers = [f"{name} worker" for name in KNOW_SUBAGENTS]
    assert [item["target"] for item in done["items"]] == [*CLIENTS, *workers, "skill"]
    assert done["summary"] == {"total": 9, "succeeded": 9, "failed": 0, "skipped": 0}
    for name in ("claude-code", "cursor", "gemini", "zed"):
        assert os.path.isabs(found[name]["command"])
        assert found[name]["args"][-1] == "mcp"
    assert found["vscode"] is True
    assert (machine.user / ".agents/skills/handrail/SKILL.md").is_file()


def test_only_our_own_entry_changes(machine: Machine) -> None:
    machine.setup()

    for name, text in FILES.items():
        changed = machine.read(name)
        for line in text.replace("{}", "{").splitlines()[1:]:
            assert line in changed, (name, line)
    assert json.loads(machine.read(".claude.json"))["mcpServers"]["other"]["env"] == {
        "API_KEY": "s3cret-value"
    }


@pytest.mark.parametrize(
    "more",
    [{}, {"hooks": True}, {"scope": "project", "hooks": True}, {"sets": ["workflow", "code"], "hooks": True}],
)
def test_taking_it_out_leaves_every_file_as_it_was(machine: Machine, more: dict[str, Any]) -> None:
    before = machine.tree()
    scope = {key: value for key, value in more.items() if key == "scope"}

    machine.setup(**more)
    assert machine.tree() != before or scope
    done = machine.setup(remove=True, **scope)
    skill = ".agents/skills/handrail/"

    assert done["summary"]["failed"] == 0
    left = {name: content for name, content in machine.tree().items() if not (scope and skill in name)}
    assert {name for name in left if "handrail" not in name} == set(before)
    assert {name: left[name] for name in before} == before
    assert (machine.user / skill).exists() == bool(scope), "other projects use it too"
    assert [path for path in machine.project.rglob("*") if path.is_file()] == []


def test_code_tools_have_their_own_entry(machine: Machine) -> None:
    """The tools about code get an entry of their own that goes alone."""
    machine.setup(hooks=True)
    with_workflows = machine.tree()

    done = machine.setup(sets=["code"])
    added = json.loads(machine.read(".claude.json"))["mcpServers"]
    again = machine.setup(sets=["workflow", "code"])
    gone = machine.setup(sets=["code"], remove=True)

    assert added["handrail-code"]["args"] == [*added["handrail"]["args"], "--set", "code"]
    assert {change["action"] for change in again["preview"]["changes"]} == {"none"}
    assert not any("--set code" in step for step in done["next_steps"])
    assert machine.tree() == with_workflows, "hooks and skill serve the other entry"
    assert gone["preview"]["changes"][-1]["after"]["reason"].endswith("still use it")
    machine.setup(remove=True)
    assert {name: machine.tree()[name] for name in FILES} == {
        name: text.encode() for name, text in FILES.items()
    }


def test_removal_from_a_changed_file_takes_our_entry_only(machine: Machine) -> None:
    machine.setup(clients=["cursor"])
    machine.write(".cursor/mcp.json", machine.read(".cursor/mcp.json").replace('"o"', '"changed"').encode())

    machine.setup(clients=["cursor"], remove=True)

    assert machine.read(".cursor/mcp.json") == FILES[".cursor/mcp.json"].replace('"o"', '"changed"')


def test_a_second_time_nothing_is_left_to_change(machine: Machine) -> None:
    machine.setup(hooks=True)
    before = machine.tree()

    shown = machine.setup(hooks=True)

    actions = {change["id"]: change["action"] for change in shown["preview"]["changes"]}
    assert {action for name, action in actions.items() if name != "skill"} == {"none"}
    assert machine.tree() == before


def test_hooks_are_added_beside_those_of_others_with_a_limit(machine: Machine) -> None:
    theirs: dict[str, Any] = {
        "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "date"}]}]},
        "model": "x",
    }
    machine.write(".claude/settings.json", json.dumps(theirs, indent=2).encode())

    machine.setup(clients=["claude-code"], hooks=True)

    read = json.loads(machine.read(".claude/settings.json"))
    ours = [read["hooks"]["PreCompact"][0], read["hooks"]["SessionStart"][0]]
    assert read["hooks"]["SessionStart"][1:] == theirs["hooks"]["SessionStart"]
    assert [one["hooks"][0]["timeout"] for one in ours] == [5, 5]
    assert ours[0]["hooks"][0]["command"].endswith(" hook PreCompact")
    assert ours[1]["matcher"] == "compact|resume|startup|clear"
    assert read["model"] == "x"
    assert (machine.user / ".claude/skills/handrail/SKILL.md").is_file()
    assert os.readlink(machine.user / ".claude/skills/handrail") == "../../.agents/skills/handrail"


def test_every_client_with_hooks_gets_them_in_its_own_form(machine: Machine) -> None:
    machine.write(".cursor/hooks.json", b'{"version": 1, "hooks": {"stop": [{"command": "date"}]}}')

    done = machine.setup(clients=[*CLIENTS, "codex"], hooks=True)

    codex = json.loads(machine.read(".codex/hooks.json"))["hooks"]
    cursor = json.loads(machine.read(".cursor/hooks.json"))
    gemini = json.loads(machine.read(".gemini/settings.json"))["hooks"]
    assert [item["target"] for item in done["items"] if "hooks" in item["target"]] == [
        *("claude-code hooks", "cursor hooks", "codex hooks"),
    ]
    assert codex["PreCompact"][0]["hooks"][0]["command"].endswith("hook PreCompact codex")
    assert codex["SessionStart"][0]["matcher"] == "compact|resume|startup|clear"
    assert codex["SessionStart"][0]["hooks"][0]["timeout"] == 5
    assert cursor["hooks"]["stop"] == [{"command": "date"}]
    assert cursor["hooks"]["sessionStart"][0]["command"].endswith("hook sessionStart cursor")
    assert cursor["version"] == 1
    assert gemini["PreCompress"][0]["hooks"][0]["command"].endswith("hook PreCompress gemini")
    assert gemini["SessionStart"][0]["hooks"][0]["timeout"] == 5000  # milliseconds there
    assert any("/hooks" in step for step in done["next_steps"])


def test_a_new_file_of_cursor_s_hooks_says_its_version(machine: Machine) -> None:
    machine.setup(clients=["cursor"], hooks=True)

    assert json.loads(machine.read(".cursor/hooks.json"))["version"] == 1


def test_entry_and_hooks_of_gemini_are_one_change(
    machine: Machine,
) -> None:
    """Gemini's entry and hooks are one change of one file even where it is installed."""
    script = machine.programs / "gemini"
    script.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    script.chmod(0o755)

    done = machine.setup(clients=["gemini"], hooks=True)
    read = json.loads(machine.read(".gemini/settings.json"))
    machine.setup(clients=["gemini"], remove=True)

    assert done["summary"]["failed"] == 0
    assert {"handrail"} == set(read["mcpServers"])
    assert {"PreCompress", "SessionStart"} == set(read["hooks"])
    assert machine.read(".gemini/settings.json") == FILES[".gemini/settings.json"]


@pytest.mark.parametrize("scope", ["user", "project"])
def test_doctor_understands_everything_that_setup_writes(machine: Machine, scope: str) -> None:
    machine.setup(clients=CLIENTS, scope=scope)

    found = machine.runtime().installation().client_servers(str(machine.project))

    assert [one.client for one in found] == sorted(CLIENTS)
    assert all(one.arguments[-1] == "mcp" for one in found)


def test_a_read_only_file_is_left_to_whatever_manages_it(machine: Machine) -> None:
    managed = machine.user / "managed.json"
    managed.write_text("{}", encoding="utf-8")
    managed.chmod(0o444)
    (machine.user / ".cursor/mcp.json").unlink()
    (machine.user / ".cursor/mcp.json").symlink_to(managed)

    done = machine.setup(clients=["cursor", "gemini"])

    assert [item["ok"] for item in done["items"][:2]] == [False, True]
    assert done["items"][0]["error"]["code"] == "E_FORBIDDEN"
    assert "may not be changed" in done["items"][0]["error"]["message"]
    assert managed.read_text(encoding="utf-8") == "{}"
    assert (machine.user / ".cursor/mcp.json").is_symlink()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_closed_folder_is_told_and_the_rest_is_set_up(machine: Machine) -> None:
    (machine.user / ".cursor").chmod(0o500)

    done = machine.setup(clients=["cursor", "gemini"])

    assert [item["ok"] for item in done["items"][:2]] == [False, True]
    assert done["items"][0]["error"]["code"] == "E_FORBIDDEN"
    assert machine.read(".cursor/mcp.json") == FILES[".cursor/mcp.json"]


@pytest.mark.parametrize(
    ("platform", "zed", "code"),
    [
        ("darwin", "/u/.config/zed", "/u/Library/Application Support"),
        ("linux", "/u/.config/zed", "/u/.config"),
    ],
)
def test_each_system_keeps_them_elsewhere(
    monkeypatch: pytest.MonkeyPatch, platform: str, zed: str, code: str
) -> None:
    monkeypatch.setattr("sys.platform", platform)

    places = places_of("/u", {})

    assert (places.zed, places.configuration, places.codex) == (zed, code, "/u/.codex")


def test_the_preview_shows_our_lines_and_nothing_around_them(machine: Machine) -> None:
    shown = answered(machine.runtime(), "clients.setup", clients=["claude-code"], dryRun=True)

    change = shown["preview"]["changes"][0]
    assert (change["action"], change["id"]) == ("update", "claude-code")
    assert any("handrail" in line for line in change["diff"]["hunks"])
    assert change["diff"]["removed"] == 0
    assert "s3cret-value" not in json.dumps(shown)
    assert machine.read(".claude.json") == FILES[".claude.json"]


def test_a_file_that_changes_after_the_preview_is_a_conflict(machine: Machine) -> None:
    shown = answered(machine.runtime(), "clients.setup", clients=["zed"], dryRun=True)
    machine.write(".config/zed/settings.json", b"{}")

    failure = refused(machine.runtime(), "clients.setup", clients=["zed"], confirm=shown["confirm_token"])

    assert failure.details["reason"] == "target_changed"
    assert machine.read(".config/zed/settings.json") == "{}"


@pytest.mark.parametrize(
    ("name", "client", "content"),
    [
        (".config/zed/settings.json", "zed", b'{"theme": '),
        (".cursor/mcp.json", "cursor", b"\xff\xfe{}"),
        (".cursor/mcp.json", "cursor", b'{"mcpServers": []}'),
        (".codex/config.toml", "codex", b'model = "x" # mine'),
        (".codex/config.toml", "codex", b"model = "),
    ],
)
def test_uneditable_file_is_left_and_the_others_are_set_up(
    machine: Machine, name: str, client: str, content: bytes
) -> None:
    machine.write(name, content)

    done = machine.setup(clients=[client, "gemini"])

    by_name = {item["target"]: item for item in done["items"]}
    assert by_name[client]["error"]["code"] == "E_CONFIG"
    assert "handrail" in by_name[client]["error"]["message"]
    assert by_name["gemini"]["ok"] is True
    assert (machine.user / name).read_bytes() == content
    told = next(change for change in done["preview"]["changes"] if change["id"] == client)
    assert "handrail" in told["after"]["snippet"]


def test_wrong_entry_is_corrected_and_keeps_additions(machine: Machine) -> None:
    old = {"mcpServers": {"handrail": {"command": "handrail", "args": ["mcp"], "env": {"A": "1"}}}}
    machine.write(".cursor/mcp.json", json.dumps(old).encode())

    machine.setup(clients=["cursor"])

    entry = json.loads(machine.read(".cursor/mcp.json"))["mcpServers"]["handrail"]
    assert os.path.isabs(entry["command"])
    assert entry["env"] == {"A": "1"}


@pytest.mark.parametrize(
    ("client", "program", "added", "removed"),
    [
        ("claude-code", "claude", "mcp add --scope user handrail -- ", "mcp remove --scope user handrail"),
        ("codex", "codex", "mcp add handrail -- ", "mcp remove handrail"),
        ("gemini", "gemini", "mcp add --scope user handrail ", "mcp remove --scope user handrail"),
    ],
)
def test_installed_client_is_asked_by_its_own_command(
    machine: Machine, client: str, program: str, added: str, removed: str
) -> None:
    calls = machine.programs / "calls"
    script = machine.programs / program
    script.write_text(f'#!/bin/sh\necho "$@" >> "{calls}"\n', encoding="utf-8")
    script.chmod(0o755)
    before = machine.tree()

    done = machine.setup(clients=[client])

    assert done["items"][0]["ok"] is True
    assert calls.read_text(encoding="utf-8").startswith(added)
    assert calls.read_text(encoding="utf-8").endswith(" mcp\n")
    ours = ("skills", "handrail-worker")
    left = {name: held for name, held in machine.tree().items() if not any(one in name for one in ours)}
    assert left == before
    entry = {"command": "/x/handrail", "args": ["mcp"]}
    text = (
        '[mcp_servers.handrail]\ncommand = "/x/handrail"\n'
        if client == "codex"
        else json.dumps({"mcpServers": {"handrail": entry}})
    )
    files = {"claude-code": ".claude.json", "codex": ".codex/config.toml", "gemini": ".gemini/settings.json"}
    machine.write(files[client], text.encode())
    calls.unlink()
    machine.setup(clients=[client], remove=True)
    assert calls.read_text(encoding="utf-8") == f"{removed}\n"


def test_codex_replaces_an_entry_with_another_command(machine: Machine) -> None:
    calls = machine.programs / "calls"
    script = machine.programs / "codex"
    script.write_text(f'#!/bin/sh\necho "$@" >> "{calls}"\n', encoding="utf-8")
    script.chmod(0o755)
    machine.write(
        ".codex/config.toml", b'[mcp_servers.handrail]\ncommand = "/old/handrail"\nargs = ["mcp"]\n'
    )

    machine.setup(clients=["codex"])

    removed, added = calls.read_text(encoding="utf-8").splitlines()
    assert removed == "mcp remove handrail"
    assert added.startswith("mcp add handrail -- /")


def test_a_client_whose_command_fails_is_told(machine: Machine) -> None:
    script = machine.programs / "claude"
    script.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    script.chmod(0o755)

    done = machine.setup(clients=["claude-code"])

    assert done["items"][0]["error"]["code"] == "E_IO"
    assert "status 3" in done["items"][0]["error"]["message"]
    assert machine.read(".claude.json") == FILES[".claude.json"]


def test_on_a_machine_without_clients_one_has_to_be_named(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    for path in sorted(machine.user.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()

    outcome = perform(machine.runtime(), "clients.setup", {"dryRun": True})
    machine.setup(clients=["cursor"])

    assert isinstance(outcome, Failure)
    assert outcome.kind.code == "E_NOT_FOUND"
    assert list(json.loads(machine.read(".cursor/mcp.json"))) == ["mcpServers"]


def test_modes_and_links_of_a_file_are_kept(machine: Machine) -> None:
    real = machine.user / "dotfiles.json"
    real.write_text("{}", encoding="utf-8")
    real.chmod(0o640)
    (machine.user / ".cursor/mcp.json").unlink()
    (machine.user / ".cursor/mcp.json").symlink_to(real)

    machine.setup(clients=["cursor"])

    assert (machine.user / ".cursor/mcp.json").is_symlink()
    assert "handrail" in real.read_text(encoding="utf-8")
    assert real.stat().st_mode & 0o777 == 0o640


@pytest.mark.promise("cli.batch-inputs")
def test_clients_are_set_up_in_the_order_of_their_names(machine: Machine) -> None:
    done = machine.setup(clients=["zed", "cursor", "zed", "claude-code"])

    named = ["zed", "cursor", "claude-code", "cursor worker", "claude-code worker", "skill"]
    assert done["preview"]["targets"] == named
    assert [item["target"] for item in done["items"]] == named


WORKER = ".claude/agents/handrail-worker.md"


@pytest.mark.parametrize(
    ("client", "place"),
    [
        ("claude-code", WORKER),
        ("cursor", ".cursor/agents/handrail-worker.md"),
        ("gemini", ".gemini/agents/handrail-worker.md"),
        ("codex", ".codex/agents/handrail-worker.toml"),
        ("vscode", ""),
        ("zed", ""),
    ],
)
def test_each_client_gets_the_worker_in_its_own_format_and_place(
    machine: Machine, client: str, place: str
) -> None:
    machine.setup(clients=[client])
    found = [path.relative_to(machine.user) for path in machine.user.rglob("handrail-worker*")]
    made = machine.read(place) if place else ""
    machine.setup(clients=[client], remove=True)

    assert [str(path) for path in found] == ([place] if place else [])
    assert not list(machine.user.rglob("handrail-worker*"))
    if place.endswith(".toml"):
        told = tomllib.loads(made)
        assert sorted(told) == ["description", "developer_instructions", "name"]
        assert told["name"] == "handrail-worker"
        assert "wk1" in told["developer_instructions"]
    elif place:
        assert made.startswith("---\nname: handrail-worker\ndescription: Does one piece")


def test_client_with_subagents_gets_a_worker(machine: Machine) -> None:
    """A client that knows subagents gets a worker, which goes with Handrail."""
    machine.setup(clients=["claude-code"])
    made = machine.read(WORKER)
    machine.setup(clients=["claude-code"], remove=True)
    is_gone = not (machine.user / WORKER).exists()
    machine.setup(clients=["claude-code"])
    (machine.user / WORKER).write_text(made + "Be brief.\n", encoding="utf-8")
    machine.setup(clients=["claude-code"], remove=True)
    kept = machine.read(WORKER)
    (machine.user / WORKER).write_text("---\nname: another\n---\n", encoding="utf-8")
    refused = machine.setup(clients=["claude-code"])

    assert made.startswith("---\nname: handrail-worker\n")
    assert "HANDRAIL_WORK" in made
    assert is_gone
    assert kept.endswith("Be brief.\n")
    assert [item["ok"] for item in refused["items"] if item["target"] == "claude-code worker"] == [False]
    assert machine.read(WORKER) == "---\nname: another\n---\n"


SKILL = ".agents/skills/handrail/SKILL.md"


def skill_change(shown: Any) -> Any:
    (change,) = [change for change in shown["preview"]["changes"] if change["id"] == "skill"]
    return change


@pytest.mark.parametrize("removed", [{"clients": ["zed"]}, {"clients": ["cursor"], "scope": "project"}])
def test_removing_one_client_leaves_the_skill_to_others(machine: Machine, removed: dict[str, Any]) -> None:
    machine.setup(clients=["cursor", "zed"])

    done = machine.setup(remove=True, **removed)

    assert (machine.user / SKILL).is_file()
    assert skill_change(done)["action"] == "none"
    assert "use" in skill_change(done)["after"]["reason"] or "serves" in skill_change(done)["after"]["reason"]
    assert "skill" not in done["preview"]["blast_radius"]


def test_skill_goes_with_the_last_client(machine: Machine) -> None:
    """The skill goes with the last client and its reach says so."""
    machine.setup(clients=["cursor", "zed"])
    machine.setup(clients=["zed"], remove=True)

    last = machine.setup(clients=["cursor"], remove=True)
    again = machine.setup(clients=["cursor"], remove=True)

    assert (skill_change(last)["action"], skill_change(again)["action"]) == ("delete", "none")
    assert "skill" in last["preview"]["blast_radius"]
    assert "gone" in skill_change(again)["after"]["reason"]
    assert not (machine.user / SKILL).exists()


def test_a_client_whose_file_cannot_be_edited_keeps_the_skill(machine: Machine) -> None:
    machine.setup(clients=["cursor"])
    machine.write(".cursor/mcp.json", b"{ torn")

    done = machine.setup(clients=["cursor"], remove=True)

    assert (skill_change(done)["action"], (machine.user / SKILL).is_file()) == ("none", True)


def test_a_skill_that_the_user_changed_is_not_shown_as_deleted(machine: Machine) -> None:
    machine.setup(clients=["cursor"])
    machine.write(SKILL, machine.read(SKILL).encode() + b"Mine.\n")

    done = machine.setup(clients=["cursor"], remove=True)

    assert skill_change(done) == {
        "action": "none",
        "resource": "skill",
        "id": "skill",
        "before": None,
        "after": {"path": str((machine.user / SKILL).parent), "reason": "you changed it"},
        "diff": None,
    }


def test_foreign_directory_of_that_name_is_told_and_left(machine: Machine) -> None:
    machine.write(SKILL, b"somebody else's")

    done = machine.setup(clients=["cursor"])

    assert skill_change(done)["action"] == "none"
    assert [item["ok"] for item in done["items"]] == [True, True, False]


@pytest.mark.promise("cli.batch-preview")
def test_batch_stopped_at_a_torn_file_names_what_is_left(machine: Machine) -> None:
    machine.write(".cursor/mcp.json", b"{ torn")

    done = machine.setup(clients=["zed", "cursor", "gemini"], continueOnError=False)

    actions = [change["action"] for change in done["preview"]["changes"]]
    assert actions == ["update", "none", "none", "none", "none", "none"]
    assert done["skipped"] == ["gemini", "cursor worker", "gemini worker", "skill"]


@pytest.mark.promise("cli.doctor")
def test_fix_of_a_missing_entry_names_an_absent_client(machine: Machine, tmp_path: Path) -> None:
    bare = build_runtime({"HOME": str(tmp_path / "bare"), "PATH": ""}, home=str(tmp_path / "bare/.handrail"))

    (here,) = answered(machine.runtime(), "self.doctor", checks=["mcp_registration"], offline=True)["checks"]
    (nobody,) = answered(bare, "self.doctor", checks=["mcp_registration"], offline=True)["checks"]

    assert here["fix"] == "handrail setup --dry-run --compact"
    assert nobody["fix"].endswith("handrail setup --clients cursor --dry-run --compact")
    assert not nobody["fix"].startswith("handrail ")
