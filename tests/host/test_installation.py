"""Facts about the installation are read as they are, and nothing is ever written."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from handrail.host.program.installation import LocalInstallation, install_method


@pytest.fixture
def installation(tmp_path: Path) -> LocalInstallation:
    return LocalInstallation(str(tmp_path / "state"), {"HOME": str(tmp_path), "PATH": str(tmp_path / "bin")})


def program(folder: Path, name: str, text: str = "#!/bin/sh\n") -> str:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_packed_files_are_there_and_others_are_not(installation: LocalInstallation) -> None:
    assert b"# Changelog" in (installation.packed("CHANGELOG.md") or b"")
    assert b"name: handrail" in (installation.packed("skill/SKILL.md") or b"")
    assert installation.packed("nothing.md") is None
    assert installation.packed("skill") is None


@pytest.mark.thorough
@pytest.mark.promise("cli.readiness")
def test_the_digest_is_stable_and_leaves_the_record_out(installation: LocalInstallation) -> None:
    assert installation.digest() == installation.digest()
    assert installation.digest().startswith("sha256:")


def test_the_first_command_on_path_is_found(installation: LocalInstallation, tmp_path: Path) -> None:
    assert installation.program().on_path == ""

    path = program(tmp_path / "bin", "handrail")
    foreign = installation.program()
    program(tmp_path / "bin", "handrail", f"#!{sys.executable}\n")

    assert (foreign.on_path, foreign.is_on_path) == (path, False)
    assert installation.program().is_on_path is True


def test_a_place_is_told_as_it_is_and_never_made(installation: LocalInstallation, tmp_path: Path) -> None:
    absent = installation.place("audit")
    (tmp_path / "state" / "data").mkdir(parents=True, mode=0o700)
    present = installation.place("data")

    assert (absent.exists, absent.is_writable, absent.mode) == (False, True, None)
    assert (present.exists, present.is_ours, present.can_lock) == (True, True, True)
    assert present.mode == 0o700
    assert os.listdir(tmp_path / "state") == ["data"]


def test_a_place_below_a_file_cannot_be_made(installation: LocalInstallation, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file", encoding="utf-8")

    assert installation.place("data").is_writable is False


def test_an_installed_skill_is_compared_byte_by_byte(installation: LocalInstallation, tmp_path: Path) -> None:
    assert installation.skills() == []
    folder = tmp_path / ".agents" / "skills" / "handrail"
    pages = ("references/exits.md", "references/loop.md", "references/playbooks.md")
    for name in ("SKILL.md", "test-prompts.json", *pages):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(installation.packed(f"skill/{name}") or b"")

    (same,) = installation.skills()
    (folder / "references" / "loop.md").write_text("other", encoding="utf-8")
    (changed,) = installation.skills()

    assert (same.version, same.min_version, same.is_packed_one) == ("0.1.0", "0.1.0", True)
    assert changed.is_packed_one is False


@pytest.mark.parametrize("content", ["", "---\nname: x\n", "no front matter", "---\n---\n"])
def test_a_skill_that_says_nothing_has_no_versions(
    installation: LocalInstallation, tmp_path: Path, content: str
) -> None:
    folder = tmp_path / ".claude" / "skills" / "handrail"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(content, encoding="utf-8")

    (found,) = installation.skills()

    assert (found.version, found.min_version) == ("", "")


def test_client_files_are_searched_for_our_server(installation: LocalInstallation, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".vscode").mkdir(parents=True)
    ours = {"command": "uvx", "args": ["handrail", "mcp"]}
    others = {"other": {"command": "node", "args": ["server.js"]}, "odd": 7, "odder": {"command": 7}}
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"h": ours, **others}}), encoding="utf-8")
    (project / ".vscode" / "mcp.json").write_text("{", encoding="utf-8")
    path = program(tmp_path / "bin", "handrail")
    (tmp_path / ".claude.json").write_text(
        json.dumps({"mcpServers": {"h": {"command": path, "args": ["mcp"]}}}), encoding="utf-8"
    )

    found = installation.client_servers(str(project))

    assert [(one.client, one.command, one.arguments, one.command_exists) for one in found] == [
        ("claude-code", path, ("mcp",), True),
        ("claude-code", "uvx", ("handrail", "mcp"), False),
    ]


def test_the_source_of_the_keys_is_told(tmp_path: Path) -> None:
    assert LocalInstallation(str(tmp_path), {}).secret_source() == "file"
    assert LocalInstallation(str(tmp_path), {"AI_NATIVE_CLI_SECRET": "x"}).secret_source() == "environment"


@pytest.mark.promise("cli.update-manager")
@pytest.mark.parametrize(
    ("marks", "direct_url", "base", "expected"),
    [
        ([], None, "other", "pip"),
        (["uv-receipt.toml"], None, "other", "uv-tool"),
        (["pipx_metadata.json"], None, "other", "pipx"),
        (["uv-receipt.toml"], {"dir_info": {"editable": True}}, "other", "editable"),
        ([], {"dir_info": {}}, "other", "pip"),
        ([], {"url": "file:///x"}, "other", "pip"),
    ],
)
def test_the_method_is_read_from_what_installers_leave(
    tmp_path: Path, marks: list[str], direct_url: object, base: str, expected: str
) -> None:
    site = tmp_path / "lib" / "site-packages"
    (site / "handrail").mkdir(parents=True)
    (site / "handrail-0.1.0.dist-info").mkdir()
    for name in marks:
        (tmp_path / name).write_text("", encoding="utf-8")
    if direct_url is not None:
        text = json.dumps(direct_url)
        (site / "handrail-0.1.0.dist-info" / "direct_url.json").write_text(text, encoding="utf-8")

    assert install_method(str(site / "handrail"), str(tmp_path), base) == expected


def test_an_environment_in_the_cache_of_uv_is_ephemeral(tmp_path: Path) -> None:
    prefix = tmp_path / "uv" / "archive-v0" / "abc"
    (prefix / "site-packages" / "handrail").mkdir(parents=True)

    assert install_method(str(prefix / "site-packages" / "handrail"), str(prefix), "base") == "ephemeral"


def test_a_checkout_is_editable(tmp_path: Path) -> None:
    assert install_method(str(tmp_path / "src" / "handrail"), str(tmp_path), "base") == "editable"
