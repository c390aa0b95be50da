"""What a source names and something else holds: contracts, refs and functions. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from handrail.workflows.builtins.registry import all_contracts, all_refs, find_contract, find_ref
from handrail.workflows.compiled import Contract
from handrail.workflows.compiling.compilation import Surroundings
from handrail.workflows.compiling.project_contracts import contract_trouble
from handrail.workflows.compiling.trail import Trail
from handrail.workflows.contract_check import example_of
from handrail.workflows.model import RefPart


class Shelf:
    """Finds named things; what was found is embedded, so that pinning holds."""

    def __init__(self, around: Surroundings, functions: Mapping[str, str], trail: Trail) -> None:
        self._own = around.contracts
        self._broken = around.broken_contracts
        self._functions = functions
        self._trail = trail
        self._used: dict[str, Contract] = {}

    def contract(self, contract_id: str, pointer: str) -> Contract | None:
        """The contract, embedded from now on; None when there is none, which has been reported."""
        if contract_id in self._used:
            return self._used[contract_id]
        builtin = find_contract(contract_id)
        if builtin is not None:
            found = builtin.compiled()
        elif contract_id in self._own:
            found = self._checked(contract_id, self._own[contract_id], pointer)
        elif self._why_broken(contract_id):
            message = f"{contract_id} cannot be used: {self._why_broken(contract_id)}"
            self._trail.report("broken_contract", pointer, message, "Correct the file of the contract.")
            return None
        else:
            known = [contract.id for contract in all_contracts()] + list(self._own)
            self._trail.unknown("contract", contract_id, known, pointer, "The step asks for notes only.")
            return None
        self._used[contract_id] = found
        return found

    def _why_broken(self, contract_id: str) -> str:
        """A file that cannot be read has no id but its name."""
        return self._broken.get(contract_id, "") or self._broken.get(contract_id.rpartition(".")[2], "")

    def used_contracts(self) -> dict[str, Contract]:
        return dict(sorted(self._used.items()))

    def ref_text(self, part: RefPart) -> str:
        ref = find_ref(part.ref_id)
        if ref is None:
            known = [ref.id for ref in all_refs()]
            place = f"{part.pointer}/refId"
            self._trail.unknown("ref", part.ref_id, known, place, "It is left out of the prompt.")
            return ""
        return ref.text

    def function_names(self, names: tuple[str, ...], pointer: str) -> tuple[str, ...]:
        """The functions that exist, in the order in which the step names them, each once."""
        for place, name in enumerate(names):
            if name not in self._functions:
                here = f"{pointer}/{place}"
                self._trail.unknown("function", name, self._functions, here, "It is left out.")
        return tuple(dict.fromkeys(name for name in names if name in self._functions))

    def _checked(self, contract_id: str, contract: Contract, pointer: str) -> Contract:
        """A project's contract, with an example made up where it has none."""
        troubles = contract_trouble(contract)
        for trouble in troubles:
            message = f"{contract_id} cannot be used: {trouble.message}"
            self._trail.report("broken_contract", pointer, message, trouble.fix)
        if troubles or contract.example:
            return contract
        return msgspec.structs.replace(contract, example=example_of(contract))
