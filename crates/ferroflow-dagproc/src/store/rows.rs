//! The row of a DAG, its tags, and the links of its owners.

use ferroflow_db::dag::owner_attributes::{self, OwnerLink};
use ferroflow_db::dag::{self, ParsedColumns};
use ferroflow_db::{Error, Json, Tx};
use ferroflow_model::asset::AssetCondition;
use ferroflow_model::runs::create::exceeds_max_non_backfill;
use ferroflow_model::runs::next::next_run_after;
use ferroflow_model::stored_dag::{LatestRun, TimetableColumns};
use ferroflow_model::timetable::RunInfo;
use jiff::Timestamp;
use serde_json::Value;

use super::prepare::PreparedDag;
use super::timetables::Answer;
use super::write::Job;

/// The schedule of a DAG, and how far it has come.
pub(super) struct Schedule<'a> {
    pub(super) columns: TimetableColumns,
    pub(super) assets: Option<&'a AssetCondition>,
    /// The run that the next one follows.
    pub(super) latest: Option<LatestRun>,
    /// How many runs are active, those of backfills not counted.
    pub(super) active_runs: u32,
    answer: Option<&'a Answer>,
}

/// What is known of a schedule without its runs.
pub(super) fn schedule<'a>(dag: &'a PreparedDag, answer: Option<&'a Answer>) -> Schedule<'a> {
    let timetable = &dag.parsed.dag.timetable;
    let (columns, assets) = match answer.map(|answer| &answer.description) {
        Some(Ok(known)) => (known.columns.clone(), known.assets.as_ref()),
        _ => (TimetableColumns::of(timetable), timetable.assets()),
    };
    Schedule { columns, assets, latest: None, active_runs: 0, answer }
}

impl Schedule<'_> {
    /// A timetable that fails has no next run, whatever its row said before.
    fn next_run(&self, dag: &PreparedDag, now: Timestamp) -> Option<RunInfo> {
        if let Some(answer) = self.answer {
            return answer.next.clone().ok().flatten();
        }
        let dag = &dag.parsed.dag;
        let last = self.latest.as_ref().map(|run| run.info(&dag.timetable));
        match next_run_after(dag, last.as_ref(), now) {
            Ok(next) => Some(next),
            Err(reason) => {
                tracing::debug!(dag_id = &*dag.dag_id, %reason, "the DAG has no next run");
                None
            }
        }
    }
}

/// The columns of the `dag` table.
pub(super) fn parsed_columns(job: &Job<'_>, dag: &PreparedDag, schedule: &Schedule<'_>) -> ParsedColumns {
    let (file, settings, parsed) = (job.file, job.settings, &dag.parsed);
    let owners = parsed.owners.join(", ");
    let max_active_runs = parsed.max_active_runs.unwrap_or(settings.max_active_runs_per_dag);
    let columns = &schedule.columns;
    ParsedColumns {
        dag_id: dag.id().to_owned(),
        last_parse_duration: file.duration,
        fileloc: parsed.dag.fileloc.as_deref().map(str::to_owned),
        relative_fileloc: parsed.dag.relative_fileloc.as_deref().map(str::to_owned),
        bundle_name: file.bundle_name.clone(),
        bundle_version: file.bundle_version.clone(),
        owners: if owners.is_empty() { settings.default_owner.clone() } else { owners },
        dag_display_name: parsed.display_name.clone(),
        description: parsed.dag.description.as_deref().map(str::to_owned),
        timetable_type: columns.type_name.clone(),
        timetable_summary: columns.summary.clone(),
        timetable_description: columns.description.clone(),
        timetable_partitioned: columns.partitioned,
        timetable_periodic: columns.periodic,
        partition_mapper_info: columns.partition_mapper_info.clone(),
        deadline: parsed.deadline_column.clone(),
        max_active_tasks: parsed.max_active_tasks.unwrap_or(settings.max_active_tasks_per_dag),
        max_active_runs,
        max_consecutive_failed_dag_runs: parsed
            .max_consecutive_failed_dag_runs
            .unwrap_or(settings.max_consecutive_failed_dag_runs_per_dag),
        has_task_concurrency_limits: parsed.has_task_concurrency_limits,
        fail_fast: parsed.dag.fail_fast,
        allowed_run_types: allowed_run_types(dag),
        exceeds_max_non_backfill: exceeds_max_non_backfill(schedule.active_runs, Some(max_active_runs)),
        next_run: schedule.next_run(dag, job.now),
    }
}

fn allowed_run_types(dag: &PreparedDag) -> Option<Json> {
    let types = dag.parsed.dag.allowed_run_types.as_ref()?;
    let mut names: Vec<&str> = types.iter().map(|run_type| run_type.as_str()).collect();
    names.sort_unstable();
    Some(Json::from(Value::from(names)))
}

/// Tags and links of owners, where they differ from what is there. What goes goes first: to MySQL a tag in other
/// letters is the same.
pub(super) async fn write_labels(tx: &mut Tx, job: &Job<'_>, dag_ids: &[String]) -> Result<(), Error> {
    let tags = dag::tag::of_dags(tx, dag_ids).await?;
    let links = owner_attributes::of_dags(tx, dag_ids).await?;
    for dag in &job.dags {
        let stored = tags.iter().filter(|(dag_id, _)| dag_id == dag.id()).map(|(_, tag)| tag.as_str());
        write_tags(tx, dag, &stored.collect::<Vec<_>>()).await?;
        let stored = links.iter().filter(|link| link.dag_id == dag.id());
        write_links(tx, dag, &stored.collect::<Vec<_>>()).await?;
    }
    Ok(())
}

async fn write_tags(tx: &mut Tx, dag: &PreparedDag, stored: &[&str]) -> Result<(), Error> {
    let wanted = &dag.parsed.dag.tags;
    for tag in stored.iter().filter(|tag| !wanted.iter().any(|wanted| **wanted == ***tag)) {
        dag::tag::delete(tx, dag.id(), tag).await?;
    }
    for tag in wanted.iter().filter(|wanted| !stored.contains(&&***wanted)) {
        dag::tag::insert(tx, dag.id(), tag).await?;
    }
    Ok(())
}

async fn write_links(tx: &mut Tx, dag: &PreparedDag, stored: &[&OwnerLink]) -> Result<(), Error> {
    let wanted = &dag.parsed.dag.owner_links;
    for link in stored.iter().filter(|link| !wanted.iter().any(|(owner, _)| **owner == *link.owner)) {
        owner_attributes::delete(tx, dag.id(), &link.owner).await?;
    }
    for (owner, link) in wanted {
        let wanted =
            OwnerLink { dag_id: dag.id().to_owned(), owner: owner.to_string(), link: link.to_string() };
        match stored.iter().find(|stored| stored.owner == wanted.owner) {
            None => owner_attributes::insert(tx, &wanted).await?,
            Some(stored) if stored.link != wanted.link => owner_attributes::update(tx, &wanted).await?,
            Some(_) => {}
        }
    }
    Ok(())
}
