"""Has a process end at once when native code crashes in it."""

from __future__ import annotations

import faulthandler
import signal
import types

from airflow.dag_processing.importers import python_importer

_STANDARD_ERROR = 2


def end_at_once() -> None:
    """Lets standard error say where it crashed, and ferroflow why."""
    python_importer.signal = _SIGNALS
    faulthandler.enable(_STANDARD_ERROR)


def _signals_of_the_importer() -> types.SimpleNamespace:
    """The `signal` module without its say over SIGSEGV, for which the importer sets a handler and leaves it.

    A handler in Python never gets to run when native code crashes: the crashing instruction would be repeated
    without end.
    """

    def set_handler(number, handler):
        if number != signal.SIGSEGV:
            return signal.signal(number, handler)
        return signal.getsignal(number)

    return types.SimpleNamespace(**{**vars(signal), "signal": set_handler})


_SIGNALS = _signals_of_the_importer()
