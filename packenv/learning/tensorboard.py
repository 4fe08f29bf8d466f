"""What TensorBoard shows of a run."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from packenv.envs.rendering.render import Viewer
from packenv.errors import InputError

REFERENCES = {"judge/guarantee one half": 1 / 2, "judge/guarantee two thirds": 2 / 3}


def check_installed() -> None:
    """InputError with a hint where TensorBoard is missing."""
    if find_spec("tensorboard") is None:
        raise InputError("training writes logs for TensorBoard, which is not installed: pip install 'packenv[agents]'")


class Board:
    """Scalars, pictures and settings of one run, in its folder; steps are samples."""

    def __init__(self, folder: Path, samples: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        # what a killed run wrote after its last checkpoint is hidden
        self.writer: Any = SummaryWriter(str(folder), purge_step=samples or None)
        self.viewer = Viewer("rgb_array")  # remembers the queue from one picture to the next

    def scalars(self, values: Mapping[str, float], samples: int) -> None:
        """Numbers by name (`group/name`)."""
        for name, value in values.items():
            self.writer.add_scalar(name, value, samples)

    def settings(self, record: dict[str, Any], command: str) -> None:
        """What the run was started with, as a table."""
        lines = ["| setting | value |", "|---|---|", *(f"| {name} | `{value}` |" for name, value in record.items())]
        self.writer.add_text("settings", f"`{command}`\n\n" + "\n".join(lines), 0)

    def layout(self, others: list[str]) -> None:
        """One picture of the supported fraction with its reference lines."""
        lines = ["judge/agent, lower end", "judge/agent, upper end", *REFERENCES, *others]
        self.writer.add_custom_scalars({"supported fraction of ρ*": {"agent and references": ["Multiline", lines]}})

    def picture(self, core: Any, samples: int) -> None:
        """The cluster of the first row."""
        self.writer.add_image("cluster/picture", self.viewer.show(core, 0), samples, dataformats="HWC")

    def hyperparameters(self, record: dict[str, Any], measured: dict[str, float]) -> None:
        """The settings beside what they led to, for TensorBoard's comparison of runs."""
        plain = {name: value if isinstance(value, (int, float, str, bool)) else str(value) for name, value in record.items()}
        self.writer.add_hparams(plain, {f"final/{name}": value for name, value in measured.items()}, run_name=".")

    def flush(self) -> None:
        self.writer.flush()

    def close(self) -> None:
        self.writer.close()
