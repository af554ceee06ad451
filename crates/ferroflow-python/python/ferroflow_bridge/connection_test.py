"""Tries a connection, with Airflow's own function; what that asks an API, ferroflow answers."""

from __future__ import annotations

import enum
import socket
import uuid

from airflow.sdk.api.datamodels._generated import ConnectionTestConnectionResponse
from airflow.sdk.execution_time import connection_test_supervisor

from ferroflow_bridge import native_crash, system, workload


def main(requests: socket.socket) -> None:
    system.be_killed_first()
    native_crash.end_at_once()
    asked = workload.receive(requests)
    workload.name_process(f"connection-test {asked['connection_id']}")
    connection_test_supervisor.Client = lambda **_: _Client(requests)
    connection_test_supervisor.supervise_connection_test(
        connection_test_id=uuid.UUID(asked["id"]),
        connection_id=asked["connection_id"],
        timeout=asked["timeout"],
        token="",
        server="",
    )


class _Client:
    """As much of the client of Airflow's API as a test of a connection uses."""

    def __init__(self, requests: socket.socket):
        self._requests = requests
        self.connection_tests = self

    def get_connection(self, _id: uuid.UUID) -> ConnectionTestConnectionResponse:
        answer = workload.ask(self._requests, {"type": "GetTestedConnection"})
        return ConnectionTestConnectionResponse.model_validate(answer)

    def update_state(self, _id: uuid.UUID, state: enum.Enum, result_message: str | None = None) -> None:
        told = {"type": "ConnectionTestResult", "state": state.value, "result_message": result_message}
        workload.ask(self._requests, told)
