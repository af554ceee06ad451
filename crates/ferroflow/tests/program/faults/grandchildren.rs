//! What a task has started ends with it.

use ferroflow_testkit::Server;

use crate::faults::stage::{Stage, is_alive};

#[tokio::test]
async fn what_a_task_leaves_behind_holds_nothing_and_is_ended() {
    let stage = Stage::on(Server::Sqlite).await;
    stage.write(
        "from airflow.providers.standard.operators.bash import BashOperator\n",
        r#"
@task
def in_a_session_of_its_own():
    ran()
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    trace("process", process.pid)

@task
def without_hangup():
    ran()
    os.system("nohup sleep 600 &")

@task
def forked_twice():
    ran()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            # A daemon, but that it holds all that the task has: its channel, its output, its log.
            os.chdir("/")
            trace("process", os.getpid())
            (ROOT / "daemon").touch()
            time.sleep(600)
        os._exit(0)
    os.wait()
    wait_for("daemon")

@task
def that_goes_on_as_the_task():
    ran()
    # A process that was to end here, and instead ends as the task does.
    os.fork()

@task
def that_prints():
    ran()
    subprocess.Popen(["sh", "-c", "trap '' TERM HUP; while true; do echo still here; sleep 0.1; done"])

in_a_session_of_its_own() >> without_hangup() >> forked_twice() >> that_goes_on_as_the_task() >> that_prints() >> BashOperator(
    task_id="in_bash", bash_command="sleep 600 >/dev/null 2>&1 & setsid sleep 600 >/dev/null 2>&1 & exit 0"
)
"#,
    );
    let (is_good, output) = stage.run(90);
    assert!(is_good, "{output}");
    let states = stage.states().await;
    assert!(states.len() == 6 && states.values().all(|state| state == "success 1"), "{states:?}\n{output}");
    let trace = stage.trace();
    assert_eq!(trace.iter().filter(|line| line.starts_with("ran ")).count(), 5, "{trace:?}");
    let processes: Vec<u32> =
        trace.iter().filter_map(|line| line.strip_prefix("process ")?.parse().ok()).collect();
    assert_eq!(processes.len(), 2, "{trace:?}");
    assert!(!processes.iter().any(|process| is_alive(*process)), "{processes:?}");
}
