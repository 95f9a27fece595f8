"""Everything that can be found wrong with a procedure before it runs: no model, no network, no guessing.

One file per family of rules; `families.py` registers them, `codes.py` lists what they report.
"""

from sopwith.lang.check.families import check

__all__ = ["check"]
