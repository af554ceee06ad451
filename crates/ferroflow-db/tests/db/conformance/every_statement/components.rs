//! Jobs, pools, log templates, and the sizes and columns of tables.

use ferroflow_db::log_template::{self, LogTemplate, LogTemplates};
use ferroflow_db::monitoring::gauges;
use ferroflow_db::pool::{self, DescribedPool};
use ferroflow_db::schema::table_size;
use ferroflow_db::{Db, Dialect, Error, ScopedFutureExt as _, Tx, cleaning, job};
use ferroflow_model::state::JobState;
use ferroflow_testkit::{TestDb, creation};
use jiff::ToSpan as _;

use super::within;
use crate::conformance::NOW;

pub(super) async fn run(db: &Db, database: &TestDb) {
    within(db, |tx| async move { jobs(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { pools(tx).await }.scope_boxed()).await;
    within(db, |tx| async move { templates(tx).await }.scope_boxed()).await;
    let is_mysql = matches!(db.dialect(), Dialect::MySql | Dialect::MariaDb);
    database.execute(if is_mysql { "ANALYZE TABLE dag" } else { "ANALYZE dag" }).await;
    within(db, |tx| async move { tables(tx).await }.scope_boxed()).await;
}

async fn jobs(tx: &mut Tx) -> Result<(), Error> {
    let new = job::NewJob {
        job_type: "SchedulerJob".to_owned(),
        hostname: "jobs".to_owned(),
        unixname: "user".to_owned(),
        executor_class: None,
    };
    let id = job::insert(tx, &new, NOW - 1.minute()).await?;
    assert_eq!(job::find(tx, id).await?.unwrap().state, Some(JobState::Running));
    assert_eq!(job::running(tx, Some("SchedulerJob"), Some("jobs"), 10).await?.len(), 1);
    assert!(!job::list(tx, None, Some(JobState::Running), 10).await?.is_empty());
    assert!(job::heartbeat(tx, id, NOW - 1.minute()).await?);
    assert!(!job::schedulers::without_heartbeat(tx, NOW, NOW).await?.is_empty());
    assert!(job::schedulers::fail(tx, id, NOW, NOW).await?);
    let id = job::insert(tx, &new, NOW).await?;
    assert!(job::finish(tx, id, JobState::Success, NOW).await?);
    assert!(job::schedulers::ended(tx, NOW).await?.contains(&id));
    Ok(())
}

async fn pools(tx: &mut Tx) -> Result<(), Error> {
    let own = DescribedPool {
        name: "own".to_owned(),
        slots: 3,
        description: None,
        include_deferred: false,
        team_name: None,
    };
    pool::set(tx, &own).await?;
    assert!(pool::list(tx).await?.contains(&own));
    assert_eq!(gauges::pools(tx).await?.len(), 2);
    assert!(pool::delete(tx, "own").await?);
    pool::add_default_if_missing(tx, 3).await?;
    Ok(())
}

async fn templates(tx: &mut Tx) -> Result<(), Error> {
    let template = |name: &str| LogTemplate { filename: name.to_owned(), elasticsearch_id: name.to_owned() };
    let configured = LogTemplates { superseded: Some(template("superseded")), ..creation().log_templates };
    log_template::synchronize(tx, &configured, NOW).await?;
    log_template::synchronize(tx, &configured, NOW).await?;
    let newest = log_template::newest_id(tx).await?;
    assert_eq!(log_template::of_run(tx, newest).await?, Some(configured.current));
    assert!(log_template::of_run(tx, None).await?.is_some());
    Ok(())
}

async fn tables(tx: &mut Tx) -> Result<(), Error> {
    assert!(matches!(table_size::rows(tx, "dag", 1).await?, table_size::Rows::About(_)));
    assert!(cleaning::columns(tx, "dag").await?.contains(&"dag_id".to_owned()));
    Ok(())
}
