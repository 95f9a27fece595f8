"""Procedures that are shared: versions by hash, and a pin on the one that runs."""

from sopwith.library.library import ProcedureLibrary, Reference, Version
from sopwith.library.pin import Pin

__all__ = ["Pin", "ProcedureLibrary", "Reference", "Version"]
