//! docs/swapping.md, whose commands are run as they stand there.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use ferroflow_db::testing;
use ferroflow_testkit::dag_processing::{Place, simple_dag, wait_until};
use ferroflow_testkit::{Server, given, repository};
use rustix::process::{Pid, Signal, kill_process};

use crate::scheduler::FERROFLOW;
use crate::scheduler::scene::{free_port, notes, scene, wait_for_runs};
use crate::scheduler::swapped::{DAGS, PAUSED, RUNS, STEPS, every_try_once, official_surroundings, unpause};

/// Which schedulers there were, in their order: ours say so.
const SCHEDULERS: &str =
    "SELECT COALESCE(executor_class, '') AS answer FROM job WHERE job_type = 'SchedulerJob' ORDER BY id";
const LATER: &str = "SELECT dag_id AS answer FROM dag WHERE dag_id LIKE 'later%' ORDER BY dag_id";
const TRIGGERS: &str = "SELECT CAST(tgname AS text) AS answer FROM pg_trigger WHERE tgname LIKE 'ferroflow%'";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guide_is_true() {
    let guide = fs::read_to_string(repository("docs/swapping.md")).unwrap();
    let api = free_port();
    let place = official_surroundings(scene(Server::Postgres, DAGS).await, api)
        .with("PATH", &search_path())
        .with("AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL", "5");
    place.db().execute(PAUSED).await;
    let daemons = Daemons { home: place.root().join("home") };
    let follow = |heading: &str| follow(&place, &guide, heading, &daemons);
    follow("Swapping ferroflow in, and back");
    // Official tasks do not wait for it.
    assert!(wait_until(180, || TcpStream::connect(("127.0.0.1", api)).is_ok()), "{}", daemons.logs());
    let have_begun = |runs: usize| wait_until(240, || notes(&place).len() >= runs * STEPS.len());
    unpause(&place, 0..4).await;
    assert!(have_begun(2), "official\n{}", daemons.logs());
    follow("Look before");
    follow("The scheduler");
    unpause(&place, 4..8).await;
    assert!(have_begun(5), "ours\n{}", daemons.logs());
    let db = place.db().connect().await;
    assert_ne!(testing::texts(&db, TRIGGERS).await.unwrap(), [""; 0], "official components tell ours");
    follow("The DAG processor");
    let wait_for_dags = async |dags: &[&str]| {
        for _ in 0..240 {
            if testing::texts(&db, LATER).await.unwrap() == dags {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        }
        panic!("{dags:?} are not there\n{}", daemons.logs());
    };
    place.write("later.py", simple_dag("later").replace("catchup=True", "is_paused_upon_creation=True"));
    wait_for_dags(&["later"]).await;
    follow("And back");
    assert_eq!(testing::texts(&db, TRIGGERS).await.unwrap(), [""; 0], "nothing is left behind");
    place.write(
        "latest.py",
        simple_dag("later_still").replace("catchup=True", "is_paused_upon_creation=True"),
    );
    unpause(&place, 8..RUNS).await;
    let runs = wait_for_runs(&place, RUNS, 240).await;
    let expected: Vec<String> = (0..RUNS).map(|number| format!("dag_{number} success")).collect();
    assert_eq!(runs, expected, "{}", daemons.logs());
    assert_eq!(notes(&place), every_try_once());
    assert_eq!(testing::texts(&db, SCHEDULERS).await.unwrap(), ["", "ferroflow", ""], "who was there");
    wait_for_dags(&["later", "later_still"]).await;
    db.close().await;
}

/// Runs the commands below a heading, one block after the other.
fn follow(place: &Place, guide: &str, heading: &str, daemons: &Daemons) {
    let blocks = blocks_below(guide, heading);
    assert!(!blocks.is_empty(), "there are no commands below {heading:?}");
    for block in blocks {
        let mut shell = place.start("/bin/sh", &["-euxc", &block]);
        assert_eq!(shell.wait_for_end(300), Some(0), "{block}\n{}\n{}", shell.log(), daemons.logs());
    }
}

fn blocks_below(guide: &str, heading: &str) -> Vec<String> {
    let mut is_below = false;
    let mut block: Option<String> = None;
    let mut blocks = Vec::new();
    for line in guide.lines() {
        match &mut block {
            Some(_) if line == "```" => blocks.extend(block.take()),
            Some(text) => text.extend([line, "\n"]),
            None if line == "```sh" && is_below => block = Some(String::new()),
            None if line.starts_with('#') => is_below = line.trim_start_matches('#').trim() == heading,
            None => {}
        }
    }
    blocks
}

/// Ours beside the official Airflow's.
fn search_path() -> String {
    let ours = Path::new(FERROFLOW).parent().unwrap().display();
    format!("{}:{ours}:/usr/local/bin:/usr/bin:/bin", Path::new(&given("VENV")).join("bin").display())
}

/// Those that were started in the background. They are ended when this is dropped, with all that they have started.
struct Daemons {
    home: PathBuf,
}

impl Daemons {
    fn files(&self, ending: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.home).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|found| found == ending)).collect()
    }

    fn logs(&self) -> String {
        let ends = ["log", "err", "out"].iter().flat_map(|ending| self.files(ending)).map(|path| {
            let text =
                fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
            let end: Vec<&str> = text.lines().rev().take(30).collect();
            let end: Vec<&str> = end.into_iter().rev().collect();
            format!("== {}\n{}\n", path.display(), end.join("\n"))
        });
        ends.collect()
    }
}

impl Drop for Daemons {
    fn drop(&mut self) {
        for file in self.files("pid") {
            let pid = fs::read_to_string(file).unwrap_or_default();
            let session =
                session_of(pid.trim()).filter(|session| session_of("self").as_ref() != Some(session));
            let Some(session) = session else { continue };
            for process in
                fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            {
                if session_of(&process).as_ref() == Some(&session)
                    && let Some(process) = process.parse().ok().and_then(Pid::from_raw)
                {
                    let _ = kill_process(process, Signal::KILL);
                }
            }
        }
    }
}

/// The session that a process is in: a daemon has one of its own.
fn session_of(process: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Its name, in brackets, may have blanks in it.
    let (_, rest) = status.rsplit_once(')')?;
    rest.split_whitespace().nth(3).map(str::to_owned)
}
