"""Everything but the scheduler: workers, the triggerer, people who answer, mark and set back."""

import datetime
import random

from histories import oracle
from histories.instances import Table, due

PARKED = ("deferred", "awaiting_input")
ACTIVE = ("scheduled", "queued", "running", "restarting", *PARKED)


class Executor:
    def __init__(self, air, rng: random.Random, table: Table, blueprint):
        self.air = air
        self.session = air.session
        self.rng = rng
        self.table = table
        self.use(blueprint, None)
        self.most = rng.choice([None, None, 1, 2, 5, 12])
        self.slowness = rng.choice([0, 0, 0.3, 0.8])
        self.fails = rng.choice([0, 0.1, 0.25, 0.5])
        self.parks = rng.choice([0, 0, 0.1, 0.25])
        self.meddles = rng.choice([0, 0, 0, 0.15])
        self.failures = ["failed", "failed", "failed_no_retry", "skipped"]
        self.held: set[str] = set()
        self.features: set[str] = set()

    def hold(self, last: str | None) -> None:
        """From now on some tasks, or this one, do not end once they have begun; the others often fail."""
        names = sorted(self.nodes)
        self.held = {last} if last else set(self.rng.sample(names, (len(names) + 1) // 2))
        if last:
            self.failures = ["skipped", "skipped", "failed_no_retry"]
        self.fails = max(self.fails, 0.4)
        self.meddles = self.parks = 0

    def use(self, blueprint, dag) -> None:
        """From now on the DAG is this one."""
        self.dag = dag
        self.nodes = {node.name: node for node in blueprint.nodes()}
        self.mapped_over = blueprint.mapped_over()

    def step(self, running: list[int]) -> dict:
        """One step. Answers what it did, as it is recorded."""
        before = self.table.rows()
        active = [key for key, (state, _) in before.items() if key[0] in running and state in ACTIVE]
        moves = {key: move for key in active if (move := self.move(key, before[key][0]))}
        starts = [key for key in moves if before[key][0] == "scheduled"]
        for key in starts[self.most :] if self.most is not None else []:
            del moves[key]
        executed = [self.start(key, before[key][0]) for key, move in moves.items() if move == "work"]
        executed = [entry for entry in executed if entry]
        for key, move in moves.items():
            if move == "work":
                self.finish(key, executed)
            elif move == "run":
                executed.append(self.start(key, before[key][0]))
                self.features.add("stays_running")
            else:
                self.features.add(f"goes_{before[key][0]}_to_{move}")
                self.table.write(key, None if move == "null" else move, end_date=oracle.Clock.now)
        if running and self.rng.random() < self.meddles:
            self.meddle(before, running)
        self.session.expire_all()
        after = self.table.rows()
        changes = self.table.changes(before, after)
        return {"executed": executed, "executor_changes": changes, "dues": self.dues(before, after)}

    def move(self, key: tuple, state: str) -> str | None:
        """Where an instance goes now: `work` to its end, `run` on, to a state, or nowhere."""
        rng = self.rng
        if label(key[1]) in self.held and rng.random() < 0.95:
            if state == "running":
                return rng.choice([None, None, None, None, *PARKED])
            return rng.choice([None, "queued", "run"]) if state in ("scheduled", "queued") else None
        if rng.random() < self.slowness:
            if state == "scheduled":
                return rng.choice([None, "queued", "queued", "run", "run"])
            return rng.choice([None, None, None, "run"]) if state == "queued" else None
        match state:
            case "deferred" | "awaiting_input":
                return "scheduled" if rng.random() < 0.6 else None
            case "restarting":
                return rng.choice(["up_for_retry", "up_for_retry", "failed", None])
            case "queued":
                return rng.choice(["work", "work", "work", "null", "scheduled"])
        return "work"

    def start(self, key: tuple, state: str) -> dict | None:
        """A worker begins. What an earlier try has pushed is gone."""
        from airflow.models.xcom import XComModel
        from sqlalchemy import delete

        if state != "running":
            now = oracle.Clock.now
            values = {"start_date": now, "end_date": None, "retry_delay_override": None}
            self.table.write(key, "running", **values)
            run, task, index = self.table.named(key)
            is_own = (XComModel.dag_id == self.table.dag_id, XComModel.run_id == run)
            is_own = (*is_own, XComModel.task_id == task, XComModel.map_index == index)
            self.session.execute(delete(XComModel).where(*is_own))
            return {"ti": self.table.named(key)}
        return None

    def finish(self, key: tuple, executed: list) -> None:
        instance = self.table.read(key)
        entry = next((entry for entry in executed if entry["ti"] == self.table.named(key)), None)
        if entry is None:
            entry = {"ti": self.table.named(key)}
            executed.append(entry)
        entry["try"] = instance.try_number
        if str(instance.state) != "running":
            entry["dropped"] = instance.state and str(instance.state)
            self.features.add("dropped")
            return
        task = self.dag.get_task(key[1])
        outcome = self.outcome(task)
        entry["outcome"] = outcome
        match outcome["r"]:
            case "failed":
                is_eligible = instance.max_tries != 0 and instance.try_number <= instance.max_tries
                self.report(instance, "up_for_retry" if is_eligible else "failed")
            case "failed_no_retry":
                self.report(instance, "failed")
            case "reschedule":
                self.report(instance, "up_for_reschedule", rng=self.rng)
            case "success":
                self.table.write(key, "success", end_date=oracle.Clock.now)
                self.push(key, task, outcome, entry)
            case state:
                self.table.write(key, state, end_date=oracle.Clock.now)
        entry["state"] = str(self.table.read(key).state)

    def outcome(self, task) -> dict:
        rng = self.rng
        node = self.nodes[label(task.task_id)]
        if node.kind == "sensor" and rng.random() < 0.4:
            return {"r": "reschedule"}
        if rng.random() < self.fails:
            return {"r": rng.choice(self.failures)}
        if rng.random() < self.parks:
            return {"r": rng.choice([*PARKED, *PARKED, "reschedule"])}
        outcome: dict = {"r": "success"}
        if node.kind == "branch":
            options = sorted(task.downstream_task_ids)
            chosen = rng.sample(options, rng.randint(0, min(2, len(options))))
            outcome["branch"] = None if not chosen and rng.random() < 0.5 else sorted(chosen)
        elif node.kind == "short":
            outcome["condition"] = rng.random() < 0.5
        elif rng.random() < 0.9 or node.name in self.mapped_over:
            outcome["len"] = rng.choice([0, 1, 1, 2, 2, 3, 3, 4, rng.randint(1, 12)])
        return outcome

    def report(self, instance, state: str, rng: random.Random | None = None) -> None:
        """A worker tells the API server."""
        from airflow.api_fastapi.execution_api.datamodels import taskinstance as payloads
        from airflow.api_fastapi.execution_api.routes.task_instances import ti_update_state

        now = oracle.Clock.now
        match state:
            case "up_for_retry":
                payload = payloads.TIRetryStatePayload(state=state, end_date=now)
            case "up_for_reschedule":
                later = now + datetime.timedelta(seconds=rng.choice([-60, 0, 5, 60, 600]))
                payload = payloads.TIRescheduleStatePayload(state=state, end_date=now, reschedule_date=later)
            case _:
                payload = payloads.TITerminalStatePayload(state=state, end_date=now)
        bag = self.air.scheduler.scheduler_dag_bag
        self.session.expire_all()
        ti_update_state(instance.id, payload, session=self.session, dag_bag=bag)

    def push(self, key: tuple, task, outcome: dict, entry: dict) -> None:
        """What a success leaves behind."""
        if "len" in outcome:
            entry["xcom"] = True
            self.set_xcom(key, "return_value", list(range(outcome["len"])))
            if label(task.task_id) in self.mapped_over and not is_mapped(task):
                entry["task_map"] = outcome["len"]
                self.set_length(key, outcome["len"])
        downstream = set(task.downstream_task_ids)
        if "branch" in outcome and downstream:
            follow = set(outcome["branch"] or [])
            for name in list(follow):
                follow |= self.dag.get_task(name).get_flat_relative_ids(upstream=False)
            entry["skipmixin"] = {"followed": sorted(downstream & follow)}
            self.skip(key, entry, sorted(downstream - follow))
        if outcome.get("condition") is False:
            node = self.nodes[label(task.task_id)]
            below = downstream if node.respects_rules else task.get_flat_relative_ids(upstream=False)
            below = sorted(name for name in below if not self.dag.get_task(name).is_teardown)
            if below:
                entry["skipmixin"] = {"skipped": below}
                self.skip(key, entry, below)
        if "skipmixin" in entry:
            self.set_xcom(key, "skipmixin_key", entry["skipmixin"])

    def skip(self, key: tuple, entry: dict, names: list[str]) -> None:
        from airflow.api_fastapi.execution_api.datamodels import taskinstance as payloads
        from airflow.api_fastapi.execution_api.routes.task_instances import ti_skip_downstream

        if names and key[2] < 0:
            entry["skip_downstream"] = [[name, -1] for name in names]
            payload = payloads.TISkippedDownstreamTasksStatePayload(tasks=[(name, -1) for name in names])
            ti_skip_downstream(self.table.read(key).id, payload, session=self.session)

    def set_xcom(self, key: tuple, name: str, value) -> None:
        from airflow.models.xcom import XComModel

        run, task, index = self.table.named(key)
        place = {"dag_id": self.table.dag_id, "task_id": task, "run_id": run, "map_index": index}
        XComModel.set(name, value, **place, session=self.session)

    def set_length(self, key: tuple, length: int) -> None:
        from airflow.models.taskmap import TaskMap

        run, task, index = self.table.named(key)
        row = TaskMap(
            dag_id=self.table.dag_id, task_id=task, run_id=run, map_index=index, length=length, keys=None
        )
        self.session.merge(row)
        self.session.flush()

    def meddle(self, rows: dict, running: list[int]) -> None:
        """Somebody marks an instance, whatever its state."""
        keys = [key for key in rows if key[0] in running and self.dag.has_task(key[1])]
        if keys:
            state = self.rng.choice(["success", "failed", "skipped"])
            self.features.add("marked")
            self.table.write(self.rng.choice(keys), state, end_date=oracle.Clock.now)

    def dues(self, before: dict, after: dict) -> list:
        found = []
        for key, (state, _) in after.items():
            is_new = key not in before or before[key][0] != state
            if state in ("up_for_retry", "up_for_reschedule") and is_new:
                instance = self.table.load(key)
                found.append([*self.table.named(key), due(instance, self.dag.get_task(key[1]), self.session)])
        return found


def label(task_id: str) -> str:
    """What a task is called without the groups around it."""
    return task_id.rsplit(".", 1)[-1]


def is_mapped(task) -> bool:
    from airflow.serialization.definitions.mappedoperator import is_mapped

    return is_mapped(task)
