"""ptoasm: parser, verifier and reference interpreter for PTO tile programs."""

from __future__ import annotations

__version__ = "0.1.0"
