"""The rows of task instances, read and written directly."""

from histories import oracle

# In place of a state: there is no such instance.
ABSENT = "(absent)"


class Table:
    """The instances of the runs of one DAG."""

    def __init__(self, session, dag_id: str, run_ids: list[str]):
        from airflow.models.taskinstance import TaskInstance

        self.session = session
        self.dag_id = dag_id
        self.run_ids = run_ids
        self.model = TaskInstance

    def rows(self) -> dict:
        """State and try number by (place of the run, task, map index), sorted."""
        from sqlalchemy import select

        model = self.model
        columns = (model.run_id, model.task_id, model.map_index, model.state, model.try_number)
        self.session.flush()
        found = self.session.execute(select(*columns).where(model.dag_id == self.dag_id)).all()
        rows = {
            (self.run_ids.index(run), task, index): (state and str(state), tries)
            for run, task, index, state, tries in found
        }
        return dict(sorted(rows.items(), key=lambda row: (row[0][0], row[0][1].encode(), row[0][2])))

    def load(self, key: tuple):
        from sqlalchemy import select

        self.session.flush()
        self.session.expire_all()
        return self.session.scalar(select(self.model).where(*self._is(key)))

    def read(self, key: tuple):
        """The columns that an executor needs. Much faster than an object."""
        from sqlalchemy import select

        model = self.model
        columns = (model.id, model.state, model.try_number, model.max_tries)
        return self.session.execute(select(*columns).where(*self._is(key))).one()

    def write(self, key: tuple, state: str | None, **values) -> None:
        from sqlalchemy import update

        change = update(self.model).where(*self._is(key)).values(state=state, **values)
        self.session.execute(change.execution_options(synchronize_session=False))

    def _is(self, key: tuple) -> tuple:
        run, task, index = key
        model = self.model
        return (
            model.dag_id == self.dag_id,
            model.run_id == self.run_ids[run],
            model.task_id == task,
            model.map_index == index,
        )

    def named(self, key: tuple) -> list:
        return [self.run_ids[key[0]], key[1], key[2]]

    def changes(self, before: dict, after: dict) -> list:
        """`[run, task, map index, old state, new state]` of all that differ."""
        found = []
        keys = sorted(before.keys() | after.keys(), key=lambda key: (key[0], key[1].encode(), key[2]))
        for key in keys:
            old = before[key][0] if key in before else ABSENT
            new = after[key][0] if key in after else ABSENT
            if old != new:
                found.append([*self.named(key), old, new])
        return found


def due(instance, task, session) -> str | None:
    """From when Airflow will look at an instance that waits for time to pass."""
    from airflow.models.taskreschedule import TaskReschedule

    state = str(instance.state)
    if state == "up_for_retry":
        instance.task = task
        return written(instance.next_retry_datetime())
    if state == "up_for_reschedule":
        newest = TaskReschedule.stmt_for_task_instance(instance, descending=True).limit(1)
        return written(session.scalar(newest).reschedule_date)
    return None


def written(at) -> str:
    return at.astimezone(oracle.UTC).isoformat()
