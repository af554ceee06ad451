//! A file that cannot be written, or not even be opened: its file system is full, or read-only.

use std::collections::BTreeSet;
use std::task::Poll;
use std::time::Duration;

use ferroflow_db::{Db, Options};
use ferroflow_telemetry::clock;
use ferroflow_testkit::{Server, SmallDisk, TestDb};
use jiff::Timestamp;

use crate::bad_database::disturbance::{Disturbance, Listener, Trouble};
use crate::bad_database::life::{Left, announce, difference};
use crate::bad_database::place::{Place, START};
use crate::bad_database::servers::is_all_asked;

/// How many things go wrong in one life.
const AT_ONCE: usize = 12;

/// What has not come to its end by then waits for something that does not happen.
const MAX_LIFE: Duration = Duration::from_mins(1);

/// The tables that a life writes to, each before those that it refers to.
const WRITTEN: [&str; 14] = [
    "log",
    "callback",
    "variable",
    "xcom",
    "task_map",
    "rendered_task_instance_fields",
    "task_reschedule",
    "task_instance_history",
    "dagrun_asset_event",
    "asset_dag_run_queue",
    "asset_event",
    "task_instance",
    "trigger",
    "dag_run",
];

#[tokio::test]
async fn nothing_is_lost_doubled_or_invented_on_a_full_disk() {
    let name = "bad_database::sqlite::nothing_is_lost_doubled_or_invented_on_a_full_disk";
    Box::pin(try_all(name, Trouble::Full, 55)).await;
}

#[tokio::test]
async fn nor_where_a_full_disk_has_no_room_to_open_the_file() {
    let name = "bad_database::sqlite::nor_where_a_full_disk_has_no_room_to_open_the_file";
    Box::pin(try_all(name, Trouble::FullWhenOpened, 75)).await;
}

#[tokio::test]
async fn nor_on_a_read_only_disk() {
    Box::pin(try_all("bad_database::sqlite::nor_on_a_read_only_disk", Trouble::ReadOnly, 75)).await;
}

#[tokio::test]
async fn nor_on_a_read_only_disk_of_which_can_be_read() {
    let name = "bad_database::sqlite::nor_on_a_read_only_disk_of_which_can_be_read";
    Box::pin(try_all(name, Trouble::ReadOnlyWithLog, 55)).await;
}

#[tokio::test]
async fn nor_on_a_disk_that_becomes_read_only_below_open_files() {
    let name = "bad_database::sqlite::nor_on_a_disk_that_becomes_read_only_below_open_files";
    Box::pin(try_all(name, Trouble::Unwritable, 55)).await;
}

/// What is wrong with the disk does not outlast the life in which it was planned.
#[tokio::test]
async fn a_life_that_is_broken_off_leaves_a_disk_that_is_mended() {
    let name = "bad_database::sqlite::a_life_that_is_broken_off_leaves_a_disk_that_is_mended";
    let Some(disk) = SmallDisk::of_test(name) else { return };
    let folder = tempfile::tempdir().unwrap();
    let disturbance = Disturbance::new(disk, folder.path().join("file"), Trouble::FullWhenOpened);
    disturbance.plan(BTreeSet::from(["act 1".to_owned()]));
    let writes = || std::fs::write(folder.path().join("written"), vec![1; 1 << 16]);
    let act = disturbance.act("act", async {
        assert!(writes().is_err(), "it is full");
        std::future::pending::<Result<(), ()>>().await
    });
    let mut act = Box::pin(act);
    let polled = std::future::poll_fn(|context| Poll::Ready(act.as_mut().poll(context)));
    assert!(polled.await.is_pending());
    drop(act);
    assert!(writes().is_err());
    disturbance.plan(BTreeSet::new());
    writes().unwrap();
}

/// At each act of a life something goes wrong, and at so many of them at least it is noticed: others write nothing.
async fn try_all(name: &str, trouble: Trouble, fewest_refused: usize) {
    let Some(disk) = SmallDisk::of_test(name) else { return };
    let mut trial = Trial::new(disk, trouble).await;
    let _listening = tracing::subscriber::set_default(Listener(trial.place.disturbance.clone()));
    trial.clean = trial.live().await.unwrap();
    let acts = trial.place.disturbance.plan(BTreeSet::new()).acts;
    let length = trial.length();
    let at_once = if is_all_asked() { 1 } else { AT_ONCE };
    // Those of one life are far from each other.
    let lives = acts.len().div_ceil(at_once);
    let mut unmet = Vec::new();
    for first in 0..lives {
        unmet.extend(trial.suffer(acts.iter().skip(first).step_by(lives).cloned().collect()).await);
    }
    for act in unmet {
        let left = trial.suffer(BTreeSet::from([act])).await;
        assert!(left.is_empty(), "it did not come to {left:?}");
    }
    clock::pretend(None);
    assert!(trial.length() < 2 * length, "lives fill the disk: {} after {length}", trial.length());
    let Trial { failures, refused, .. } = trial;
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(refused.len() >= fewest_refused, "{} of {}: {refused:#?}", refused.len(), acts.len());
}

struct Trial {
    place: Place,
    job_id: i64,
    now: Timestamp,
    lives: usize,
    /// What an undisturbed life leaves.
    clean: Left,
    refused: Vec<String>,
    failures: Vec<String>,
}

impl Trial {
    async fn new(disk: SmallDisk, trouble: Trouble) -> Self {
        let place = place(disk, trouble).await;
        let job_id = announce(&place).await;
        let (clean, refused, failures) = (Left::new(), Vec::new(), Vec::new());
        Self { place, job_id, now: START, lives: 0, clean, refused, failures }
    }

    async fn live(&mut self) -> Result<Left, String> {
        self.lives += 1;
        let run_id = format!("run_{}", self.lives);
        let living = self.place.live(&run_id, self.job_id, &mut self.now);
        let lived = tokio::time::timeout(MAX_LIFE, living).await;
        lived.unwrap_or_else(|_| Err("it waits for ever".to_owned()))
    }

    /// Deletes what lives have left: many would fill the disk for good.
    async fn forget(&self) {
        self.place.database.execute(WRITTEN.map(|table| format!("DELETE FROM {table};")).concat()).await;
    }

    /// How long the file is.
    fn length(&self) -> u64 {
        self.place.database.sqlite_path().metadata().unwrap().len()
    }

    /// A life in which something goes wrong at these acts. Answers those that it did not come to.
    async fn suffer(&mut self, acts: BTreeSet<String>) -> BTreeSet<String> {
        self.place.disturbance.plan(acts.clone());
        let lived = self.live().await;
        let course = self.place.disturbance.plan(BTreeSet::new());
        self.forget().await;
        let failure = lived.map_or_else(Some, |left| difference(&self.clean, &left));
        self.failures.extend(failure.map(|failure| format!("{acts:?}: {failure}")));
        self.refused.extend(course.refused);
        course.unmet
    }
}

async fn place(disk: SmallDisk, trouble: Trouble) -> Place {
    let database = TestDb::migrated(Server::Sqlite).await;
    let file = database.sqlite_path();
    // Whatever fails is seen by whoever asked, at once.
    let options =
        Options { max_attempts: 1, pool_enabled: trouble.keeps_connections(), ..database.options() };
    let direct = Db::connect(&options).await.unwrap();
    let db = Db::connect(&options).await.unwrap();
    let mut place = Place::new(database, direct, db).await;
    place.disturbance = Disturbance::new(disk, file, trouble);
    place
}
