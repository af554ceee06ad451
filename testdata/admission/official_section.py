"""The critical section of the official scheduler, to take turns with.

usage: official_section.py hold held release   enters the section, makes the file `held`, and leaves when
                                               there is a file `release`
       official_section.py enter               asks whom the official scheduler would queue; says "busy" if
                                               it is not let in
"""

import sys
import time
from pathlib import Path

from sqlalchemy.exc import OperationalError


def main(command, *arguments):
    from airflow import settings
    from airflow.executors.executor_loader import ExecutorLoader
    from airflow.jobs.job import Job
    from airflow.jobs.scheduler_job_runner import SchedulerJobRunner

    runner = SchedulerJobRunner(job=Job(id=1), executors=ExecutorLoader.init_executors())
    session = settings.Session()
    try:
        found = runner._executable_task_instances_to_queued(max_tis=16, session=session)
    except OperationalError as error:
        session.rollback()
        return print("busy" if is_busy(error) else f"failed: {error}")
    if command == "enter":
        return print(len(found), "to queue")
    held, release = map(Path, arguments)
    held.touch()
    while not release.exists():
        time.sleep(0.01)
    session.rollback()
    return print("released")


def is_busy(error):
    from airflow.utils.sqlalchemy import is_lock_not_available_error

    return is_lock_not_available_error(error=error)


if __name__ == "__main__":
    main(*sys.argv[1:])
