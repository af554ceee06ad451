"""Callbacks that are imported from beside the DAG file."""

import logging

from airflow.sdk.bases.notifier import BaseNotifier

log = logging.getLogger("callback_helpers")


def imported(case, when=None, numbers=()):
    log.info("imported: %s %r %r", case, when, numbers)


class Notifier(BaseNotifier):
    template_fields = ("text",)

    def __init__(self, case, text, **kwargs):
        super().__init__(**kwargs)
        self.case = case
        self.text = text

    def notify(self, context):
        log.info("notified of %s: %s", context["dag_run"]["dag_id"], self.text)


class Instance:
    """Is made with what it is given, and then called."""

    def __init__(self, case):
        self.case = case

    def __call__(self, context):
        log.info("called: %s of %s", self.case, context["dag_run"]["run_id"])
