"""The operators of the DAGs, as far as nobody else brings them. Nothing of them is ever run."""

from typing import Any, ClassVar

from airflow.sdk import BaseOperator, BaseSensorOperator
from airflow.triggers.base import StartTriggerArgs


class NodeOperator(BaseOperator):
    """Something to run, with three things that it can be mapped over."""

    template_fields: ClassVar = ("a", "b", "c")

    def __init__(self, a: Any = None, b: Any = None, c: Any = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.a, self.b, self.c = a, b, c


class TriggerOperator(NodeOperator):
    """Begins with a trigger, not with a worker."""

    start_trigger_args = StartTriggerArgs(
        trigger_cls="histories.operators.Nothing", trigger_kwargs={}, next_method="resume", timeout=None
    )
    start_from_trigger = True


class LookOperator(BaseSensorOperator):
    """A sensor."""

    template_fields: ClassVar = ("a", "b", "c")

    def __init__(self, a: Any = None, b: Any = None, c: Any = None, **kwargs: Any):
        super().__init__(**kwargs)
        self.a, self.b, self.c = a, b, c


def choose() -> None:
    """Which way a branch goes is decided by the executor of the history."""


def kept(item: Any) -> Any:
    return item
