"""A process that measures what it is asked: JSON objects, one a line, on standard input and output.

Each contestant has a process of its own, with its imports done and its caches warm, so that rounds can be
interleaved. Imports nothing of ours until it must: it also runs in an environment that only has xDSL.
"""

from __future__ import annotations

import gc
import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

Answer = dict[str, Any]


def versions(modules: list[str]) -> Answer:
    """Which of these modules there are, in which version."""
    from importlib import metadata

    found: Answer = {"python": sys.version.split()[0]}
    for module in modules:
        try:
            found[module] = metadata.version(module)
        except metadata.PackageNotFoundError:
            found[module] = None
    return found


def ours_exists() -> Answer:
    try:
        ptoasm: Any = importlib.import_module("ptoasm")
    except ImportError as error:
        return {"parse": False, "file": str(error)}
    return {"parse": hasattr(ptoasm, "parse") and hasattr(ptoasm, "verify"), "file": str(ptoasm.__file__)}


def ours(path: str, arch: str = "a5") -> Answer:
    """Seconds to parse and to verify."""
    ptoasm: Any = importlib.import_module("ptoasm")
    text = Path(path).read_text()
    gc.collect()
    start = perf_counter()
    module = ptoasm.parse(text, filename=path)
    parsed = perf_counter()
    diagnostics = ptoasm.verify(module, arch=arch)
    end = perf_counter()
    return {"parse": parsed - start, "verify": end - parsed, "complaints": [str(d) for d in diagnostics[:3]]}


def stages(path: str, arch: str = "a5") -> Answer:
    """Seconds to parse, verify, print and convert."""
    ptoasm: Any = importlib.import_module("ptoasm")
    text = Path(path).read_text()
    steps: tuple[tuple[str, Callable[[Any], object]], ...] = (
        ("verify", lambda module: ptoasm.verify(module, arch=arch)),
        ("print", lambda module: ptoasm.convert(module, to="dps")),
        ("convert", lambda module: ptoasm.convert(module, to="ssa")),
    )
    gc.collect()
    start = perf_counter()
    module = ptoasm.parse(text, filename=path)
    seconds: Answer = {"parse": perf_counter() - start}
    for name, step in steps:
        start = perf_counter()
        step(module)
        seconds[name] = perf_counter() - start
    return seconds


def memory(path: str, arch: str = "a5") -> Answer:
    """Bytes that the process grew to, at its peak, to read, parse and verify a file; and how many statements it has."""
    ptoasm: Any = importlib.import_module("ptoasm")
    gc.collect()
    before = _peak()
    module = ptoasm.parse(Path(path).read_text(), filename=path)
    ptoasm.verify(module, arch=arch)
    grown = _peak() - before
    return {"bytes": grown, "statements": sum(1 for function in module.functions for _ in function.walk())}


def _peak() -> int:
    """The largest resident size of this process.

    On Linux `ru_maxrss` also remembers the size of the process that started this one; VmHWM does not.
    """
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def xdsl(path: str) -> Answer:
    """Seconds that xDSL takes to parse and to verify a file in generic form."""
    context_type: Any = importlib.import_module("xdsl.context").Context
    parser_type: Any = importlib.import_module("xdsl.parser").Parser
    context = context_type(allow_unregistered=True)
    for name, dialect in (("builtin", "Builtin"), ("func", "Func"), ("arith", "Arith")):
        context.load_dialect(getattr(importlib.import_module(f"xdsl.dialects.{name}"), dialect))
    text = Path(path).read_text()
    gc.collect()
    start = perf_counter()
    module = parser_type(context, text).parse_module()
    parsed = perf_counter()
    module.verify()
    end = perf_counter()
    return {"parse": parsed - start, "verify": end - parsed}


def kernels(case: int, rounds: int) -> Answer:
    module: Any = importlib.import_module("benchmarks.kernels")
    samples: Answer = module.measure(module.CASES[case], rounds)
    return samples


TASKS: dict[str, Callable[..., Answer]] = {
    task.__name__: task for task in (versions, ours_exists, ours, stages, memory, xdsl, kernels)
}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        answer = TASKS[request.pop("task")](**request)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
