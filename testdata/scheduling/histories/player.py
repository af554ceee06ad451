"""Plays a history: examinations by Airflow's scheduler, and between them whatever else happens."""

import datetime
import random

from histories import oracle
from histories.blueprint import Blueprint
from histories.building import FIRST_DAY, build
from histories.drawing import change
from histories.executor import ACTIVE, Executor
from histories.instances import Table, written

MOST_TICKS = 32


class Player:
    def __init__(self, air, rng: random.Random, identity: str, blueprint: Blueprint):
        self.air, self.session, self.rng = air, air.session, rng
        self.identity = identity
        self.dag_id = identity.replace("-", "_")
        self.blueprint = blueprint
        self.clears = rng.choice([0, 0, 1, 2, 4])
        self.changes = rng.choice([0, 0, 0, 0, 0, 0, 1, 2])
        if blueprint.fail_fast:
            # Airflow's API server then fails over instances of tasks that are gone.
            self.changes = 0
        self.pauses = rng.choice([0, 0, 0.3]) if blueprint.timeout else rng.choice([0, 0, 0, 0.2])
        self.holds = blueprint.holds
        if self.holds:
            self.clears = 5
        self.features: set[str] = set()
        self.ticks: list[dict] = []
        self.dues: set[str] = set()
        self.idle = 0

    def play(self) -> dict:
        dag, document = oracle.store(self.air, build(self.dag_id, self.blueprint))
        runs = self.create_runs(dag)
        self.run_ids = [run["run_id"] for run in runs]
        self.table = Table(self.session, self.dag_id, self.run_ids)
        self.executor = Executor(self.air, self.rng, self.table, self.blueprint)
        self.executor.use(self.blueprint, dag)
        if self.holds:
            self.executor.hold(self.blueprint.held)
        history = {
            "id": self.identity,
            "serialized_dag": document,
            "runs": runs,
            "executor": {"max_per_tick": self.executor.most},
            "initial_tis": [self.table.named(key) for key in self.table.rows()],
            "ticks": self.ticks,
        }
        oracle.Conflicts.found = []
        while self.goes_on():
            self.tick()
        return history | {"final": self.final(), "order_conflicts": self.conflicts()}

    def create_runs(self, dag) -> list[dict]:
        from airflow.utils.state import DagRunState
        from airflow.utils.types import DagRunTriggeredByType, DagRunType

        rng = self.rng
        is_small = len(self.blueprint.nodes()) < 20
        number = rng.choice([1, 1, 1, 1, 1, 2, 2, 3, 5]) if is_small else 1
        day = datetime.timedelta(days=1)
        days = number - 1 if rng.random() < 0.06 else number
        oracle.Clock.now = FIRST_DAY + days * day - datetime.timedelta(seconds=30)
        records = []
        for place in range(number):
            kind = DagRunType(rng.choice(["scheduled", "scheduled", "scheduled", "manual", "backfill"]))
            date = FIRST_DAY + place * day
            dateless = kind == DagRunType.MANUAL and rng.random() < 0.15
            run = dag.create_dagrun(
                run_id=f"{kind.value}__{date.isoformat()}",
                logical_date=None if dateless else date,
                data_interval=None if dateless else (date, date + day),
                run_after=date,
                run_type=kind,
                triggered_by=DagRunTriggeredByType.TEST,
                state=DagRunState.RUNNING,
                start_date=oracle.Clock.now,
                session=self.session,
            )
            record = {"run_id": run.run_id, "logical_date": None if dateless else date.isoformat()}
            record |= {"run_type": str(kind.value), "start_date": written(run.start_date)}
            records.append(record)
            if self.blueprint.timeout:
                end = run.start_date + datetime.timedelta(seconds=self.blueprint.timeout)
                self.dues.add(written(end))
        return records

    def goes_on(self) -> bool:
        states = self.run_states() if self.ticks else {}
        is_over = bool(states) and "running" not in states.values()
        self.end = "finished" if is_over else "stuck"
        if len(self.ticks) >= MOST_TICKS:
            self.end = "cut" if not is_over else self.end
            return False
        return not (is_over or self.idle >= 2) or self.clears > 0

    def tick(self) -> None:
        rng = self.rng
        self.pass_time()
        tick: dict = {"tick": len(self.ticks), "now": written(oracle.Clock.now)}
        is_over = bool(self.ticks) and (self.idle >= 2 or "running" not in self.run_states().values())
        if self.clears and (is_over or (self.ticks and rng.random() < (0.4 if self.holds else 0.15))):
            self.clears -= 1
            self.clear(tick)
        if self.changes and self.ticks and rng.random() < 0.15:
            self.changes -= 1
            self.change_dag(tick)
        if rng.random() < self.pauses:
            tick["paused"] = True
        before = self.table.rows()
        found = len(oracle.Conflicts.found)
        self.examine(tick)
        oracle.Conflicts.found[found:] = [[tick["tick"], *one] for one in oracle.Conflicts.found[found:]]
        tick["decisions"] = self.table.changes(before, self.table.rows())
        tick["run_states"] = self.run_states()
        running = [place for place, run in enumerate(self.run_ids) if tick["run_states"][run] == "running"]
        tick |= self.executor.step(running)
        self.dues |= {due for *_, due in tick["dues"]}
        happened = tick["decisions"] or tick["executed"] or tick["executor_changes"] or self.is_waiting()
        self.idle = 0 if happened else self.idle + 1
        self.ticks.append(tick)

    def pass_time(self) -> None:
        now = oracle.Clock.now
        now += datetime.timedelta(seconds=self.rng.choice([1, 1, 10, 60]))
        later = sorted(due for due in self.dues if due >= written(oracle.Clock.now))
        if later and self.rng.random() < 0.4:
            first = datetime.datetime.fromisoformat(later[0])
            now = max(first, oracle.Clock.now + datetime.timedelta(microseconds=1))
        oracle.Clock.now = now

    def is_waiting(self) -> bool:
        """Whether anything happens later, without anybody doing anything."""
        rows = self.table.rows().values()
        dates = {state for state, _ in rows} & set(ACTIVE)
        return bool(dates) or any(due >= written(oracle.Clock.now) for due in self.dues)

    def examine(self, tick: dict) -> None:
        from airflow.models.dagrun import DagRun
        from sqlalchemy import select

        self.session.flush()
        self.session.expire_all()
        verified = []
        original = DagRun.verify_integrity

        def noted(run, **kwargs):
            verified.append(run.run_id)
            return original(run, **kwargs)

        DagRun.verify_integrity = noted
        try:
            for run_id in self.run_ids:
                is_own = (DagRun.dag_id == self.dag_id, DagRun.run_id == run_id)
                run = self.session.scalar(select(DagRun).where(*is_own))
                if str(run.state) != "running":
                    continue
                if tick.get("paused"):
                    bag = self.air.scheduler.scheduler_dag_bag
                    run.dag = bag.get_dag_for_run(dag_run=run, session=self.session)
                    run.update_state(execute_callbacks=False, session=self.session)
                else:
                    self.air.scheduler._schedule_dag_run(run, self.session)
                self.session.flush()
        finally:
            DagRun.verify_integrity = original
        if verified:
            tick["reconciled"] = verified
        self.session.expire_all()

    def clear(self, tick: dict) -> None:
        from airflow.models.dagrun import DagRun
        from airflow.models.taskinstance import clear_task_instances
        from airflow.utils.state import DagRunState
        from sqlalchemy import select

        rng = self.rng
        before = self.table.rows()
        place = rng.randrange(len(self.run_ids))
        roots, keys = self.cleared(before, place)
        if not keys:
            return
        instances = [self.table.load(key) for key in keys]
        was = self.run_states()[self.run_ids[place]]
        clear_task_instances(instances, self.session, dag_run_state=DagRunState.RUNNING)
        self.session.flush()
        self.session.expire_all()
        run = select(DagRun).where(DagRun.dag_id == self.dag_id, DagRun.run_id == self.run_ids[place])
        tick["clear"] = {
            "run_id": self.run_ids[place],
            "roots": roots,
            "tis": [[*key[1:], self.table.load(key).max_tries] for key in keys],
            "changes": self.table.changes(before, self.table.rows()),
            "start_date": written(self.session.scalar(run).start_date),
        }
        self.idle = 0
        self.features |= {"clear", "clear_of_ended_run" if was != "running" else "clear_while_running"}

    def cleared(self, rows: dict, place: int) -> tuple[list[str], list[tuple]]:
        """Some tasks, perhaps with all that follow; often what comes before something that is on its way."""
        rng, dag = self.rng, self.executor.dag
        present = sorted({key[1] for key in rows if key[0] == place and dag.has_task(key[1])})
        active = {key[1] for key, (state, _) in rows.items() if key[0] == place and state in ACTIVE}
        before = sorted({up for name in active & set(present) for up in dag.get_task(name).upstream_task_ids})
        before = [name for name in before if name in present]
        if not present:
            return [], []
        pool = before if before and rng.random() < 0.7 else present
        roots = sorted(rng.sample(pool, min(len(pool), rng.choice([1, 1, 2, 3]))))
        chosen = set(roots)
        if rng.random() < (0.1 if self.holds else 0.4):
            for name in roots:
                chosen |= dag.get_task(name).get_flat_relative_ids(upstream=False)
        return roots, [key for key in rows if key[0] == place and key[1] in chosen]

    def change_dag(self, tick: dict) -> None:
        change(self.rng, self.blueprint)
        dag, document = oracle.store(self.air, build(self.dag_id, self.blueprint))
        self.executor.use(self.blueprint, dag)
        tick["serialized_dag"] = document
        self.features.add("dag_changed")

    def run_states(self) -> dict:
        from airflow.models.dagrun import DagRun
        from sqlalchemy import select

        found = self.session.execute(
            select(DagRun.run_id, DagRun._state).where(DagRun.dag_id == self.dag_id).order_by(DagRun.id)
        )
        return {run: str(state) for run, state in found}

    def final(self) -> dict:
        states: dict = {run: {} for run in self.run_ids}
        tries: dict = {run: {} for run in self.run_ids}
        for (place, task, index), (state, number) in self.table.rows().items():
            states[self.run_ids[place]][f"{task}[{index}]"] = state
            if number:
                tries[self.run_ids[place]][f"{task}[{index}]"] = number
        run_states = self.run_states()
        return {"end": self.end, "ti_states": states, "try_numbers": tries, "run_states": run_states}

    def conflicts(self) -> list:
        return list(oracle.Conflicts.found)
