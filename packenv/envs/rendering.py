"""Pictures and text: servers, virtual queues, and the queue's history."""

from __future__ import annotations

import colorsys
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from packenv.cluster.copy_tasks import tasks_of
from packenv.cluster.queue.by_type import types_of
from packenv.cluster.state import NONE, TASK
from packenv.envs.episodes.core import Core
from packenv.errors import library_needed
from packenv.units import UNIT

COLOURS = 16
"""Of jobs, where an environment has no types of tasks: job n has colour n modulo COLOURS."""


class DrawnJob(NamedTuple):
    """A running task's type or colour, and demand (D,)."""

    type: int
    demand: NDArray[np.float64]


class ClusterView(NamedTuple):
    """A cluster in a slot. Sizes in units of capacity."""

    slot: int
    waiting: int
    capacity: NDArray[np.float64]  # (L, D)
    jobs: list[list[DrawnJob]]  # of each server, by row
    queues: NDArray[np.int64]  # (2J,) tasks in each virtual queue of the first kind of server; or of jobs, by colour
    queued: str  # what `queues` are
    decided: int  # the server that the decision is about, NONE if it is about all


def view_of(core: Core, row: int) -> ClusterView:
    """Return the present view of row `row`."""
    c = core.batch.c
    task = c.task[row]
    jobs: list[list[DrawnJob]] = [[] for _ in range(core.sizes.servers)]
    typed = c.types.bound.shape[2] > 0
    served = np.flatnonzero((task["kind"] == TASK) & (task["server"] != NONE))
    for i in served[np.argsort(task["row"][served], kind="stable")]:
        server = int(task["server"][i])
        kind = int(c.server["kind"][row, server])
        demand = c.demand[row, i] if c.demand.shape[1] else task["size"][i : i + 1]
        # larger than all types of the kind: shown as the largest
        j = max(int(types_of(c, row, kind, task["size"][i])), 0) if typed else int(task["job"][i]) % COLOURS
        jobs[server].append(DrawnJob(j, demand / UNIT))
    if typed:
        queues = c.types.queue["count"][row, 0].copy()
    else:  # by colour
        queues = np.bincount(c.task["job"][row, tasks_of(c, row)[0]] % COLOURS, minlength=COLOURS)
    head = c.head[row]
    return ClusterView(
        slot=int(head["now"]),
        waiting=int(head["waiting"]),
        capacity=core.setting.capacity / UNIT,
        jobs=jobs,
        queues=queues,
        queued="virtual queues" if typed else f"jobs, modulo {COLOURS}",
        decided=int(core.batch.turn["server"][row]),
    )


def text_of(view: ClusterView) -> str:
    """Return a line per server (at most 20), and queues."""
    lines = [f"slot {view.slot}: {view.waiting} waiting"]
    width = 40
    for server, jobs in enumerate(view.jobs[:20]):
        capacity = view.capacity[server].max()
        bar = ""
        for job in jobs:
            bar += "0123456789abcdefghijklmnopqrstuv"[job.type] * max(1, round(width * float(job.demand.max() / capacity)))
        lines.append(f"{'>' if server == view.decided else ' '}{server:3d} |{bar[:width]:<{width}}| {len(jobs)} jobs")
    if len(view.jobs) > 20:
        lines.append(f"     … {len(view.jobs) - 20} more servers")
    lines.append(f"{view.queued}: " + " ".join(f"{j}:{count}" for j, count in enumerate(view.queues.tolist())))
    return "\n".join(lines)


WIDTH, HEIGHT = 720, 480
MARGIN, GAP = 24, 18
QUEUES_WIDTH, HISTORY_HEIGHT = 190, 120
MOST_BARS = 120
HISTORY = 512
INK, PALE, PAPER, MARK = (40, 40, 46), (226, 227, 231), (252, 252, 253), (214, 60, 50)

Colour = tuple[int, int, int]
Box = tuple[int, int, int, int]


