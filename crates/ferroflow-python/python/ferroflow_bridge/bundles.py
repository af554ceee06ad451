"""DAG bundles: where DAG files come from. Their classes are Python, the official ones and those of users."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from airflow._shared.module_loading import qualname
from airflow.dag_processing.bundles.base import BundleUsageTrackingManager, unpack_bundle_version
from airflow.dag_processing.bundles.local import LocalDagBundle
from airflow.dag_processing.bundles.manager import DagBundlesManager, _is_safe_bundle_url, _sign_bundle_url

from ferroflow_bridge.helper import method

if TYPE_CHECKING:
    from airflow.dag_processing.bundles.base import BaseDagBundle


@method("bundles.list")
def list_bundles() -> list[dict[str, Any]]:
    """What is configured. No bundle is made but local ones: the others may need a connection, or time."""
    return [
        {
            "name": name,
            "classpath": qualname(config.bundle_class),
            "kwargs": config.kwargs,
            "team_name": config.team_name,
            "local_path": str(_bundle(name).path) if config.bundle_class is LocalDagBundle else None,
        }
        for name, config in _manager()._bundle_config.items()
    ]


@method("bundles.cleanup_stale_versions")
def cleanup_stale_versions() -> None:
    BundleUsageTrackingManager().remove_stale_bundle_versions()


@method("bundle.describe")
def describe(name: str) -> dict[str, Any]:
    """What is known before it is initialized."""
    bundle = _bundle(name)
    template = bundle.view_url_template()
    is_shown = bool(template) and _is_safe_bundle_url(template)
    return {
        "refresh_interval": float(bundle.refresh_interval),
        "supports_versioning": bool(bundle.supports_versioning),
        "signed_url_template": _sign_bundle_url(template, name) if is_shown else None,
        "template_params": DagBundlesManager._extract_template_params(bundle),
    }


@method("bundle.initialize")
def initialize(name: str) -> dict[str, Any]:
    return _state(initialized(name))


@method("bundle.refresh")
def refresh(name: str) -> dict[str, Any]:
    bundle = initialized(name)
    bundle.refresh()
    return _state(bundle)


@method("bundle.version")
def version(name: str) -> dict[str, Any]:
    return _state(initialized(name))


@method("bundle.initialize_version")
def initialize_version(name: str, version: str | None) -> dict[str, Any]:
    """A past version, for a callback. A bundle without versions has but one."""
    bundle = _manager().get_bundle(name, version=version)
    if bundle.supports_versioning and version:
        bundle.initialize()
    return {"path": str(bundle.path)}


@cache
def _manager() -> DagBundlesManager:
    return DagBundlesManager()


@cache
def _bundle(name: str) -> BaseDagBundle:
    return _manager().get_bundle(name)


def initialized(name: str) -> BaseDagBundle:
    """A process that took the place of one that died begins with a bundle that is not initialized."""
    bundle = _bundle(name)
    if not bundle.is_initialized:
        bundle.initialize()
    return bundle


def _state(bundle: BaseDagBundle) -> dict[str, Any]:
    version, data = None, None
    if bundle.supports_versioning:
        version, data = unpack_bundle_version(bundle.get_current_version(), bundle)
    return {"path": str(bundle.path), "version": version, "version_data": data}
