//! The heartbeat of a component, which follows the progress of its loop.
//!
//! It is as old as the beginning of what the loop is at, or, if one cycle fails after the other, as the first of those. A
//! component that does not get on for as long as its health check threshold is of no use: its peers look after its work,
//! and a supervisor restarts it.

use std::sync::Arc;
use std::time::Duration;

use ferroflow_db::Db;
use ferroflow_execution::Host;
use ferroflow_telemetry::clock::signed;
use ferroflow_telemetry::{chain, clock};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

use super::row;
use crate::{JobType, LoopStatus, Runtime};

pub(super) struct Heartbeat {
    db: Db,
    job_type: JobType,
    host: Host,
    id: watch::Sender<i64>,
    status: Arc<LoopStatus>,
    threshold: SignedDuration,
    is_stuck: bool,
}

/// What came of a heartbeat.
#[derive(Debug, PartialEq, Eq)]
enum Beat {
    Written,
    /// The component has not got on for so long that it shows no sign of life.
    Withheld,
    RowGone,
    /// The row was gone, and there is another.
    RowReplaced,
    Failed,
}

impl Heartbeat {
    pub(super) fn new(
        runtime: &Runtime,
        job_type: JobType,
        id: watch::Sender<i64>,
        status: Arc<LoopStatus>,
    ) -> Self {
        Self {
            db: runtime.db.clone(),
            job_type,
            host: runtime.host.clone(),
            id,
            status,
            threshold: signed(job_type.health_threshold(&runtime.settings)),
            is_stuck: false,
        }
    }

    pub(super) async fn beat_always(mut self, interval: Duration) {
        loop {
            tokio::time::sleep(interval).await;
            self.beat(clock::now()).await;
        }
    }

    async fn beat(&mut self, now: Timestamp) -> Beat {
        let until = self.status.gets_on_until(now);
        let was_stuck = std::mem::replace(&mut self.is_stuck, now.duration_since(until) >= self.threshold);
        let (job_id, component) = (*self.id.borrow(), self.job_type.component());
        if self.is_stuck {
            if !was_stuck {
                tracing::error!(
                    job_id,
                    since = %until,
                    "for {} the {component} has been at one thing, or every cycle has failed: until it gets on, it \
                     shows no sign of life",
                    self.job_type.health_threshold_option()
                );
            }
            return Beat::Withheld;
        }
        match row::beat(&self.db, self.job_type, job_id, until).await {
            Ok(true) => Beat::Written,
            Ok(false) if self.job_type.replaces_row() => self.replace_row(now).await,
            Ok(false) => {
                tracing::error!(
                    job_id,
                    "the {component}'s row in the table job is gone: others take its tasks for lost; start it anew"
                );
                Beat::RowGone
            }
            Err(error) => {
                tracing::warn!(job_id, "the {component}'s heartbeat is missing: {}", chain(&error));
                Beat::Failed
            }
        }
    }

