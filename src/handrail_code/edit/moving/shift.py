"""The work on one declaration that goes to another module: the files under edit and what is decided. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec

from handrail_code.edit.moving.extent import Extent
from handrail_code.edit.moving.sheet import Form, Sheet, Want
from handrail_code.edit.moving.specifiers import name_module
from handrail_code.edit.plan import Edit, Refusal, refuse_troubles
from handrail_code.facts.join import Project
from handrail_code.facts.model import NONE, FileFacts
from handrail_code.languages.extensions import is_declaration_file, language_of

System: TypeAlias = Literal["es", "commonjs"]


class Shift:
    """One declaration on its way from `extent.path` to `target`."""

    def __init__(self, project: Project, extent: Extent, target: str, system: System) -> None:
        self.project = project
        self.extent = extent
        self.home = extent.path
        self.target = target
        self.system: System = system
        self.sheets: dict[str, Sheet] = {}
        self.kept: set[str] = set()
        """Names that the old module goes on exporting."""
        self.moved: str = ""
        """The text as it stands in the target."""

    @property
    def form(self) -> Form:
        return "import" if self.system == "es" else "require"

    @property
    def public_name(self) -> str:
        """The name under which the target exports it."""
        names = {each.exported for each in self.extent.exports}
        if self.system == "commonjs":
            own = self.extent.name
            return own if own in names or not names else ("=" if "=" in names else sorted(names)[0])
        return "default" if names == {"default"} else self.extent.name

    def exported_name(self, name: str) -> str:
        """What the target calls that which the old module exports as `name`."""
        if self.system == "commonjs" or name == "default":
            return name
        return self.public_name if self.public_name != "default" else self.extent.name

    def facts(self, path: str) -> FileFacts:
        return self.project.read_facts(path)

    def sheet(self, path: str) -> Sheet:
        if path not in self.sheets:
            like = None if path == self.home else self.sheet(self.home).style
            made = Sheet(path, self.project.source.text(path), like)
            if made.is_new:
                made.eol = self.sheet(self.home).eol
            for at, statement in enumerate(made.layout.statements):
                if statement.module_span is not None:
                    span = statement.module_span
                    made.specifiers[at] = made.text[span.start : span.end].decode()
            self.sheets[path] = made
        return self.sheets[path]

    def leads_home(self, path: str, module: str) -> bool:
        """Whether this file calls the old module so."""
        return self.project.slots.module_of(path, module) == self.home

    def edits(self) -> Iterator[Edit]:
        for path in sorted(self.sheets):
            yield from self.sheets[path].edits()

    def specifier(self, importer: str, module: str, like: str = "") -> str:
        """What `importer` calls `module`: as one of its statements does already, or relative."""
        if module != self.target or self.project.facts(module) is not None:
            for known in self.sheet(importer).specifiers.values():
                if self.project.slots.module_of(importer, known) == module:
                    return known
        return name_module(self.project, importer, module, like, self.home)

    def want(
        self,
        path: str,
        name: str,
        local: str,
        *,
        module: str = "",
        form: Form | None = None,
        is_type: bool = False,
        origin: int = NONE,
        like: str = "",
    ) -> None:
        """Let a file take a name from a module, from the target if none is said."""
        specifier = self.specifier(path, module or self.target, like)
        want = Want(form=form or self.form, specifier=specifier, name=name, local=local)
        self.sheet(path).want(msgspec.structs.replace(want, is_type=is_type, origin=origin))


def system_of(path: str, facts: FileFacts | None) -> System | None:
    """None where neither the name nor the content of the file says it."""
    if path.endswith((".mjs", ".mts", ".ts", ".tsx")):
        return "es"
    if path.endswith(".cjs"):
        return "commonjs"
    if facts is None or not facts.is_module:
        return None
    return "commonjs" if facts.is_commonjs else "es"


def refuse_target(project: Project, extent: Extent, target: str) -> System:
    """The module system of both files, or why the target cannot take the declaration."""
    name = extent.name
    _refuse_path(project, target)
    if target == extent.path:
        raise Refusal("same_name", f"{name} stands in this module already.", target)
    modules = project.slots.modules
    if modules.home_of(target) != modules.home_of(extent.path):
        message = "The module belongs to another package, which relative imports must not reach into."
        raise Refusal("other_package", message, target)
    facts = project.facts(target)
    if facts is None and project.source.text(target) is not None:
        raise Refusal("unreadable", "The module cannot be read as source.", target)
    if facts is not None and facts.troubles:
        raise refuse_troubles(target, facts)
    home_facts = project.facts(extent.path)
    home = system_of(extent.path, home_facts)
    if home is None:
        raise Refusal(
            "module_system", f"{name} stands in a script, which has no imports or exports.", extent.path
        )
    there = system_of(target, facts)
    if facts is not None and not facts.is_module and any(each.scope == 0 for each in facts.bindings):
        raise Refusal("module_system", "The target is a script; its names are shared.", target)
    if there is None and modules.system_of(target) != modules.system_of(extent.path):
        there = "es" if modules.system_of(target) == "module" else "commonjs"
    if there is not None and there != home:
        raise Refusal(
            "module_system", "One of the files is a CommonJS module and the other is an ES module.", target
        )
    _refuse_taken(project, extent, target)
    return home


def _refuse_path(project: Project, target: str) -> None:
    """A path that is no place for source, or that names a file which is there in other letters."""
    if target != posixpath.normpath(target) or target.startswith(("/", "..")) or "\\" in target:
        raise Refusal("invalid_path", "Name the module by its path inside of the project.")
    if any(ord(letter) < 32 for letter in target) or language_of(target) is None:
        raise Refusal("invalid_path", "The module needs an extension of JavaScript or TypeScript.")
    if language_of(target) == "python" or is_declaration_file(target):
        raise Refusal("invalid_path", "The module cannot hold code of this language.", target)
    declared = project.slots.twins.declared_at(target)
    if declared is not None:
        raise Refusal("twin", f"{declared} describes the module and would not name it.", declared)
    alike = [path for path in project.source.files() if path.casefold() == target.casefold()]
    if alike and target not in alike:
        message = f"Only the case of letters keeps it from {alike[0]}; some disks take the two for one file."
        raise Refusal("invalid_path", message, alike[0])


def _refuse_taken(project: Project, extent: Extent, target: str) -> None:
    """A name of the target that is not the moved one, imported."""
    facts = project.look(target)
    for at, binding in enumerate(facts.bindings):
        if binding.scope != 0 or binding.name != extent.name or extent.binding == NONE:
            continue
        home = project.slots.home_of(project.slots.slot_of_binding(target, at))
        if getattr(home, "path", "") == extent.path and getattr(home, "binding", NONE) == extent.binding:
            continue
        use = facts.uses[binding.uses[0]]
        raise Refusal("collision", f"The target already has {extent.name}.", target, use)
    for export in facts.exports:
        if extent.binding == NONE and export.exported == extent.name:
            raise Refusal("collision", f"The target already exports {extent.name}.", target, export.statement)
