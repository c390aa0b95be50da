"""How a file names another module: relative, with the importer's style of extensions. Pure."""

from __future__ import annotations

import posixpath
import re

from handrail_code.facts.join import Project
from handrail_code.facts.model import list_ties

OUTPUT_OF = {".ts": ".js", ".tsx": ".js", ".mts": ".mjs", ".cts": ".cjs", ".jsx": ".jsx"}
WRITTEN = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts")


def name_module(project: Project, importer: str, target: str, like: str = "", model: str = "") -> str:
    """The specifier of `target` in `importer`.

    `like` is the specifier that it replaces there; without one, other relative imports of the file show its
    style, then those of the file `model`, then what is usual for the kind of file. A file that Node loads as
    it is, because it has no relative imports, stays so.
    """
    shown = like if like.startswith(".") else _shown(project, importer)
    if not shown and (project.facts(importer) is None or not _needs_extension(project, importer, "", model)):
        shown = _shown(project, model)
    stem, extension = split_extension(target)
    relative = posixpath.relpath(stem, posixpath.dirname(importer) or ".")
    if not relative.startswith("."):
        relative = "./" + relative
    written = posixpath.splitext(shown)[1] if shown else ""
    if shown and written not in WRITTEN:
        is_index_named = posixpath.basename(split_extension(shown)[0]) == "index"
        return relative if is_index_named else _without_index(relative)
    if not shown and not _needs_extension(project, importer, extension, model):
        return relative
    is_plain = not written and extension in WRITTEN[:4]
    return relative + (extension if is_plain else _output(extension, written))


def suggest_module(path: str, name: str) -> str:
    """A module beside this file: `fetchData` of `src/app.js` goes to `src/fetch-data.js`."""
    stem = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower().strip("_$#") or "extracted"
    return posixpath.join(posixpath.dirname(path), stem + split_extension(path)[1])


def split_extension(path: str) -> tuple[str, str]:
    for declared in (".d.ts", ".d.mts", ".d.cts"):
        if path.endswith(declared):
            return path.removesuffix(declared), declared[2:]
    return posixpath.splitext(path)


def place_of(path: str, module: str) -> str:
    """A module that is no source of this project, by a name that does not depend on the importer."""
    if not module.startswith("."):
        return module
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), module))


def _without_index(relative: str) -> str:
    """`./a/index` as `./a`, which is how files without extensions name a folder."""
    if posixpath.basename(relative) != "index":
        return relative
    folder = posixpath.dirname(relative)
    return folder if folder not in (".", "") else "."


def _output(extension: str, written: str) -> str:
    if written in (".ts", ".tsx", ".mts", ".cts"):
        return extension
    return OUTPUT_OF.get(extension, extension)


def _shown(project: Project, path: str) -> str:
    """A relative specifier of a source file in this file."""
    named = (each.module for each in list_ties(project.look(path)))
    relative = (module for module in named if module.startswith("."))
    return next((module for module in relative if project.slots.module_of(path, module) is not None), "")


def _needs_extension(project: Project, importer: str, extension: str, model: str) -> bool:
    """Node's own loader wants extensions in ES modules; compilers and `require` do without."""
    facts = project.facts(importer) or project.facts(model)
    if importer.endswith((".mjs", ".mts")) or extension in (".mjs", ".cjs"):
        return True
    is_plain = importer.endswith((".js", ".jsx"))
    return is_plain and facts is not None and facts.is_module and not facts.is_commonjs
