//! Whom the real critical section of Airflow was seen to queue, and whom we queue of the same rows.

use std::collections::BTreeSet;
use std::sync::Arc;

use ferroflow_db::{ScopedFutureExt as _, dag_bundle};
use ferroflow_model::admission::{Executor, ExecutorName};
use ferroflow_model::state::TaskState;
use ferroflow_scheduler::queue_tasks::{ExecutorSlots, TaskQueue};
use ferroflow_scheduler::run::ExecutorNames;
use ferroflow_testkit::replay::read;
use ferroflow_testkit::{Server, repository};
use serde_json::Value;
use test_case::test_case;

use crate::tasks::place::{NOW, Place, Sketched, queue_all};

/// How many of the recorded scenarios are played: the model's own tests replay all of them.
const PLAYED: usize = 12;

#[test_case(Server::Sqlite)]
#[test_case(Server::Postgres)]
#[tokio::test]
async fn the_same_are_queued(server: Server) {
    let text = read(&repository("testdata/admission/admission.json.gz")).unwrap();
    let recorded: Value = serde_json::from_str(&text).unwrap();
    let scenarios = recorded["scenarios"].as_array().unwrap().iter();
    let (mut played, mut queued) = (0, 0);
    for (number, scenario) in scenarios.enumerate().filter(|(_, one)| is_plain(one)).take(PLAYED) {
        let ours = play(server, scenario).await;
        let theirs: BTreeSet<usize> = list(&scenario["queued"])
            .iter()
            .map(|one| usize::try_from(one[0].as_u64().unwrap()).unwrap())
            .collect();
        assert_eq!(ours, theirs, "{number}");
        played += 1;
        queued += theirs.len();
    }
    assert!(played == PLAYED && queued > PLAYED, "{played} with {queued}");
}

/// Neither teams, which the rows of DAGs do not tell, nor somebody whom Airflow does not see: of each run it looks at
/// `max_active_tasks` only.
fn is_plain(scenario: &Value) -> bool {
    let waiting = |dag: &Value, run: &Value| {
        let of_run = |one: &&Value| one[0] == dag["dag_id"] && one[1] == *run && one[4] == "scheduled";
        list(&scenario["instances"]).iter().filter(of_run).count()
    };
    let sees_all = list(&scenario["dags"]).iter().all(|dag| {
        let most = usize::try_from(dag["max_active_tasks"].as_i64().unwrap()).unwrap_or(0);
        list(&scenario["runs"]).iter().all(|run| waiting(dag, &run[1]) <= most)
    });
    let has_slots = |task: &Value| task["pool_slots"].as_i64().unwrap() > 0;
    let tasks_are_plain = list(&scenario["dags"]).iter().all(|dag| list(&dag["tasks"]).iter().all(has_slots));
    sees_all && tasks_are_plain && scenario["multi_team"] == false
}

async fn play(server: Server, scenario: &Value) -> BTreeSet<usize> {
    let place = Place::new(server).await;
    place
        .db
        .transact(|tx| async move { dag_bundle::insert_if_missing(tx, "dags-folder").await }.scope_boxed())
        .await
        .unwrap();
    for pool in list(&scenario["pools"]) {
        let slots = whole(&pool["slots"]);
        place.pool(word(&pool["name"]), slots, pool["include_deferred"] == true).await;
    }
    for dag in list(&scenario["dags"]) {
        let most = whole(&dag["max_active_tasks"]);
        place
            .dag(word(&dag["dag_id"]), |row| {
                (row.max_active_tasks, row.is_paused, row.has_task_concurrency_limits) =
                    (most, dag["is_paused"] == true, true);
            })
            .await;
        let limit = |value: &Value| value.as_i64().map(|limit| i32::try_from(limit).unwrap());
        let tasks: Vec<_> = list(&dag["tasks"])
            .iter()
            .map(|task| (word(&task["task_id"]), limit(&task["per_dag"]), limit(&task["per_dagrun"])))
            .collect();
        place.serialize(word(&dag["dag_id"]), &tasks).await;
    }
    for run in list(&scenario["runs"]) {
        place.run(word(&run[0]), word(&run[1]), run[2].as_i64().unwrap()).await;
    }
    let sketched: Vec<Sketched> =
        list(&scenario["instances"]).iter().map(|one| instance(scenario, one)).collect();
    let ids = place.add(&sketched).await;
    let settings = [("AIRFLOW__CORE__PARALLELISM", "100000"), ("AIRFLOW__SCHEDULER__MAX_TIS_PER_QUERY", "0")];
    let cx = place.scheduler_with(7, &settings).await;
    let mut queue = TaskQueue::default();
    queue.sweep(&cx, NOW).await.unwrap();
    let executors: Vec<ExecutorSlots> = list(&scenario["executors"]).iter().map(executor).collect();
    let passes = queue_all(&mut queue, &cx, &executors).await;
    let queued = passes.iter().flat_map(|pass| &pass.queued);
    queued.map(|queued| ids.iter().position(|id| *id == queued.row.id).unwrap()).collect()
}

fn instance(scenario: &Value, one: &Value) -> Sketched {
    let dag = list(&scenario["dags"]).iter().find(|dag| dag["dag_id"] == one[0]).unwrap();
    let task = list(&dag["tasks"]).iter().find(|task| task["task_id"] == one[2]).unwrap();
    let state: TaskState = word(&one[4]).parse().unwrap();
    Sketched::new(word(&one[0]), word(&one[1]), word(&one[2])).at(whole(&one[3])).in_state(state).with(
        |row| {
            word(&task["pool"]).clone_into(&mut row.pool);
            row.pool_slots = whole(&task["pool_slots"]);
            row.priority_weight = Some(whole(&task["priority"]));
            row.executor = task["executor"].as_str().map(str::to_owned);
        },
    )
}

fn executor(recorded: &Value) -> ExecutorSlots {
    let name = ExecutorName {
        alias: recorded["alias"].as_str().map(Into::into),
        module_path: word(&recorded["module_path"]).into(),
        team: None,
    };
    let executor = Executor { name: Arc::new(name), slots: recorded["slots"].as_i64().unwrap(), occupied: 0 };
    ExecutorSlots { executor, names: ExecutorNames::None }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn whole(value: &Value) -> i32 {
    i32::try_from(value.as_i64().unwrap()).unwrap()
}
