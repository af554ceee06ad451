"""Makes the sources that came through the control socket importable, and starts the fork server.

This text is run by itself, before the package can be imported.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import linecache
import socket
import sys

PACKAGE = "ferroflow_bridge"


class EmbeddedSources(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finds the modules of the bridge in memory, and nothing else."""

    def __init__(self, sources: dict[str, str]):
        self.sources = sources

    def find_spec(self, fullname, path=None, target=None):
        if fullname not in self.sources:
            return None
        origin = f"<{fullname}>"
        # For tracebacks.
        linecache.cache[origin] = (
            len(self.sources[fullname]),
            None,
            self.sources[fullname].splitlines(keepends=True),
            origin,
        )
        return importlib.util.spec_from_loader(fullname, self, origin=origin, is_package=fullname == PACKAGE)

    def get_source(self, fullname):
        return self.sources[fullname]

    def get_code(self, fullname):
        return compile(self.sources[fullname], f"<{fullname}>", "exec", dont_inherit=True)

    def is_package(self, fullname):
        return fullname == PACKAGE


def start(control: socket.socket, sources: dict[str, str], purpose: str) -> None:
    """Installs the sources, and serves until ferroflow is gone."""
    # `python -c` puts the current folder first; that is no place to import Airflow's parts from.
    if sys.path and sys.path[0] == "":
        del sys.path[0]
    sys.meta_path.insert(0, EmbeddedSources(sources))

    from ferroflow_bridge import fork_server

    fork_server.main(control, purpose)
