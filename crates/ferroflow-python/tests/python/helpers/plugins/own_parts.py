"""A bundle, a listener and a choice of files that somebody wrote."""

import time
from pathlib import Path

from airflow.dag_processing.bundles.base import BaseDagBundle, BundleVersion
from airflow.listeners import hookimpl
from airflow.plugins_manager import AirflowPlugin


class OwnBundle(BaseDagBundle):
    supports_versioning = True

    def __init__(self, *, folder, **kwargs):
        super().__init__(**kwargs)
        self.folder = Path(folder)
        self.refreshed = 0

    def initialize(self):
        if self.name == "slow" or self.version == "hangs":
            time.sleep(600)
        super().initialize()

    @property
    def path(self):
        return self.folder / (self.version or "head")

    def get_current_version(self):
        return BundleVersion(f"v{self.refreshed}", {"files": self.refreshed})

    def refresh(self):
        self.refreshed += 1


class ConnectedBundle(BaseDagBundle):
    """Learns where it is from a connection."""

    supports_versioning = False

    def initialize(self):
        from airflow.sdk import BaseHook

        self.folder = BaseHook.get_connection("where_dags_are").host
        super().initialize()

    @property
    def path(self):
        return Path(self.folder)

    def get_current_version(self):
        return None

    def refresh(self):
        self.initialize()


class Listener:
    @hookimpl
    def on_new_dag_import_error(self, filename, stacktrace):
        Path(filename).with_suffix(".heard").write_text(f"new: {stacktrace}")

    @hookimpl
    def on_existing_dag_import_error(self, filename, stacktrace):
        Path(filename).with_suffix(".heard").write_text(f"again: {stacktrace}")


def is_wanted(file_path, zip_file=None):
    if "bad" in file_path:
        raise ValueError(f"cannot tell: {Path(file_path).name}")
    return "want" in file_path


class OwnParts(AirflowPlugin):
    name = "own_parts"
    listeners = (Listener(),)
