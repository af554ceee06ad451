//! One scheduler queues what waits: within the limits, and as the rows are.

use ferroflow_db::{ScopedFutureExt as _, dag_run};
use std::sync::Arc;

use ferroflow_model::admission::{ExecutorName, InstanceKey, Refusal, Verdict};
use ferroflow_model::state::{RunState, RunType, TaskState};
use ferroflow_scheduler::queue_tasks::{ExecutorSlots, TaskQueue, WhyLeftOut};
use ferroflow_scheduler::run::ExecutorNames;
use ferroflow_testkit::Server;
use jiff::ToSpan as _;
use uuid::Uuid;

use crate::tasks::place::{NOW, Place, Sketched, ids, local, queue_all};

ferroflow_testkit::on_every_database!(
    what_became_ready_is_queued_and_its_row_says_so,
    pools_runs_and_tasks_are_not_overfilled,
    deferred_instances_count_where_they_should,
    whoever_has_changed_is_left_out_and_looked_at_again,
    a_dag_that_changed_its_mind_is_heard,
    runs_that_do_not_run_and_paused_dags_wait,
    every_refusal_has_a_reason,
    an_executor_that_wants_names_is_given_some,
    more_than_fits_into_a_section_is_read_before,
    what_the_database_refuses_is_left_out_and_tried_later_every_time,
);

async fn what_became_ready_is_queued_and_its_row_says_so(server: Server) {
    let place = Place::new(server).await;
    place.dag("dag", |_| {}).await;
    let run = place.run("dag", "run", 1).await;
    let light = Sketched::new("dag", "run", "light");
    let heavy = Sketched::new("dag", "run", "heavy").with(|row| row.priority_weight = Some(9));
    let done = Sketched::new("dag", "run", "done").in_state(TaskState::Success);
    let added = place.add(&[light, heavy, done]).await;
    let cx = place.scheduler(7).await;
    let mut queue = TaskQueue::default();
    queue.add(added.iter().copied());
    let later = NOW + 3.seconds();
    let pass = queue.queue(&cx, &local(8), later).await.unwrap();

    let queued: Vec<Uuid> = pass.queued.iter().map(|one| one.row.id).collect();
    assert_eq!(queued, [added[1], added[0]], "the weightier goes first");
    for one in &pass.queued {
        let row = place.find(one.row.id).await;
        assert_eq!(one.row, row, "what is handed on is what was written");
        assert_eq!((row.state, row.queued_by_job_id), (Some(TaskState::Queued), Some(7)));
        assert_eq!((row.queued_dttm, row.updated_at), (Some(later), Some(later)));
        assert_eq!((row.scheduled_dttm, row.try_number), (Some(NOW), 1));
        assert_eq!((one.run.run.id, one.executor), (run, 0));
    }
    assert!(queue.is_empty());
    assert!(!pass.is_worth_repeating);
    assert!(queue.queue(&cx, &local(8), later).await.unwrap().queued.is_empty());
}

