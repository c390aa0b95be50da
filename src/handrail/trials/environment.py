"""The variables of a trial: few, and the same every time."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Mapping

import msgspec

from handrail.host.private_files import is_below
from handrail.ports.checks import is_left_by_npm
from handrail.ports.trials import TrialCheck

CASES = "HANDRAIL_CASES"
_LANGUAGE = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"
_LOCATING = (
    *(
        "PATH",
        "HOME",
        "LD_LIBRARY_PATH",
        "PYENV_ROOT",
        "PYENV_VERSION",
        "NVM_DIR",
        "NODENV_ROOT",
        "VOLTA_HOME",
    ),
    *(
        "ASDF_DATA_DIR",
        "ASDF_DIR",
        "MISE_DATA_DIR",
        "CONDA_PREFIX",
        "JAVA_HOME",
        "GOROOT",
        "GOPATH",
        "GOCACHE",
    ),
    *("CARGO_HOME", "RUSTUP_HOME", "XDG_CACHE_HOME", "UV_CACHE_DIR", "UV_PYTHON_INSTALL_DIR"),
)
"""Variables that locate this machine's programs and their caches."""
_OWN_SECRETS = ("AI_NATIVE_CLI_SECRET",)


def make_fixed(check: TrialCheck, caller: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of every trial of a check, without those that depend on its folder."""
    fixed = {name: caller[name] for name in _LOCATING if caller.get(name)}
    fixed["PATH"] = keep_absolute(fixed.get("PATH", os.defpath))
    fixed |= {"LANG": _LANGUAGE, "TZ": "UTC", "PYTHONDONTWRITEBYTECODE": "1", "UV_NO_SYNC": "1"}
    if check.prepare:
        del fixed["UV_NO_SYNC"]
    fixed |= {name: caller[name] for name in check.inherits if name in caller and name not in _OWN_SECRETS}
    return fixed | dict(check.environment)


def make_callers(check: TrialCheck, caller: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a check in place: those of the caller, as `check run` gives them."""
    kept = {
        name: value for name, value in caller.items() if name not in _OWN_SECRETS and not is_left_by_npm(name)
    }
    return kept | dict(check.environment)


def keep_absolute(places: str) -> str:
    """Return the search path without entries that mean the working directory."""
    return os.pathsep.join(place for place in places.split(os.pathsep) if os.path.isabs(place))


def move_below(places: str, project: str, files: str) -> str:
    """Return the search path with the entries of the project moved to the copy."""
    return os.pathsep.join(
        os.path.join(files, os.path.relpath(place, project)) if is_below(place, project) else place
        for place in places.split(os.pathsep)
    )


def add_hooks(variables: Mapping[str, str], hooks: str, place: Mapping[str, str]) -> dict[str, str]:
    """Return the variables by which test runners load the hooks that write their cases to `place`."""
    script = os.path.join(hooks, "handrail_cases.cjs").replace("\\", "\\\\").replace('"', '\\"')
    added = {
        CASES: msgspec.json.encode(dict(place)).decode(),
        "PYTHONPATH": hooks,
        "PYTEST_PLUGINS": "handrail_pytest",
        "NODE_OPTIONS": f'--require "{script}"',
    }
    joins = {"PYTHONPATH": os.pathsep, "PYTEST_PLUGINS": ",", "NODE_OPTIONS": " "}
    made = {**variables, **added}
    for name, mark in joins.items():
        if variables.get(name):
            made[name] = f"{added[name]}{mark}{variables[name]}"
    return made


def add_import_places(variables: Mapping[str, str], places: Iterable[str]) -> dict[str, str]:
    known = variables.get("PYTHONPATH", "")
    return {**variables, "PYTHONPATH": os.pathsep.join((*places, *([known] if known else [])))}


def show(argv: Iterable[str]) -> str:
    """Return a command as people write it."""
    return shlex.join(argv)
