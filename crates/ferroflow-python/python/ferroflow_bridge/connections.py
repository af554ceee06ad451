"""Connections as far as they are Python: which types there are, which are usual, whether one works."""

from __future__ import annotations

from typing import Any

from airflow.models.connection import Connection
from airflow.providers_manager import ProvidersManager
from airflow.utils.db import get_default_connections
from airflow.utils.providers_configuration_loader import providers_configuration_loaded

from ferroflow_bridge.helper import method

FIELDS = ("conn_type", "description", "host", "schema", "login", "password", "port", "extra")


@method("connections.types")
@providers_configuration_loaded
def types() -> list[str]:
    """Those that an installed provider has a hook for."""
    return [name for name, hook in ProvidersManager().hooks.items() if hook]


@method("connections.usual")
def usual() -> list[dict[str, Any]]:
    """What Airflow adds to a new database, on demand."""
    return [
        {"conn_id": connection.conn_id, "fields": {field: getattr(connection, field) for field in FIELDS}}
        for connection in get_default_connections()
    ]


@method("connections.test")
@providers_configuration_loaded
def test(conn_id: str) -> dict[str, Any]:
    works, message = Connection.get_connection_from_secrets(conn_id).test_connection()
    return {"works": works is True, "message": str(message)}