async fn pools_runs_and_tasks_are_not_overfilled(server: Server) {
    let place = Place::new(server).await;
    place.pool("narrow", 3, false).await;
    place.dag("slots", |_| {}).await;
    place.dag("run_limit", |dag| dag.max_active_tasks = 2).await;
    place.dag("task_limits", |dag| dag.has_task_concurrency_limits = true).await;
    place.serialize("task_limits", &[("per_dag", Some(2), None), ("per_run", None, Some(1))]).await;
    let mut all = Vec::new();
    for (dag, run) in
        [("slots", "a"), ("run_limit", "a"), ("run_limit", "b"), ("task_limits", "a"), ("task_limits", "b")]
    {
        place.run(dag, run, if run == "a" { 1 } else { 2 }).await;
        for index in 0..4 {
            match dag {
                "slots" => all.push(Sketched::new(dag, run, "task").at(index).in_pool("narrow")),
                "run_limit" => all.push(Sketched::new(dag, run, &format!("task{index}"))),
                _ => {
                    all.push(Sketched::new(dag, run, "per_dag").at(index));
                    all.push(Sketched::new(dag, run, "per_run").at(index));
                }
            }
        }
    }
    // Of each limit, one is in use already.
    let in_use = [
        Sketched::new("slots", "a", "busy").in_pool("narrow"),
        Sketched::new("run_limit", "a", "busy"),
        Sketched::new("task_limits", "a", "per_dag").at(9),
    ];
    place.add(&in_use.map(|one| one.in_state(TaskState::Running))).await;
    let added = place.add(&all).await;
    let cx = place.scheduler(7).await;
    let mut queue = TaskQueue::default();
    queue.add(added);
    let passes = queue_all(&mut queue, &cx, &local(100)).await;

    let mut counts = std::collections::BTreeMap::new();
    for queued in passes.iter().flat_map(|pass| &pass.queued) {
        let key = &queued.row.key;
        let task = if key.dag_id == "run_limit" { "*" } else { &key.task_id };
        *counts.entry(format!("{} {} {task}", key.dag_id, key.run_id)).or_insert(0) += 1;
    }
    let expected = [
        ("run_limit a *", 1),
        ("run_limit b *", 2),
        ("slots a task", 2),
        ("task_limits a per_dag", 1),
        ("task_limits a per_run", 1),
        ("task_limits b per_run", 1),
    ];
    assert_eq!(counts, expected.map(|(name, count)| (name.to_owned(), count)).into());
}

async fn deferred_instances_count_where_they_should(server: Server) {
    let place = Place::new(server).await;
    place.pool("keeps", 2, true).await;
    place.pool("frees", 2, false).await;
    place.dag("dag", |dag| dag.has_task_concurrency_limits = true).await;
    place.serialize("dag", &[("limited", Some(2), None), ("free", None, None)]).await;
    place.run("dag", "run", 1).await;
    let in_pool = |pool: &str, index: i32| Sketched::new("dag", "run", "free").at(index).in_pool(pool);
    let parked = [
        in_pool("keeps", 0).in_state(TaskState::Deferred),
        in_pool("frees", 1).in_state(TaskState::Deferred),
        // A person is waited for without a slot, and counts for its task all the same.
        Sketched::new("dag", "run", "limited").at(0).in_state(TaskState::AwaitingInput),
    ];
    place.add(&parked).await;
    let ready = [
        in_pool("keeps", 2),
        in_pool("keeps", 3),
        in_pool("frees", 4),
        in_pool("frees", 5),
        Sketched::new("dag", "run", "limited").at(1),
        Sketched::new("dag", "run", "limited").at(2),
    ];
    let added = place.add(&ready).await;
    let cx = place.scheduler(7).await;
    let mut queue = TaskQueue::default();
    queue.add(added.iter().copied());
    let queued = ids(&queue_all(&mut queue, &cx, &local(100)).await);
    let mut expected = vec![added[0], added[2], added[3], added[4]];
    expected.sort_unstable();
    let mut sorted = queued;
    sorted.sort_unstable();
    assert_eq!(sorted, expected);
}

