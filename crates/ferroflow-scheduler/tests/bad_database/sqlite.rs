//! A file that cannot be written for a while: SQLite says that it is read-only, or full.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ferroflow_db::testing::{limit_sqlite_size, make_sqlite_read_only};
use ferroflow_db::{Db, Options};
use ferroflow_telemetry::clock;
use ferroflow_testkit::{Server, TestDb};

use crate::life::{announce, difference};
use crate::place::{Place, START};

/// So long a disk is full.
const FULL: Duration = Duration::from_millis(150);

/// What goes wrong before something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    /// The connection only reads, until it is made anew.
    ReadOnly,
    /// Nothing fits into the file any more, for a while.
    Full,
}

/// When something goes wrong.
#[derive(Clone, Default)]
pub(crate) struct Disturbance(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    done: usize,
    planned: Option<(usize, Trouble)>,
}

impl Disturbance {
    /// Something is about to be done.
    pub(crate) async fn before_act(&self, db: &Db) {
        let due = {
            let mut state = self.0.lock().unwrap();
            state.done += 1;
            let number = state.done;
            state.planned.take_if(|(at, _)| *at == number)
        };
        match due.map(|(_, trouble)| trouble) {
            None => {}
            Some(Trouble::ReadOnly) => make_sqlite_read_only(db).await.unwrap(),
            Some(Trouble::Full) => {
                limit_sqlite_size(db, true).await.unwrap();
                let db = db.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(FULL).await;
                    limit_sqlite_size(&db, false).await.unwrap();
                });
            }
        }
    }

    /// Begins anew. Answers how much was done.
    fn plan(&self, planned: Option<(usize, Trouble)>) -> usize {
        std::mem::replace(&mut *self.0.lock().unwrap(), State { done: 0, planned }).done
    }
}

#[tokio::test]
async fn whatever_sqlite_does_before_any_step_nothing_is_lost_doubled_or_invented() {
    let database = TestDb::migrated(Server::Sqlite).await;
    let direct = database.connect().await;
    // One connection, so that what is done to it is done to all.
    let options = Options { max_attempts: 1, pool_size: 1, max_overflow: 0, ..Options::new(database.url()) };
    let db = Db::connect(&options).await.unwrap();
    let place = Place::new(database, direct, db).await;
    let job_id = announce(&place).await;
    let mut now = START;
    let clean = place.live("first", job_id, &mut now).await.unwrap();
    let acts = place.disturbance.plan(None);
    assert!(acts > 50, "{acts}");
    let mut failures = Vec::new();
    let cases = (1..=acts).map(|act| (act, Trouble::ReadOnly));
    let cases = cases.chain((1..=acts).step_by(4).map(|act| (act, Trouble::Full)));
    for (act, trouble) in cases {
        place.disturbance.plan(Some((act, trouble)));
        let lived = place.live(&format!("{trouble:?}_{act}"), job_id, &mut now).await;
        let failure = lived.map_or_else(Some, |left| difference(&clean, &left));
        failures.extend(failure.map(|failure| format!("{trouble:?} before act {act}: {failure}")));
    }
    clock::pretend(None);
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
