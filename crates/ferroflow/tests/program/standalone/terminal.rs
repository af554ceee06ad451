//! What is seen on a terminal.

use ferroflow_testkit::dag_processing::wait_until;

use crate::standalone::home::Home;

/// Its task ends when it was shown that it runs.
const DAG: &str = "
import os, time

from airflow.sdk import DAG, task

with DAG('seen', schedule='@once'):

    @task
    def short():
        while not os.path.exists(NOTES):
            time.sleep(0.1)

    short()
";

/// Runs the DAG on a terminal, and returns what was shown.
fn show(home: &Home) -> String {
    let mut running = home.start_on_terminal("success");
    let is_shown = wait_until(150, || running.log().contains("short ("));
    assert!(is_shown, "{}", running.log());
    std::fs::write(home.path("notes"), "").unwrap();
    assert_eq!(running.wait_for_end(150), Some(0), "{}", running.log());
    running.log()
}

#[tokio::test]
async fn lines_change_in_place_and_nothing_stays_behind() {
    let home = Home::with_dags(DAG).with("TERM", "xterm");
    let log = show(&home);
    for seen in
        ["\x1b[2mrunning   \x1b[0m\x1b[36mseen\x1b[0m  0 of 1 task", "short (", "\x1b[32msuccess", "stopping"]
    {
        assert!(log.contains(seen), "{seen:?} is not seen\n{log}");
    }
    assert!(log.contains("\x1b[4A"), "lines are written over\n{log}");
    // No mode of the terminal was changed, and the last thing is a whole line, with nothing below it.
    assert!(!log.contains("\x1b[?"), "{log}");
    let (_, last) = log.rsplit_once("\x1b[J").unwrap();
    assert_eq!(last.trim(), "", "{log}");
    assert!(log.contains("stopped; 1 run succeeded, 0 failed\x1b[K"), "{log}");
}

#[tokio::test]
async fn without_colours_where_nobody_wants_them() {
    let home = Home::with_dags(DAG).with("TERM", "xterm").with("NO_COLOR", "1");
    let log = show(&home);
    assert!(log.contains("running   seen  0 of 1 task") && !log.contains("\x1b[3"), "{log}");
}