async fn whoever_has_changed_is_left_out_and_looked_at_again(server: Server) {
    let place = Place::new(server).await;
    place.pool("other", 1, false).await;
    place.dag("dag", |_| {}).await;
    place.run("dag", "run", 1).await;
    let ready = ["taken", "moved", "gone", "fine"].map(|task| Sketched::new("dag", "run", task));
    let added = place.add(&ready).await;
    let cx = place.scheduler(7).await;
    let mut queue = TaskQueue::default();
    queue.sweep(&cx, NOW).await.unwrap();
    // Behind its back.
    assert!(place.set_state(added[0], TaskState::Scheduled, TaskState::Running).await);
    place.execute("UPDATE task_instance SET pool = 'other' WHERE task_id = 'moved'").await;
    place.execute("DELETE FROM task_instance WHERE task_id = 'gone'").await;

    let pass = queue.queue(&cx, &local(100), NOW).await.unwrap();
    assert_eq!(pass.queued.iter().map(|one| one.row.id).collect::<Vec<_>>(), [added[3]]);
    let mut left_out: Vec<String> =
        pass.left_out.iter().map(|one| format!("{}: {}", one.key.task_id, one.why)).collect();
    left_out.sort();
    assert_eq!(
        left_out,
        [
            "gone: another transaction has locked its row",
            "moved: its pool, slots or executor have changed",
            "taken: its state is running by now",
        ]
    );
    assert!(pass.is_worth_repeating);
    let again = queue.queue(&cx, &local(100), NOW).await.unwrap();
    assert_eq!(
        again.queued.iter().map(|one| (one.row.id, &*one.row.pool)).collect::<Vec<_>>(),
        [(added[1], "other")]
    );
    assert!(queue.is_empty());
}

async fn a_dag_that_changed_its_mind_is_heard(server: Server) {
    let place = Place::new(server).await;
    place.dag("dag", |dag| dag.max_active_tasks = 3).await;
    place.run("dag", "run", 1).await;
    place.add(&[1, 2, 3, 4].map(|index| Sketched::new("dag", "run", "task").at(index))).await;
    let cx = place.scheduler(7).await;
    let mut queue = TaskQueue::default();
    queue.sweep(&cx, NOW).await.unwrap();
    place.execute("UPDATE dag SET max_active_tasks = 1").await;
    let passes = queue_all(&mut queue, &cx, &local(100)).await;
    assert_eq!(ids(&passes).len(), 1, "as many as it allows now");
    assert!(matches!(passes[0].left_out[0].why, WhyLeftOut::DagChanged(_)));
    // What it allows in addition is found by a sweep.
    place.execute("UPDATE dag SET max_active_tasks = 3").await;
    assert!(ids(&queue_all(&mut queue, &cx, &local(100)).await).is_empty());
    queue.sweep(&cx, NOW).await.unwrap();
    assert_eq!(ids(&queue_all(&mut queue, &cx, &local(100)).await).len(), 2);
}

async fn runs_that_do_not_run_and_paused_dags_wait(server: Server) {
    let place = Place::new(server).await;
    for dag in ["paused", "pausing", "ending", "stale"] {
        place.dag(dag, |row| (row.is_paused, row.is_stale) = (dag == "paused", dag == "stale")).await;
        place.run(dag, "run", 1).await;
        place.add(&[Sketched::new(dag, "run", "task")]).await;
    }
    place.dag("queued", |_| {}).await;
    place.run_with("queued", "run", 1, |run| run.state = RunState::Queued).await;
    place.add(&[Sketched::new("queued", "run", "task")]).await;
    let cx = place.scheduler(7).await;
    let mut queue = TaskQueue::default();
    assert_eq!(queue.sweep(&cx, NOW).await.unwrap().found, 3);
    place.execute("UPDATE dag SET is_paused = true WHERE dag_id = 'pausing'").await;
    let ending = place.db.transact(|tx| {
        async move {
            let id = dag_run::lookup::id(tx, "ending", "run").await?.unwrap();
            dag_run::set_state(tx, id, RunState::Running, RunState::Failed, NOW).await
        }
        .scope_boxed()
    });
    assert!(ending.await.unwrap());

    let pass = queue.queue(&cx, &local(100), NOW).await.unwrap();
    let queued: Vec<&str> = pass.queued.iter().map(|one| &*one.row.key.dag_id).collect();
    assert_eq!(queued, ["stale"], "that a file is gone does not stop what runs, as in Airflow");
    let mut left_out: Vec<String> =
        pass.left_out.iter().map(|one| format!("{}: {}", one.key.dag_id, one.why)).collect();
    left_out.sort();
    assert_eq!(left_out, ["ending: its run is failed", "pausing: its DAG is paused"]);
    assert_eq!(queue.len(), 0);
    // Whoever is added by its id is not believed either.
    queue.sweep(&cx, NOW).await.unwrap();
    assert_eq!(queue.len(), 0);
    place.execute("UPDATE dag SET is_paused = false").await;
    queue.sweep(&cx, NOW).await.unwrap();
    assert_eq!(ids(&queue_all(&mut queue, &cx, &local(100)).await).len(), 2);
}

