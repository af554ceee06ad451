//! Somebody else clears or marks a task while it runs: its process ends soon, and its row is as they left it.

use ferroflow_testkit::Server;
use ferroflow_testkit::dag_processing::{Running, wait_until};

use crate::faults::stage::{Stage, is_alive};

const STUBBORN: &str = r#"
from airflow.providers.standard.operators.bash import BashOperator

class Stubborn(BaseOperator):
    """Does not end by itself when it is told to, but for its second time."""

    def __init__(self, *, on_kill_seconds=0, is_deaf=False, **kwargs):
        super().__init__(**kwargs)
        self.on_kill_seconds = on_kill_seconds
        self.is_deaf = is_deaf

    def execute(self, context):
        trace("ran", self.task_id, context["ti"].try_number)
        marker = ROOT / f"once {self.task_id}"
        if marker.exists():
            return
        marker.touch()
        if self.is_deaf:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        trace("process", self.task_id, os.getpid())
        while True:
            time.sleep(1)

    def on_kill(self):
        trace("on_kill", self.task_id)
        time.sleep(self.on_kill_seconds)
        trace("on_kill_returned", self.task_id)
"#;

const TASKS: &str = r#"
first = {"priority_weight": 10}
Stubborn(task_id="marked_success", **first)
Stubborn(task_id="marked_failed", on_kill_seconds=600, **first)
Stubborn(task_id="cleared", **first)
Stubborn(task_id="made_anew", **first)
Stubborn(task_id="deaf", is_deaf=True, **first)
BashOperator(
    task_id="deaf_bash", bash_command=f"trap '' TERM; echo process deaf_bash $$ >> {ROOT}/trace; sleep 600; sleep 600",
    **first,
)
Stubborn(task_id="comes_after")
"#;

/// What others do, as Airflow's server does it.
const CHANGES: [&str; 6] = [
    "UPDATE task_instance SET state = 'success' WHERE task_id = 'marked_success' AND state = 'running'",
    "UPDATE task_instance SET state = 'failed' WHERE task_id = 'marked_failed' AND state = 'running'",
    "UPDATE task_instance SET state = 'restarting', max_tries = 1 WHERE task_id = 'cleared' AND state = 'running'",
    "UPDATE task_instance SET state = NULL, id = '019b0000000070008000000000000001' WHERE task_id = 'made_anew'",
    "UPDATE task_instance SET state = 'failed' WHERE task_id = 'deaf' AND state = 'running'",
    "UPDATE task_instance SET state = 'skipped' WHERE task_id = 'deaf_bash' AND state = 'running'",
];

async fn unwanted_tasks_end(server: Server) {
    // One slot too few, and a pause between heartbeats in which it would be noticed too late.
    let stage = Stage::on(server)
        .await
        .with("AIRFLOW__CORE__PARALLELISM", "6")
        .with("AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL", "60");
    stage.write(STUBBORN, TASKS);
    let mut running = stage.start();
    stage.wait_for_lines("process", 6, &running);
    let processes = processes(&stage, &running);
    for change in CHANGES {
        stage.place.db().execute(change).await;
    }
    // A second to be noticed, five to be killed.
    let all_ended = wait_until(20, || !processes.iter().any(|(_, process)| is_alive(*process)));
    let left: Vec<_> = processes.iter().filter(|(_, process)| is_alive(*process)).collect();
    assert!(all_ended, "{left:?}\n{}", running.log());

    // The one that had no slot has one now, and hangs; those that run again know that they have run before.
    stage.wait_for_lines("process", 7, &running);
    stage
        .place
        .db()
        .execute("UPDATE task_instance SET state = 'success' WHERE task_id = 'comes_after'")
        .await;
    assert_eq!(running.wait_for_end(60), Some(1), "{}", running.log());
    stage.assert_nobody_left();
    let states = stage.states().await;
    let expected = [
        ("cleared", "success 2"),
        ("comes_after", "success 1"),
        ("deaf", "failed 1"),
        ("deaf_bash", "skipped 1"),
        ("made_anew", "success 2"),
        ("marked_failed", "failed 1"),
        ("marked_success", "success 1"),
    ];
    assert_eq!(states, expected.map(|(task, state)| (task.to_owned(), state.to_owned())).into());
    for task in ["marked_success", "marked_failed", "cleared", "made_anew", "comes_after"] {
        assert_eq!(stage.count(&format!("on_kill {task}")), 1, "{task}: {:#?}", stage.trace());
    }
    for task in ["marked_success", "cleared", "made_anew"] {
        assert_eq!(stage.count(&format!("on_kill_returned {task}")), 1, "{task}: {:#?}", stage.trace());
    }
    let log = stage.log("marked_failed", 1);
    assert!(
        log.iter().any(|record| record["event"].as_str().unwrap().contains("not to run any more")),
        "{log:?}"
    );
    let ran: Vec<String> = stage.trace().into_iter().filter(|line| line.starts_with("ran ")).collect();
    assert_eq!(ran.len(), 8, "{ran:?}");
}

fn processes(stage: &Stage, running: &Running) -> Vec<(String, u32)> {
    let trace = stage.trace();
    let lines = trace.iter().filter_map(|line| line.strip_prefix("process ")?.split_once(' '));
    let found: Vec<(String, u32)> =
        lines.map(|(task, number)| (task.to_owned(), number.parse().unwrap())).collect();
    assert!(found.iter().all(|(_, process)| is_alive(*process)), "{}", running.log());
    found
}

#[tokio::test]
async fn tasks_that_are_not_wanted_any_more_end_on_sqlite() {
    unwanted_tasks_end(Server::Sqlite).await;
}

#[tokio::test]
async fn tasks_that_are_not_wanted_any_more_end_on_postgres() {
    unwanted_tasks_end(Server::Postgres).await;
}
