"""Fixes what was found: proposes edits, proves that nothing is lost, writes whole files or none.

Nothing here is loaded before a fix is asked for.
"""

from promptopt.fix.files import Failure, unified_diff, write_all
from promptopt.fix.rounds import Applied, Outcome, fix_all, with_fixes

__all__ = ["Applied", "Failure", "Outcome", "fix_all", "unified_diff", "with_fixes", "write_all"]
