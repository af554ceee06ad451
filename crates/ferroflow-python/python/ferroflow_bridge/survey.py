"""Which extension points of Airflow are used here."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from airflow import plugins_manager, settings
from airflow._shared.module_loading import qualname
from airflow.configuration import conf, ensure_secrets_loaded
from airflow.listeners.listener import get_listener_manager
from airflow.secrets import DEFAULT_SECRETS_SEARCH_PATH

from ferroflow_bridge.helper import describe_error, method

# Kinds of things that a plugin can bring, by the attribute that has them.
CLASSES = (
    "timetables",
    "priority_weight_strategies",
    "partition_mappers",
    "windows",
    "deadline_references",
    "macros",
    "operator_extra_links",
    "global_operator_extra_links",
)
# Pages and endpoints, which are the API server's.
PAGES = ("flask_blueprints", "fastapi_apps", "fastapi_root_middlewares", "external_views", "react_apps")


@method("survey.extensions")
def extensions() -> dict[str, Any]:
    """All of them; what fails to load is told as an error of its own."""
    plugins, errors = plugins_manager._get_plugins()
    backends, backend_error = _secrets_backends()
    return {
        "plugins": [_plugin(plugin) for plugin in plugins],
        "plugin_errors": {str(place): str(error) for place, error in errors.items()},
        "policies": _implementations(settings.get_policy_plugin_manager(), "airflow.policies"),
        "listeners": _implementations(get_listener_manager().pm, None),
        "secrets_backends": backends,
        "secrets_error": backend_error,
        "xcom_backend": conf.get("core", "xcom_backend"),
    }


def _plugin(plugin: Any) -> dict[str, Any]:
    brought = {kind: [_name(thing) for thing in getattr(plugin, kind, None) or ()] for kind in CLASSES}
    return {
        "name": str(plugin.name),
        "source": str(plugin.source) if getattr(plugin, "source", None) else None,
        "brings": {kind: names for kind, names in brought.items() if names},
        "pages": sum(len(getattr(plugin, kind, None) or ()) for kind in PAGES),
        "listeners": [_name(listener) for listener in getattr(plugin, "listeners", None) or ()],
    }


def _implementations(manager: Any, own: str | None) -> list[dict[str, str]]:
    """Which hooks are implemented, and where. Airflow's own defaults are in the module `own`."""
    found = []
    for name, caller in sorted(vars(manager.hook).items()):
        for implementation in getattr(caller, "get_hookimpls", list)():
            place = getattr(implementation.function, "__module__", None) or _name(implementation.plugin)
            if place != own:
                found.append({"hook": name, "place": place})
    return found


def _secrets_backends() -> tuple[list[str], dict[str, str] | None]:
    try:
        names = [qualname(type(backend)) for backend in ensure_secrets_loaded()]
    except Exception as error:
        return [], describe_error(error)
    return [name for name in names if name not in DEFAULT_SECRETS_SEARCH_PATH], None


def _name(thing: Any) -> str:
    if isinstance(thing, ModuleType):
        return thing.__name__
    try:
        return qualname(thing if isinstance(thing, type) or callable(thing) else type(thing))
    except Exception:
        return repr(thing)
