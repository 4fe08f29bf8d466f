"""HiGHS without output."""

from __future__ import annotations

import highspy


class QuietHighs(highspy.Highs):
    """A solver that prints nothing, not even the banner of version 1.16."""

    def enableCallbacks(self) -> None:  # called by the constructor, and prints the banner
        self.setOptionValue("output_flag", False)
        super().enableCallbacks()
