"""Ctrl-C is not lost where it comes at a bad moment."""

from __future__ import annotations

import ctypes
import signal
import time
from collections.abc import Iterator

import pytest

from packenv.cli.main import deferred_interrupts, terminated_in_order


@pytest.fixture(autouse=True)
def interrupts_raise() -> Iterator[None]:
    """As on a terminal: a shell starts what runs in the background with interrupts ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_in_a_callback_of_the_compiler_is_kept() -> None:
    @ctypes.CFUNCTYPE(None)
    def callback() -> None:
        signal.raise_signal(signal.SIGINT)
        list(range(10))  # the interrupt is raised here, and ignored by ctypes

    with pytest.raises(KeyboardInterrupt), deferred_interrupts():
        callback()
        time.sleep(5)


def test_what_the_compiler_raises_for_an_ignored_interrupt_is_the_interrupt() -> None:
    @ctypes.CFUNCTYPE(None)
    def callback() -> None:
        signal.raise_signal(signal.SIGINT)
        list(range(10))

    with pytest.raises(KeyboardInterrupt), deferred_interrupts():
        callback()
        raise RuntimeError("no compiled object yet")
    time.sleep(0.1)  # and none comes later
    with pytest.raises(RuntimeError), deferred_interrupts():
        raise RuntimeError("as it is")


def test_sigterm_is_raised_like_ctrl_c_while_a_command_runs() -> None:
    """So that processes and files are put away; afterwards it ends the process as ever."""
    signals: list[int] = []
    with pytest.raises(KeyboardInterrupt), terminated_in_order(signals):
        signal.raise_signal(signal.SIGTERM)
        time.sleep(5)
    assert signals == [signal.SIGTERM] and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
