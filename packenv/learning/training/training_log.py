"""What TensorBoard shows of a training run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from packenv.envs.episodes.core import Core
from packenv.envs.rendering.render import Viewer
from packenv.errors import InputError
from packenv.results.event_file import INSTALL, EventFile, new_event_path, tensorboard_is_installed

GUARANTEES = {"judge/guarantee one half": 1 / 2, "judge/guarantee two thirds": 2 / 3}


def require_tensorboard() -> None:
    """Raise InputError where TensorBoard is missing."""
    if not tensorboard_is_installed():
        raise InputError(f"training writes logs for TensorBoard, which is not installed: {INSTALL}")


class TrainingLog:
    """Scalars, pictures and settings of one run, in its folder. Steps are samples."""

    def __init__(self, folder: Path, samples: int) -> None:
        # the steps that a killed run wrote after its last checkpoint are written again
        self.file = EventFile(new_event_path(folder), hide_from=samples + 1 if samples else None)
        self.viewer = Viewer("rgb_array")  # keeps the queue from one picture to the next

    def scalars(self, values: Mapping[str, float], samples: int) -> None:
        """Numbers by name (`group/name`)."""
        for name, value in values.items():
            self.file.scalar(name, value, samples)

    def settings(self, record: Mapping[str, Any], command: str) -> None:
        """The command and the settings of the run, as a table."""
        lines = ["| setting | value |", "|---|---|", *(f"| {name} | `{value}` |" for name, value in record.items())]
        self.file.text("settings", f"`{command}`\n\n" + "\n".join(lines))

    def supported_fraction_chart(self, others: Sequence[str]) -> None:
        """One chart of the agent's supported fraction beside the guarantees and these other scalars."""
        lines = ["judge/agent, lower end", "judge/agent, upper end", *GUARANTEES, *others]
        self.file.joint_chart("supported fraction of ρ*", "agent and references", lines)

    def picture(self, core: Core, samples: int) -> None:
        """The cluster of the first environment."""
        self.file.picture("cluster/picture", self.viewer.show(core, 0), samples)

    def hyperparameters(self, record: Mapping[str, Any], measured: Mapping[str, float], samples: int) -> None:
        """The settings beside what they led to, for TensorBoard's table of runs."""
        plain = {name: value if isinstance(value, (int, float, str)) else str(value) for name, value in record.items()}
        self.file.hyperparameters(plain, {f"final/{name}": value for name, value in measured.items()}, samples)

    def flush(self) -> None:
        self.file.flush()

    def close(self) -> None:
        self.file.close()
