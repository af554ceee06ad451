//! Tasks that one process runs, one after the other.

use std::collections::{BTreeMap, BTreeSet};

use ferroflow_testkit::Server;

use crate::faults::stage::Stage;

/// `first` and the like tell of each process how many tasks it has run, and what they find there; then they leave
/// something behind.
const TASKS: &str = r#"
import atexit, threading
BEFORE = Path.cwd()
RUNS = 0

def find(name):
    global RUNS
    RUNS += 1
    left = os.environ.get("LEFT"), Path.cwd() == BEFORE, signal.getsignal(signal.SIGTERM).__name__
    trace("found", os.getpid(), RUNS, name, *left)
    print(f"printed by {name}")

def leave(name):
    os.environ["LEFT"] = name
    os.chdir("/")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    subprocess.Popen(["sleep", "600"], start_new_session=True)
    atexit.register(trace, "ends", name)
    sys.stdout.write(f"without an end by {name}")
"#;

const CHAIN: &str = r#"
before = None
for number in range(8):
    @task(task_id=f"task_{number}")
    def tidy(name=f"task_{number}"):
        find(name)
        leave(name)
    made = tidy()
    if before is not None:
        before >> made
    before = made

@task
def threaded():
    find("threaded")
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()

@task(retries=1, retry_delay=timedelta(seconds=0))
def failing():
    find("failing")
    if ran() == 1:
        raise ValueError("once")

@task(retries=1, retry_delay=timedelta(seconds=0))
def killed():
    find("killed")
    if ran() == 1:
        os.kill(os.getpid(), signal.SIGKILL)

@task
def last():
    find("last")

made >> threaded() >> failing() >> killed() >> last()
"#;

const MOST: usize = 3;

#[tokio::test]
async fn a_process_that_is_as_it_was_takes_another_task() {
    let stage = Stage::on(Server::Sqlite)
        .await
        .with("AIRFLOW__FERROFLOW__TASK_TEMPLATES", "2")
        .with("AIRFLOW__FERROFLOW__TASKS_PER_PROCESS", &MOST.to_string());
    stage.write(TASKS, CHAIN);
    let (is_good, output) = stage.run(120);
    assert!(is_good, "{output}");

    let found = stage.trace().into_iter().filter_map(|line| line.strip_prefix("found ").map(str::to_owned));
    let mut by_process: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for line in found {
        let [process, run, task, traces] = line.splitn(4, ' ').collect::<Vec<_>>().try_into().unwrap();
        let tasks = by_process.entry(process.to_owned()).or_default();
        tasks.push((task.to_owned(), traces.to_owned()));
        assert_eq!(run, tasks.len().to_string(), "what is not undone is found: the module's variable");
    }
    let traces: BTreeSet<&str> = by_process.values().flatten().map(|(_, traces)| traces.as_str()).collect();
    assert_eq!(traces.len(), 1, "nobody finds anything else of others: {traces:?}");
    assert!(traces.first().unwrap().starts_with("None True "), "{traces:?}");
    assert!(by_process.len() < 14 && by_process.values().any(|tasks| tasks.len() == MOST), "{by_process:?}");
    for tasks in by_process.values() {
        assert!(tasks.len() <= MOST, "{by_process:?}");
        for (task, _) in &tasks[..tasks.len() - 1] {
            assert!(!["threaded", "killed", "last"].contains(&task.as_str()), "{by_process:?}");
        }
    }
    let states = stage.states().await;
    assert_eq!((states["failing"].as_str(), states["killed"].as_str()), ("success 2", "success 2"));
    for number in 0..8 {
        let name = format!("task_{number}");
        assert_eq!(stage.count(&format!("ends {name}")), 1, "what is to be done at the end is done");
        let lines = std::fs::read_to_string(stage.log_file(&name, 1)).unwrap();
        assert_eq!(lines.matches("printed by ").count(), 1, "{lines}");
        assert!(lines.contains(&format!("printed by {name}")), "{lines}");
        assert!(lines.contains(&format!("without an end by {name}")), "{lines}");
    }
}
