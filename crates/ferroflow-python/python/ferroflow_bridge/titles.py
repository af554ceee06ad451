"""What `ps` and `top` show of a process: what it is for. Tasks have Airflow's title, with more behind it."""

from __future__ import annotations

import os

try:
    import setproctitle
except ImportError:
    setproctitle = None

# Without it, titles would be written over what the kernel shows of the environment: by that, whatever was
# started by a fork server is found when it has died.
_KEEP_ENVIRONMENT = "SPT_NOENV"


def be_ready() -> None:
    """In the fork server, before anybody sets a title."""
    if setproctitle is None:
        return
    os.environ[_KEEP_ENVIRONMENT] = "1"
    setproctitle.getproctitle()
    del os.environ[_KEEP_ENVIRONMENT]


def set_title(title: str) -> None:
    if setproctitle is not None:
        setproctitle.setproctitle(title)


def waits(entry: str) -> None:
    """In a child that was not told yet what to do; ferroflow knows it by this."""
    set_title(f"ferroflow {entry} -- waits")


def add_to_next(addition: str) -> None:
    """Has the title that is set next, by Airflow, end with this."""
    if setproctitle is None:
        return
    original = setproctitle.setproctitle

    def set_with_addition(title: str) -> None:
        setproctitle.setproctitle = original
        original(f"{title} {addition}")

    setproctitle.setproctitle = set_with_addition
