"""Imported by DAG files of this bundle; not looked at itself: it lacks the first of the two words."""

GREETING = "from a module of the bundle"


def task_id(number: int) -> str:
    return f"task_{number}"
