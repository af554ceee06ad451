//! What is seen on a terminal.

use crate::home::Home;

const DAG: &str = "
import time

from airflow.sdk import DAG, task

with DAG('seen', schedule='@once'):

    @task
    def short():
        time.sleep(3)

    short()
";

#[tokio::test]
async fn lines_change_in_place_and_nothing_stays_behind() {
    let home = Home::with_dags(DAG).with("TERM", "xterm");
    let mut running = home.start_on_terminal("success");
    assert_eq!(running.wait_for_end(150), Some(0), "{}", running.log());
    let log = running.log();
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
    let mut running = home.start_on_terminal("success");
    assert_eq!(running.wait_for_end(150), Some(0), "{}", running.log());
    let log = running.log();
    assert!(log.contains("running   seen  0 of 1 task") && !log.contains("\x1b[3"), "{log}");
}
