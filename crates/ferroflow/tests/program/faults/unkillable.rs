//! A task whose process cannot be killed, as one is that waits for a file system which does not answer.

use ferroflow_python::processes;
use ferroflow_testkit::{Held, Server};

use crate::faults::stage::{Stage, children, is_alive, until};

const TASKS: &str = r#"
def lasting(name, weight):
    @task(task_id=name, priority_weight=weight, weight_rule="absolute")
    def run():
        if ran() == 1:
            trace("process", name, os.getpid())
            wait_for("never" if name == "held" else "go")
    run()

lasting("held", 10)
lasting("other", 10)
lasting("third", 1)
"#;

async fn it_alone_is_given_up(server: Server) {
    let stage = Stage::on(server).await.with("AIRFLOW__CORE__PARALLELISM", "2");
    stage.write("", TASKS);
    let mut running = stage.start();
    stage.wait_for_lines("process", 2, &running);
    let process = |task: &str| -> u32 {
        let prefix = format!("process {task} ");
        let number = stage.trace().iter().find_map(|line| line.strip_prefix(&prefix)?.parse().ok());
        number.unwrap()
    };
    let (stuck, other) = (process("held"), process("other"));
    // `ps` shows whose each of them is.
    let title = processes::title(stuck.cast_signed());
    assert!(title.starts_with("airflow worker -- ") && title.contains(" faults held "), "{title}");
    assert!(title.ends_with(" try_number=1"), "{title}");
    let fork_server = children(running.id());
    let held = Held::new(stuck.cast_signed());
    let clear = "UPDATE task_instance SET state = 'restarting', max_tries = 1 WHERE task_id = 'held' AND state = 'running'";
    stage.place.db().execute(clear).await;
    let is_given_up = async || {
        stage.critical("held", 1).iter().any(|line| line.contains("was killed and does not end"))
            && stage.states().await["held"] != "restarting 1"
    };
    assert!(until(60, is_given_up).await, "{:?}\n{}", stage.log("held", 1), running.log());

    // Nobody else hears of it, but its slot is taken: none is free for the third.
    assert!(is_alive(stuck) && is_alive(other), "{}", running.log());
    assert_eq!(children(running.id()), fork_server, "{}", running.log());
    assert_eq!(stage.count("ran third 1"), 0, "{:?}", stage.trace());
    drop(held);
    let goes_on = until(60, async || stage.count("ran third 1") + stage.count("ran held 2") > 0).await;
    assert!(goes_on, "{}", running.log());
    assert!(is_alive(other));

    stage.let_go("go");
    assert_eq!(running.wait_for_end(60), Some(0), "{}", running.log());
    stage.assert_nobody_left();
    let expected = [("held", "success 2"), ("other", "success 1"), ("third", "success 1")];
    assert_eq!(
        stage.states().await,
        expected.map(|(task, state)| (task.to_owned(), state.to_owned())).into()
    );
    let ran = stage.trace().into_iter().filter(|line| line.starts_with("ran ")).count();
    assert_eq!(ran, 4, "{:?}", stage.trace());
}

#[tokio::test]
async fn a_process_that_cannot_be_killed_is_given_up_alone_on_sqlite() {
    it_alone_is_given_up(Server::Sqlite).await;
}
