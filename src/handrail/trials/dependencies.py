"""The folders that a copy needs beside its files: which they are, how a copy gets them, and their state."""

from __future__ import annotations

import hashlib
import os
import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator

from handrail.host.private_files import is_below
from handrail.trials.scratch import remove_tree

FOLDERS = (".venv", "venv", "node_modules")
MANIFESTS = frozenset(
    {
        *(
            "package.json",
            "package-lock.json",
            "npm-shrinkwrap.json",
            "yarn.lock",
            "pnpm-lock.yaml",
            "bun.lock",
        ),
        *(
            "pyproject.toml",
            "setup.py",
            "setup.cfg",
            "requirements.txt",
            "uv.lock",
            "poetry.lock",
            "pdm.lock",
        ),
        *(
            "Pipfile",
            "Pipfile.lock",
            "go.mod",
            "go.sum",
            "Cargo.toml",
            "Cargo.lock",
            "Gemfile",
            "Gemfile.lock",
        ),
        *("composer.json", "composer.lock", "mix.exs", "mix.lock", "pom.xml", "deno.json", "deno.lock"),
    }
)
_DEEPEST_STATE = 2
_MOST_STATED = 50_000


def find_links(project: str, paths: Collection[str], declared: Iterable[str]) -> tuple[str, ...]:
    """Return the files and folders that a copy takes from the project, relative to it, sorted.

    They lie beside a manifest, or are declared. What the tree itself has is never taken from elsewhere.
    """
    manifests = [path for path in paths if posixpath.basename(path) in MANIFESTS]
    folders = {"", *(posixpath.normpath(posixpath.dirname(path) or ".") for path in manifests)} - {"."}
    wanted = {posixpath.join(folder, name) for folder in folders for name in FOLDERS}
    wanted |= {posixpath.normpath(name) for name in declared}
    held = {path for path in wanted if _is_inside(path) and os.path.lexists(os.path.join(project, path))}
    free = [path for path in sorted(held) if not _is_in_tree(path, paths)]
    return tuple(path for path in free if not any(path.startswith(f"{other}/") for other in free))


def _is_inside(path: str) -> bool:
    return not os.path.isabs(path) and path.split("/")[0] not in (os.curdir, os.pardir)


def _is_in_tree(path: str, paths: Collection[str]) -> bool:
    return path in paths or any(one.startswith(f"{path}/") for one in paths)


def make_mount_points(project: str, files: str, links: Iterable[str]) -> None:
    """Make an empty file or folder of the same kind for each link. Raises OSError."""
    for link in links:
        place, source = os.path.join(files, link), os.path.join(project, link)
        if not is_below(os.path.realpath(os.path.dirname(place)), files):
            continue  # a link of the tree leads elsewhere
        is_folder = os.path.isdir(source)
        if os.path.islink(place) or (os.path.lexists(place) and os.path.isdir(place) != is_folder):
            remove_tree(place)
        os.makedirs(place if is_folder else os.path.dirname(place), exist_ok=True)
        if not is_folder and not os.path.exists(place):
            with open(place, "xb"):
                pass


def link_folders(project: str, files: str, links: Iterable[str]) -> None:
    """Make a link for each. Of `node_modules` each package is linked: those of the project itself lead into
    the copy.
    """
    for link in links:
        place, source = os.path.join(files, link), os.path.join(project, link)
        if not is_below(os.path.realpath(os.path.dirname(place)), files):
            continue  # a link of the tree leads elsewhere
        remove_tree(place)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if os.path.basename(link) == "node_modules" and os.path.isdir(source):
            _link_packages(project, files, source, place)
        else:
            os.symlink(source, place)


def _link_packages(project: str, files: str, source: str, place: str) -> None:
    os.mkdir(place)
    with os.scandir(source) as found:
        entries = list(found)
    for entry in entries:
        own = os.path.join(place, entry.name)
        if entry.name.startswith("@") and entry.is_dir(follow_symlinks=False):
            _link_packages(project, files, entry.path, own)
            continue
        target = entry.path
        real = os.path.realpath(entry.path)
        if (
            entry.is_symlink()
            and is_below(real, project)
            and "node_modules" not in real[len(project) :].split(os.sep)
        ):
            target = os.path.join(files, os.path.relpath(real, project))
        os.symlink(target, own)


def list_import_places(project: str, files: str, links: Iterable[str]) -> list[str]:
    """Return where Python finds the copy's own modules, before those of the project that are installed as
    links.
    """
    places = [files]
    if os.path.isdir(os.path.join(files, "src")):
        places.append(os.path.join(files, "src"))
    for link in links:
        for path in _read_path_files(os.path.join(project, link)):
            real = os.path.realpath(path)
            if is_below(real, project):
                places.append(os.path.join(files, os.path.relpath(real, project)))
    return list(dict.fromkeys(map(os.path.normpath, places)))


def _read_path_files(environment: str) -> Iterator[str]:
    for folder in _find_site_packages(environment):
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".pth"):
                continue
            try:
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                    lines = file.read(65_536).splitlines()
            except OSError:
                continue
            yield from (line.strip() for line in lines if os.path.isabs(line.strip()))


def _find_site_packages(environment: str) -> Iterator[str]:
    above = os.path.join(environment, "lib")
    names = sorted(os.listdir(above)) if os.path.isdir(above) else []
    for name in names:
        place = os.path.join(above, name, "site-packages")
        if name.startswith("python") and os.path.isdir(place):
            yield place


def digest_state(project: str, links: Iterable[str]) -> str:
    """Return a digest that changes when something is installed or removed: names and times of the first two
    levels.
    """
    digest = hashlib.sha256()
    left = _MOST_STATED
    for link in links:
        place = os.path.join(project, link)
        roots = [place, *(_find_site_packages(place) if os.path.isdir(place) else ())]
        for root in roots:
            for row in _list_state(root, _DEEPEST_STATE):
                digest.update(row.encode("utf-8", "surrogateescape"))
                left -= 1
                if left <= 0:
                    return digest.hexdigest()
    return digest.hexdigest()


def _list_state(place: str, depth: int) -> Iterator[str]:
    try:
        found = os.stat(place)
    except OSError:
        yield f"{place}\0\n"
        return
    is_folder = os.path.isdir(place)
    size = 0 if is_folder else found.st_size
    yield f"{place}\0{found.st_mtime_ns}\0{size}\n"
    if not depth or not is_folder:
        return
    for name in sorted(os.listdir(place)):
        if name not in ("__pycache__", ".cache", ".vite", ".vitest"):
            yield from _list_state(os.path.join(place, name), depth - 1)


def digest_manifests(paths: Iterable[str], read: Callable[[str], bytes | None]) -> str:
    """Return the digest of the files that say what has to be installed."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        name = posixpath.basename(path)
        if name in MANIFESTS or name.startswith("requirements"):
            content = read(path)
            digest.update(f"{path}\0".encode("utf-8", "surrogateescape"))
            digest.update(hashlib.sha256(content or b"").digest())
    return digest.hexdigest()