async fn every_refusal_has_a_reason(server: Server) {
    let place = Place::new(server).await;
    place.pool("full", 1, false).await;
    place.pool("small", 2, false).await;
    place.dag("dag", |_| {}).await;
    place.run("dag", "run", 1).await;
    let task = |task_id: &str, pool: &str| Sketched::new("dag", "run", task_id).in_pool(pool);
    place.add(&[task("holder", "full").in_state(TaskState::Running)]).await;
    let ready = [
        task("no_pool", "nowhere"),
        task("no_slot", "full"),
        task("too_large", "small").with(|row| row.pool_slots = 3),
        task("no_executor", "default_pool").with(|row| row.executor = Some("Quick".to_owned())),
    ];
    let added = place.add(&ready).await;
    let cx = place.scheduler(7).await;
    let mut queue = TaskQueue::default();
    queue.add(added);
    let pass = queue.queue(&cx, &local(100), NOW).await.unwrap();
    assert!(pass.queued.is_empty() && !pass.is_worth_repeating);
    let why = |task_id: &str| {
        let key = InstanceKey {
            dag_id: "dag".into(),
            run_id: "run".into(),
            task_id: task_id.into(),
            map_index: -1,
        };
        match queue.explain(&key) {
            Some(Verdict::Refused(refusal)) => refusal.to_string(),
            other => panic!("{task_id}: {other:?}"),
        }
    };
    assert_eq!(why("no_pool"), "pool 'nowhere' does not exist");
    assert_eq!(why("no_slot"), "pool 'full' is full: 1 of 1 slots are in use");
    assert_eq!(why("too_large"), "it needs 3 slots, and pool 'small' has 2 in all");
    assert_eq!(why("no_executor"), "there is no executor 'Quick' for DAGs of no team");
    assert_eq!(pass.refused.len() + pass.closed_pools.len(), 4);
    let full = queue.queue(&cx, &local(0), NOW).await.unwrap();
    assert!(matches!(full.stopped.unwrap().refusal, Refusal::ParallelismReached { occupied: 0, limit: 0 }));
}

async fn an_executor_that_wants_names_is_given_some(server: Server) {
    let place = Place::new(server).await;
    place.dag("dag", |_| {}).await;
    place.run("dag", "run", 1).await;
    let far = Sketched::new("dag", "run", "far").with(|row| row.executor = Some("far".to_owned()));
    let added = place.add(&[Sketched::new("dag", "run", "near"), far]).await;
    let cx = place.scheduler(7).await;
    let mut executors = local(8);
    let mut named = executors[0].clone();
    let name = ExecutorName { alias: Some("far".into()), module_path: "site.Far".into(), team: None };
    named.executor.name = Arc::new(name);
    executors.push(ExecutorSlots { names: ExecutorNames::Random, ..named });
    let mut queue = TaskQueue::default();
    queue.add(added.iter().copied());
    let pass = queue.queue(&cx, &executors, NOW).await.unwrap();
    let queued: Vec<(Uuid, usize)> = pass.queued.iter().map(|one| (one.row.id, one.executor)).collect();
    assert!(queued.contains(&(added[0], 0)) && queued.contains(&(added[1], 1)), "{queued:?}");
    assert_eq!(place.find(added[0]).await.external_executor_id, None);
    let name = place.find(added[1]).await.external_executor_id.unwrap();
    assert!(Uuid::try_parse(&name).is_ok() && name.contains('-'), "{name}");
    let told = pass.queued.iter().find(|one| one.executor == 1).unwrap();
    assert_eq!(told.row.external_executor_id, Some(name));
}

