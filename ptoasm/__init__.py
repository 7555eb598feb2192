"""ptoasm: parser, verifier and reference interpreter for PTO tile programs.

Everything here is imported when it is first asked for: ``import ptoasm`` loads neither Lark nor NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ptoasm.api import check_address, convert, parse, required_tmp, verify
    from ptoasm.diagnostics import Diagnostic, PtoError
    from ptoasm.interpreter.arrays import tci, tcolargmin, tcolsum
    from ptoasm.interpreter.compiled import Kernel, compile
    from ptoasm.interpreter.run import Result, run

_HOMES = {
    "ptoasm.api": ("check_address", "convert", "parse", "required_tmp", "verify"),
    "ptoasm.diagnostics": ("Diagnostic", "PtoError"),
    "ptoasm.interpreter.arrays": ("tcolargmin", "tci", "tcolsum"),
    "ptoasm.interpreter.compiled": ("Kernel", "compile"),
    "ptoasm.interpreter.run": ("Result", "run"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Diagnostic",
    "Kernel",
    "PtoError",
    "Result",
    "check_address",
    "compile",
    "convert",
    "parse",
    "required_tmp",
    "run",
    "tci",
    "tcolargmin",
    "tcolsum",
    "verify",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'ptoasm' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(home), name)
