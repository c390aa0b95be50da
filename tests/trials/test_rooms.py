"""Trials run in copies: which files they see, which variables, and what they leave."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.ports.trials import TrialCheck
from tests.trials.rooms import Workshop, shell
from tests.worktree.project import picture

pytestmark = pytest.mark.thorough


def test_trial_sees_the_files_of_its_tree(workshop: Workshop, isolation: str) -> None:
    workshop.write({"a.txt": "first"})
    first = workshop.take()
    workshop.write({"a.txt": "second"})

    result = workshop.run(shell("cat a.txt; ls run.sh"), first)

    assert (result.state, result.exit_status, result.isolation) == ("passed", 0, isolation)
    assert result.tail == "firstrun.sh\n"
    assert result.cases is None


def test_trial_has_the_project_path_where_it_can(workshop: Workshop, isolation: str) -> None:
    result = workshop.run(shell("pwd"))

    assert (result.tail.strip() == str(workshop.root)) == (isolation == "bind_mount")


def test_trial_leaves_the_project_as_it_is(workshop: Workshop) -> None:
    before = picture(workshop.root)

    result = workshop.run(shell("echo x > src/a.py; rm run.sh; mkdir new; echo x > new/one"))

    assert result.state == "passed"
    assert picture(workshop.root) == before


def test_trial_starts_from_its_tree_again(workshop: Workshop) -> None:
    tree = workshop.take()
    workshop.run(
        shell("echo x > src/a.py; rm run.sh; echo x > new; mkdir shut; touch shut/in; chmod 0 shut"), tree
    )

    result = workshop.run(shell("cat src/a.py; ls"), tree)

    assert result.tail.split() == ["a", "=", "1", "link", "run.sh", "src"]


def test_trial_replaces_files_that_are_named(workshop: Workshop) -> None:
    check = shell("cat src/a.py; [ -x run.sh ]")

    result = workshop.run(check, replaced={"src/a.py": b"broken", "run.sh": b"#!/bin/sh\nfalse\n"})
    again = workshop.run(check)

    assert (result.tail, result.state) == ("broken", "passed")
    assert again.tail == "a = 1\n"


def test_trial_has_few_fixed_variables(workshop: Workshop) -> None:
    check = shell("env; touch $TMPDIR/left", environment=(("SET", "here"),))

    given = dict(row.split("=", 1) for row in workshop.run(check).tail.splitlines())
    named = workshop.run(shell("echo $CALLERS", inherits=("CALLERS",)))

    assert given["SET"] == "here"
    assert (given["TZ"], given["PYTHONDONTWRITEBYTECODE"]) == ("UTC", "1")
    assert "CALLERS" not in given
    assert named.tail == "secret\n"
    assert not os.path.exists(given["TMPDIR"])


def test_trial_uses_dependency_folders_of_the_project(workshop: Workshop) -> None:
    workshop.write(
        {
            ".gitignore": "node_modules\n.venv\nbig\nhidden\n",
            "node_modules/one/index.js": "installed",
            "packages/a/package.json": "{}",
            "packages/a/node_modules/two/index.js": "inner",
            ".venv/bin/tool": "#!/bin/sh\necho tool\n",
            "big": "declared",
            "hidden": "not declared",
        }
    )
    (workshop.root / ".venv/bin/tool").chmod(0o755)
    line = "cat node_modules/one/index.js packages/a/node_modules/two/index.js big; .venv/bin/tool; ls hidden"

    result = workshop.run(shell(line, links=("big",)))
    again = workshop.run(shell(line, links=("big",)))

    assert result.tail.startswith("installedinnerdeclaredtool\n")
    assert result.state == "failed", "an ignored file is in no copy"
    assert again.tail == result.tail
    assert (workshop.root / "node_modules/one/index.js").read_text(encoding="utf-8") == "installed"


@pytest.mark.parametrize("link", ["../outside", "/etc", ".", "way/data"])
def test_links_that_lead_out_of_the_copy_are_left_out(workshop: Workshop, link: str) -> None:
    outside = workshop.root.parent / "outside"
    outside.mkdir()
    (outside / "data").write_text("kept", encoding="utf-8")
    workshop.write({"place/data": "x", ".gitignore": "way\n"})
    (workshop.root / "way").symlink_to(outside)

    result = workshop.run(shell("pwd", links=(link,)))

    assert result.state == "passed"
    assert (outside / "data").read_text(encoding="utf-8") == "kept"


def test_hooks_that_a_check_changes_are_new_in_the_next_trial(linked: Workshop) -> None:
    with linked.trials.open(str(linked.root), shell("echo x > ${PYTHONPATH%%:*}/json.py")) as room:
        room.run(linked.take())
        result = room.run(linked.take(), command=("/bin/sh", "-c", "ls ${PYTHONPATH%%:*}"))

    assert "json.py" not in result.tail
    assert "handrail_pytest.py" in result.tail


def test_copy_links_packages_of_the_project_to_itself(linked: Workshop) -> None:
    linked.write({".gitignore": "node_modules\n", "packages/own/package.json": "{}", "packages/own/x": "old"})
    (linked.root / "node_modules/@scope").mkdir(parents=True)
    (linked.root / "node_modules/@scope/own").symlink_to("../../packages/own")

    result = linked.run(shell("cat node_modules/@scope/own/x"), replaced={"packages/own/x": b"new"})

    assert result.tail == "new"


def test_copy_finds_its_own_modules_before_installed_links(linked: Workshop) -> None:
    linked.write(
        {
            ".gitignore": ".venv\n",
            "pyproject.toml": "",
            "lib/own.py": "x = 1",
            ".venv/lib/python3.11/site-packages/own.pth": f"{linked.root}/lib\n",
        }
    )

    result = linked.run(shell("echo $PYTHONPATH"))

    places = result.tail.strip().split(":")
    assert [Path(place).name for place in places[1:]] == ["files", "src", "lib"]
    assert not any(place.startswith(str(linked.root)) for place in places)


def test_prepare_runs_once_for_equal_manifests(workshop: Workshop) -> None:
    check = shell(
        "cat made/by", prepare=("/bin/sh", "-c", "mkdir made; date +%N > made/by; echo p >> /dev/stderr")
    )
    workshop.write({"package.json": "{}"})
    first = workshop.run(check)
    workshop.write({"a.txt": "other"})
    second = workshop.run(check)
    workshop.write({"package.json": '{"a": 1}'})
    third = workshop.run(check)

    assert (first.state, first.isolation) == ("passed", "prepared")
    assert second.tail == first.tail
    assert third.tail != first.tail


def test_failed_prepare_starts_no_check(linked: Workshop) -> None:
    result = linked.run(shell("true", prepare=("/bin/sh", "-c", "echo why; exit 3")))

    assert result.state == "not_started"
    assert result.reason == "`/bin/sh -c 'echo why; exit 3'` ended with the status 3"
    assert result.tail == "why\n"


def test_two_rooms_of_a_project_do_not_disturb_each_other(linked: Workshop) -> None:
    tree = linked.take()
    linked.write({"a.txt": "other"})
    check = shell("ls; pwd; cat a.txt")
    project = str(linked.root)

    with linked.trials.open(project, check) as one, linked.trials.open(project, check) as two:
        first, second = one.run(tree), two.run(linked.take())
        assert one.environment == two.environment

    assert first.state == "failed"
    assert second.tail.endswith("other")
    assert first.tail.split()[3] != second.tail.split()[3]


def test_room_names_another_environment_after_an_installation(linked: Workshop) -> None:
    def read() -> str:
        with linked.trials.open(str(linked.root), shell("true")) as room:
            return room.environment

    linked.write({"node_modules/one/package.json": "{}"})
    before, same = read(), read()
    linked.write({"node_modules/two/package.json": "{}"})

    assert before == same
    assert read() != before


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("no-such-program", 'there is no program "no-such-program" on PATH'),
        ("./src/a.py", '"./src/a.py" is not a program in the project'),
        ("../out", '"../out" leads out of the project; give its absolute path if it is meant'),
    ],
)
def test_program_that_is_not_there_starts_nothing(workshop: Workshop, word: str, reason: str) -> None:
    result = workshop.run(TrialCheck(command=(word,)))

    assert (result.state, result.reason) == ("not_started", reason)


def test_program_of_the_project_is_that_of_the_tree(workshop: Workshop) -> None:
    workshop.write({".gitignore": "bin\n", "bin/python": "#!/bin/sh\n"})
    (workshop.root / "bin/python").chmod(0o755)
    trials = workshop.trials
    trials._environment = {**trials._environment, "PATH": f"{workshop.root}/bin:/usr/bin:/bin"}

    result = workshop.run(TrialCheck(command=("python", "--version")))

    assert "bin/python" not in result.tail
    assert result.state == "not_started" or result.tail.startswith("Python")


def test_check_in_place_has_the_callers_variables(linked: Workshop) -> None:
    check = shell("echo $CALLERS; pwd; echo x > left.log")

    with linked.trials.open(str(linked.root), check) as room:
        result = room.run_in_place()

    assert result.tail == f"secret\n{linked.root}\n"
    assert (result.state, result.isolation) == ("passed", "in_place")
    assert (linked.root / "left.log").exists()


def test_tree_that_is_not_here_is_not_tried(linked: Workshop, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()

    with linked.trials.open(str(tmp_path / "plain"), shell("true")) as room:
        result = room.run("0" * 40)

    assert (result.state, result.reason) == (
        "not_started",
        "the files of that tree are not on this machine any more",
    )