    async fn replace_row(&self, now: Timestamp) -> Beat {
        let (job_id, component) = (*self.id.borrow(), self.job_type.component());
        tracing::warn!(job_id, "the {component}'s row in the table job was removed; it gets another");
        match row::start(&self.db, self.job_type, &self.host, now).await {
            Ok(id) => {
                self.id.send_replace(id);
                Beat::RowReplaced
            }
            Err(error) => {
                tracing::warn!(job_id, "the {component} has no row in the table job: {}", chain(&error));
                Beat::Failed
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ferroflow_db::ScopedFutureExt as _;
    use ferroflow_db::job::{self, Job};
    use ferroflow_testkit::{Server, TestDb};

    use super::*;
    use crate::Progress;

    const START: Timestamp = Timestamp::constant(1_800_000_000, 0);

    struct Fixture {
        database: TestDb,
        heartbeat: Heartbeat,
        ids: watch::Receiver<i64>,
    }

    /// A component that started a second before, and is stuck after 30 seconds.
    async fn fixture(job_type: JobType) -> Fixture {
        let database = TestDb::migrated(Server::Sqlite).await;
        let db = database.connect().await;
        let host = Host { name: "host".to_owned(), user: "user".to_owned() };
        let first = row::start(&db, job_type, &host, later(-1)).await.unwrap();
        let (id, ids) = watch::channel(first);
        let status = Arc::new(LoopStatus::new(job_type, Progress::default()));
        let threshold = SignedDuration::from_secs(30);
        let heartbeat = Heartbeat { db, job_type, host, id, status, threshold, is_stuck: false };
        Fixture { database, heartbeat, ids }
    }

    fn later(seconds: i64) -> Timestamp {
        START + SignedDuration::from_secs(seconds)
    }

    impl Fixture {
        async fn row(&self) -> Option<Job> {
            let id = *self.ids.borrow();
            let find = self.heartbeat.db.read(|tx| async move { job::find(tx, id).await }.scope_boxed());
            find.await.unwrap()
        }

        async fn latest(&self) -> Option<Timestamp> {
            self.row().await.and_then(|job| job.latest_heartbeat)
        }
    }

    #[tokio::test]
    async fn it_is_as_old_as_what_the_loop_is_at() {
        for job_type in [JobType::Scheduler, JobType::DagProcessor, JobType::Triggerer] {
            let mut fixture = fixture(job_type).await;
            assert_eq!(fixture.heartbeat.beat(later(5)).await, Beat::Written);
            assert_eq!(fixture.latest().await, Some(later(5)), "{job_type:?} waits for something to do");
            fixture.heartbeat.status.begins("step", later(6));
            assert_eq!(fixture.heartbeat.beat(later(35)).await, Beat::Written);
            assert_eq!(fixture.latest().await, Some(later(6)), "{job_type:?} is at one thing");
            for second in [36, 100] {
                assert_eq!(fixture.heartbeat.beat(later(second)).await, Beat::Withheld);
                assert_eq!(fixture.latest().await, Some(later(6)), "{job_type:?} does not get on");
            }
            fixture.heartbeat.status.waits();
            assert_eq!(fixture.heartbeat.beat(later(101)).await, Beat::Written);
            assert_eq!(fixture.latest().await, Some(later(101)), "{job_type:?} gets on");
        }
    }

    #[tokio::test]
    async fn a_component_that_was_taken_for_dead_is_back_with_its_next_heartbeat() {
        use ferroflow_model::state::JobState;

        let mut fixture = fixture(JobType::Triggerer).await;
        let id = *fixture.ids.borrow();
        let db = fixture.heartbeat.db.clone();
        row::end(&db, JobType::Triggerer, id, JobState::Failed, later(1)).await.unwrap();
        assert_eq!(fixture.heartbeat.beat(later(5)).await, Beat::Written);
        assert_eq!(fixture.row().await.and_then(|job| job.state), Some(JobState::Running));
    }

    #[tokio::test]
    async fn that_a_row_is_gone_is_told_and_a_dag_processor_gets_another() {
        let gone = "DELETE FROM job";
        let mut scheduler = fixture(JobType::Scheduler).await;
        scheduler.database.execute(gone).await;
        assert_eq!(scheduler.heartbeat.beat(later(5)).await, Beat::RowGone);
        assert_eq!(scheduler.row().await, None);
        let mut processor = fixture(JobType::DagProcessor).await;
        let other = processor.heartbeat.host.clone();
        row::start(&processor.heartbeat.db, JobType::Triggerer, &other, START).await.unwrap();
        processor.database.execute("DELETE FROM job WHERE job_type = 'DagProcessorJob'").await;
        assert_eq!(processor.heartbeat.beat(later(5)).await, Beat::RowReplaced);
        let job = processor.row().await.expect("there is another");
        assert_eq!(
            (job.job_type.as_deref(), job.latest_heartbeat),
            (Some("DagProcessorJob"), Some(later(5)))
        );
        assert_eq!(processor.heartbeat.beat(later(10)).await, Beat::Written);
        assert_eq!(processor.latest().await, Some(later(10)));
    }

    #[tokio::test]
    async fn a_database_that_is_gone_is_told() {
        let mut fixture = fixture(JobType::Scheduler).await;
        fixture.heartbeat.db.close().await;
        assert_eq!(fixture.heartbeat.beat(later(5)).await, Beat::Failed);
    }
}
