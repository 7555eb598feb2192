"""The command ``ptoasm``: ``main`` is its entry point, and ``python -m ptoasm`` is the same."""

from __future__ import annotations

import sys

from ptoasm.collector import seldom


def main() -> None:
    """Runs the command line. A fault of the project itself is one line and exit status 3 (``--debug``: a traceback)."""
    with seldom():
        _main()


def _main() -> None:
    from ptoasm.cli import cli

    debug = "--debug" in sys.argv[1:]
    arguments = [a for a in sys.argv[1:] if a != "--debug"]
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        cli.main(args=arguments, prog_name="ptoasm", standalone_mode=True)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if debug:
            raise
        place = type(error).__name__
        print(f"ptoasm: internal fault ({place}: {error}); please report it (--debug shows where)", file=sys.stderr)
        sys.exit(3)


if __name__ == "__main__":
    main()