async fn more_than_fits_into_a_section_is_read_before(server: Server) {
    let place = Place::new(server).await;
    place.dag("dag", |dag| dag.max_active_tasks = 2000).await;
    place.run_with("dag", "run", 1, |run| run.run_type = RunType::Backfill).await;
    let many: Vec<Sketched> = (0..1300).map(|index| Sketched::new("dag", "run", "task").at(index)).collect();
    let added = place.add(&many).await;
    let settings = [("AIRFLOW__CORE__PARALLELISM", "2000"), ("AIRFLOW__SCHEDULER__MAX_TIS_PER_QUERY", "50")];
    let cx = place.scheduler_with(7, &settings).await;
    place.execute("UPDATE slot_pool SET slots = 1120 WHERE pool = 'default_pool'").await;
    let mut queue = TaskQueue::default();
    queue.add(added);
    let passes = queue_all(&mut queue, &cx, &local(2000)).await;
    let sizes: Vec<usize> = passes.iter().map(|pass| pass.queued.len()).collect();
    assert_eq!(sizes, [500, 500, 120]);
    assert_eq!(queue.len(), 180);
    assert_eq!(passes[2].closed_pools[0].waiting, 180);
}

async fn what_the_database_refuses_is_left_out_and_tried_later_every_time(server: Server) {
    let place = Place::new(server).await;
    place.pool("narrow", 1, false).await;
    place.dag("dag", |_| {}).await;
    place.run("dag", "run", 1).await;
    let bad = Sketched::new("dag", "run", "bad").in_pool("narrow").with(|row| row.priority_weight = Some(9));
    let far = Sketched::new("dag", "run", "far").with(|row| row.executor = Some("far".to_owned()));
    let good = Sketched::new("dag", "run", "good").in_pool("narrow");
    let added = place.add(&[bad, far, good]).await;
    place.database.refuse("UPDATE", "task_instance", "NEW.task_id <> 'good' AND NEW.state = 'queued'").await;
    let cx = place.scheduler(7).await;
    let mut executors = local(8);
    let mut named = executors[0].clone();
    let name = ExecutorName { alias: Some("far".into()), module_path: "site.Far".into(), team: None };
    named.executor.name = Arc::new(name);
    executors.push(ExecutorSlots { names: ExecutorNames::Random, ..named });
    let mut queue = TaskQueue::default();
    queue.sweep(&cx, NOW).await.unwrap();
    let pass = queue.queue(&cx, &executors, NOW).await.unwrap();
    assert!(pass.queued.is_empty() && pass.is_worth_repeating);
    assert_eq!(pass.left_out.len(), 2);
    let is_told = |why: &WhyLeftOut| matches!(why, WhyLeftOut::Refused(why) if why.contains("not this one"));
    assert!(pass.left_out.iter().all(|one| is_told(&one.why)), "{:?}", pass.left_out);
    let pass = queue.queue(&cx, &executors, NOW).await.unwrap();
    assert_eq!(pass.queued.iter().map(|one| one.row.id).collect::<Vec<_>>(), [added[2]], "it has the slot");

    place.execute("UPDATE slot_pool SET slots = 2 WHERE pool = 'narrow'").await;
    let mut tried = Vec::new();
    for second in 0..20 {
        let now = NOW + second.seconds();
        assert_eq!(queue.sweep(&cx, now).await.unwrap().runs, 0, "who is put off is known");
        let pass = queue.queue(&cx, &executors, now).await.unwrap();
        tried.extend((!pass.left_out.is_empty()).then_some(second));
    }
    assert_eq!(tried, [1, 3, 7, 15]);
    place.database.refuse_no_more("task_instance").await;
    assert_eq!(queue.queue(&cx, &executors, NOW + 40.seconds()).await.unwrap().queued.len(), 2);
    assert!(queue.is_empty());
}