def colour_of(j: int, types: int) -> Colour:
    """Return warm colours for large types, cool for small."""
    hue = 0.02 + 0.62 * (j // 2) / max(types // 2 - 1, 1)
    red, green, blue = colorsys.hls_to_rgb(hue, 0.48 if j % 2 == 0 else 0.66, 0.62)
    return int(255 * red), int(255 * green), int(255 * blue)


class Viewer:
    """The display of an environment, with its queue's history."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.history: deque[tuple[int, int]] = deque(maxlen=HISTORY)
        self._window: Any = None

    def forget(self) -> None:
        self.history.clear()

    def look(self, core: Core, row: int) -> None:
        head = core.batch.c.head[row]
        point = int(head["now"]), int(head["waiting"])
        if self.history and self.history[-1][0] > point[0]:
            self.forget()
        if not self.history or self.history[-1] != point:
            self.history.append(point)

    def show(self, core: Core, row: int) -> Any:
        """Return an (HEIGHT, WIDTH, 3) picture or text, or show it."""
        self.look(core, row)
        view = view_of(core, row)
        if self.mode == "ansi":
            return text_of(view)
        picture = draw(view, self.history)
        if self.mode == "human":
            self._put_on_screen(picture)
            return None
        return picture

    def _put_on_screen(self, picture: NDArray[np.uint8]) -> None:
        try:
            import pygame
        except ImportError as error:
            raise DependencyNotInstalled(library_needed('render_mode "human"', "render", error)) from None
        if self._window is None:
            pygame.display.init()
            self._window = pygame.display.set_mode((WIDTH, HEIGHT))
            pygame.display.set_caption("packenv")
        pygame.event.pump()
        self._window.blit(pygame.surfarray.make_surface(picture.swapaxes(0, 1)), (0, 0))
        pygame.display.flip()

    def close(self) -> None:
        if self._window is not None:
            import pygame

            pygame.display.quit()
            self._window = None


def draw(view: ClusterView, history: Sequence[tuple[int, int]]) -> NDArray[np.uint8]:
    """Return the picture of a view, (HEIGHT, WIDTH, 3)."""
    image = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    pen = ImageDraw.Draw(image)
    font = ImageFont.load_default(13)
    pen.text((MARGIN, 8), f"slot {view.slot}    {view.waiting} waiting", INK, font)
    below = HEIGHT - MARGIN - HISTORY_HEIGHT
    _servers(pen, font, view, (MARGIN, 48, WIDTH - MARGIN - QUEUES_WIDTH - GAP, below - 2 * GAP))
    _queues(pen, font, view, (WIDTH - MARGIN - QUEUES_WIDTH, 48, WIDTH - MARGIN, below - 2 * GAP))
    _history(pen, font, history, (MARGIN, below, WIDTH - MARGIN, HEIGHT - MARGIN))
    return np.asarray(image, np.uint8).copy()


def _servers(pen: Any, font: Any, view: ClusterView, box: Box) -> None:
    left, top, right, bottom = box
    servers, resources = view.capacity.shape
    visible = min(servers, max(1, MOST_BARS // resources))
    more = f", {visible} of {servers}" if visible < servers else ""
    pen.text((left, top - 18), f"servers{more}", INK, font)
    step = (right - left) / visible
    scale = (bottom - top) / view.capacity.max()
    types = len(view.queues)
    for server in range(visible):
        for r in range(resources):
            width = step * 0.82 / resources
            x = left + server * step + r * width
            high = bottom - view.capacity[server, r] * scale
            pen.rectangle((x, high, x + width - 1, bottom), fill=PALE)
            level = float(bottom)
            for job in view.jobs[server]:
                upper = level - job.demand[r] * scale
                if job.demand[r] > 0:
                    pen.rectangle((x, upper, x + width - 1, level), fill=colour_of(job.type, types), outline=PAPER)
                level = upper
        if server == view.decided != NONE:
            x = left + server * step
            pen.rectangle((x, bottom + 3, x + step * 0.82 - 1, bottom + 6), fill=MARK)


def _queues(pen: Any, font: Any, view: ClusterView, box: Box) -> None:
    left, top, right, bottom = box
    pen.text((left, top - 18), view.queued, INK, font)
    types = len(view.queues)
    step = (bottom - top) / types
    most = max(int(view.queues.max()), 5)
    for j, count in enumerate(view.queues.tolist()):
        y = top + j * step
        length = (right - left - 54) * count / most
        pen.text((left, y + step / 2 - 8), str(j), INK, font)
        pen.rectangle((left + 20, y + 0.15 * step, left + 21 + length, y + 0.85 * step), fill=colour_of(j, types))
        pen.text((left + 26 + length, y + step / 2 - 8), str(count), INK, font)


def _history(pen: Any, font: Any, history: Sequence[tuple[int, int]], box: Box) -> None:
    left, top, right, bottom = box
    most = max(waiting for _, waiting in history)
    first, last = history[0][0], max(history[-1][0], history[0][0] + 1)
    pen.text((left, top - 18), f"waiting tasks, slots {first} to {history[-1][0]}, at most {most}", INK, font)
    pen.rectangle(box, fill=PALE)
    points = [
        (left + (right - left) * (slot - first) / (last - first), bottom - (bottom - top - 4) * waiting / max(most, 5))
        for slot, waiting in history
    ]
    if len(points) > 1:
        pen.line(points, fill=MARK, width=2)
