use std::time::Duration;

use ferroflow_config::Settings;
use ferroflow_db::job::{self, Job};
use ferroflow_db::{Db, Error, ScopedFutureExt as _};
use jiff::Timestamp;

/// Which components are meant.
#[derive(Clone, Debug, Default)]
pub struct JobQuery {
    pub job_type: Option<String>,
    pub hostname: Option<String>,
    /// Only the one with this row.
    pub id: Option<i64>,
    /// How many are looked at, those that were heard of last; zero for all.
    pub limit: u32,
}

/// How many of them live.
pub async fn alive(db: &Db, settings: &Settings, query: &JobQuery, now: Timestamp) -> Result<usize, Error> {
    let (job_type, hostname) = (query.job_type.as_deref(), query.hostname.as_deref());
    let limit = if query.limit == 0 { i64::MAX } else { i64::from(query.limit) };
    let running =
        db.read(|tx| async move { job::running(tx, job_type, hostname, limit).await }.scope_boxed()).await?;
    let meant = running.iter().filter(|job| query.id.is_none_or(|id| id == job.id));
    Ok(meant.filter(|job| is_alive(job, settings, now)).count())
}

fn is_alive(job: &Job, settings: &Settings, now: Timestamp) -> bool {
    let threshold = settings.health_threshold(job.job_type.as_deref());
    let since = |heartbeat: Timestamp| Duration::try_from(now.duration_since(heartbeat)).unwrap_or_default();
    job.latest_heartbeat.is_some_and(|heartbeat| since(heartbeat) < threshold)
}
