"""A TensorBoard event file, without network libraries (extra `agents`)."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

INSTALL = "pip install tensorboard"


def tensorboard_is_installed() -> bool:
    return find_spec("tensorboard") is not None


def new_event_path(folder: Path) -> Path:
    """Return a path for an event file, after earlier ones."""
    return folder / f"events.out.tfevents.{int(time.time())}.packenv.{os.getpid()}"


class EventFile:
    """Named scalars and texts of one run, in one file.

    Names look like `group/name`. Open it in a `with` statement, or call `close`. With `hide_from`, TensorBoard hides values of
    earlier files from this step on: a resumed run writes those steps again.
    """

    def __init__(self, path: Path, hide_from: int | None = None) -> None:
        from tensorboard.compat.proto.event_pb2 import SessionLog
        from tensorboard.summary.writer.record_writer import RecordWriter

        self.file = path.open("wb")
        self.records: Any = RecordWriter(self.file)
        self._event(step=hide_from, file_version="brain.Event:2")
        if hide_from is not None:
            self._event(step=hide_from, session_log=SessionLog(status=SessionLog.START))

    def scalar(self, name: str, value: float, step: int) -> None:
        self._summary(step, tag=name, simple_value=value)

    def text(self, name: str, markdown: str) -> None:
        """A text in Markdown."""
        from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

        self._string(f"{name}/text_summary", markdown.encode(), [1], "text", TextPluginData(version=0).SerializeToString())

    def joint_chart(self, category: str, title: str, names: Sequence[str]) -> None:
        """Show these scalars as lines of one chart."""
        from tensorboard.plugins.custom_scalar import layout_pb2

        chart = layout_pb2.Chart(title=title, multiline=layout_pb2.MultilineChartContent(tag=names))
        layout = layout_pb2.Layout(category=[layout_pb2.Category(title=category, chart=[chart])])
        self._string("custom_scalars__config__", layout.SerializeToString(), [], "custom_scalars", b"")

    def hyperparameters(self, values: Mapping[str, float | str], measured: Mapping[str, float], step: int) -> None:
        """Write settings and measures for TensorBoard's table of runs."""
        from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2

        started, infos = plugin_data_pb2.SessionStartInfo(), []
        for name, value in values.items():
            if isinstance(value, str):
                started.hparams[name].string_value = value
                infos.append(api_pb2.HParamInfo(name=name, type=api_pb2.DATA_TYPE_STRING))
            else:
                started.hparams[name].number_value = value
                infos.append(api_pb2.HParamInfo(name=name, type=api_pb2.DATA_TYPE_FLOAT64))
        metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=name)) for name in measured]
        ended = plugin_data_pb2.SessionEndInfo(status=api_pb2.STATUS_SUCCESS)
        for tag, content in (
            (metadata.EXPERIMENT_TAG, {"experiment": api_pb2.Experiment(hparam_infos=infos, metric_infos=metrics)}),
            (metadata.SESSION_START_INFO_TAG, {"session_start_info": started}),
            (metadata.SESSION_END_INFO_TAG, {"session_end_info": ended}),
        ):
            data = plugin_data_pb2.HParamsPluginData(version=metadata.PLUGIN_DATA_VERSION, **content)
            self._summary(None, tag=tag, metadata=_plugin(metadata.PLUGIN_NAME, data.SerializeToString()))
        for name, number in measured.items():
            self.scalar(name, number, step)

    def flush(self) -> None:
        self.records.flush()

    def close(self) -> None:
        self.records.close()

    def __enter__(self) -> EventFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _string(self, tag: str, content: bytes, shape: list[int], plugin: str, data: bytes) -> None:
        from tensorboard.compat.proto.tensor_pb2 import TensorProto
        from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

        sizes = TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in shape])
        tensor = TensorProto(dtype="DT_STRING", string_val=[content], tensor_shape=sizes)
        self._summary(None, tag=tag, tensor=tensor, metadata=_plugin(plugin, data))

    def _summary(self, step: int | None, **value: Any) -> None:
        from tensorboard.compat.proto.summary_pb2 import Summary

        self._event(step=step, summary=Summary(value=[Summary.Value(**value)]))

    def _event(self, step: int | None, **content: Any) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        self.records.write(Event(wall_time=time.time(), step=step, **content).SerializeToString())


def _plugin(name: str, content: bytes) -> Any:
    from tensorboard.compat.proto.summary_pb2 import SummaryMetadata

    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=name, content=content))
