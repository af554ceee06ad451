"""What else users replace or extend by Python: which files are looked at, listeners, secrets."""

from __future__ import annotations

import zipfile
from functools import cache
from typing import TYPE_CHECKING, Any

from airflow import plugins_manager
from airflow._shared.module_loading import qualname
from airflow.configuration import ensure_secrets_loaded
from airflow.listeners.listener import get_listener_manager
from airflow.secrets import DEFAULT_SECRETS_SEARCH_PATH
from airflow.utils.file import might_contain_dag

from ferroflow_bridge.helper import describe_error, method

if TYPE_CHECKING:
    from collections.abc import Iterator

CONNECTION_FIELDS = ("conn_id", "conn_type", "host", "schema", "login", "password", "port", "extra")


@method("discovery.might_contain_dag")
def might_contain_dags(paths: list[str], archive: str | None) -> list[dict[str, Any]]:
    """Each file by `[core] might_contain_dag_callable`; of one that it fails on, the error. Within an archive
    the paths are names of its members."""
    if archive is None:
        return [_examined(path, None) for path in paths]
    with zipfile.ZipFile(archive) as opened:
        return [_examined(path, opened) for path in paths]


@method("listener.hears_import_errors")
def hears_import_errors() -> bool:
    hooks = _listeners().hook
    return bool(
        hooks.on_new_dag_import_error.get_hookimpls() or hooks.on_existing_dag_import_error.get_hookimpls()
    )


@method("listener.import_error")
def tell_import_error(filename: str, stacktrace: str, is_new: bool) -> None:
    hooks = _listeners().hook
    hook = hooks.on_new_dag_import_error if is_new else hooks.on_existing_dag_import_error
    hook(filename=filename, stacktrace=stacktrace)


@method("secrets.get_connection")
def get_connection(conn_id: str, team_name: str | None) -> dict[str, Any] | None:
    for backend in _secrets_backends():
        connection = _ask(backend.get_connection, team_name, conn_id=conn_id)
        if connection is not None:
            return {field: getattr(connection, field) for field in CONNECTION_FIELDS}
    return None


@method("secrets.get_variable")
def get_variable(key: str, team_name: str | None) -> str | None:
    for backend in _secrets_backends():
        value = _ask(backend.get_variable, team_name, key=key)
        if value is not None:
            return value
    return None


def _examined(path: str, archive: zipfile.ZipFile | None) -> dict[str, Any]:
    try:
        return {"might": bool(might_contain_dag(path, True, archive))}
    except Exception as error:
        return {"error": describe_error(error)}


@cache
def _listeners() -> Any:
    plugins_manager.ensure_plugins_loaded()
    return get_listener_manager()


def _secrets_backends() -> Iterator[Any]:
    """Those of the search path that are neither the environment nor the database."""
    for backend in ensure_secrets_loaded():
        if qualname(type(backend)) not in DEFAULT_SECRETS_SEARCH_PATH:
            yield backend


def _ask(question: Any, team_name: str | None, **arguments: str) -> Any:
    from airflow._shared.secrets_backend.base import call_secrets_backend_method

    return call_secrets_backend_method(question, team_name=team_name, **arguments)
