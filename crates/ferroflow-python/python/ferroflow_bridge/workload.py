"""What the children of workloads other than tasks have in common: what they are told, and what they ask."""

from __future__ import annotations

import socket

from airflow.sdk.execution_time import comms
from pydantic import TypeAdapter

from ferroflow_bridge import titles

_ANYTHING = TypeAdapter(dict | None)
_ERROR = TypeAdapter(comms.ErrorResponse)


class _Request(dict):
    """A message as Airflow's own are written."""

    def model_dump(self) -> dict:
        return dict(self)


def receive(requests: socket.socket) -> dict:
    """What is asked for."""
    return _decoder(requests)._get_response()


def ask(requests: socket.socket, message: dict) -> dict | None:
    """Ferroflow's answer; raises what it refuses with."""
    return _decoder(requests).send(_Request(message))


def name_process(of: str) -> None:
    """As Airflow's executor calls its workers."""
    titles.set_title(f"airflow worker -- LocalExecutor: {of}")


def _decoder(requests: socket.socket) -> comms.CommsDecoder:
    return comms.CommsDecoder(socket=requests, body_decoder=_ANYTHING, err_decoder=_ERROR)
