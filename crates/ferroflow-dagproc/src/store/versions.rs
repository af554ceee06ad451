//! The versions of a DAG: its serialized form, its source text and its deadlines.

use ferroflow_db::dag_version::serialized_dag::{self, NewSerializedDag};
use ferroflow_db::dag_version::{self, NewDagVersion, StoredVersion, dag_code};
use ferroflow_db::{Error, Tx, deadline};
use ferroflow_model::stored_dag::{
    LatestVersion, NewContent, Reused, StoredForm, VersionChange, changed_paths, decide, reuse,
    stored_deadline_ids,
};
use ferroflow_telemetry::clock::signed;
use uuid::Uuid;

use super::StoredDag;
use super::prepare::PreparedDag;
use super::write::Job;

/// So many changes are named in the log.
const MAX_CHANGES: usize = 10;

/// The ids of a DAG's deadlines in the order of its document, and whether they have rows already.
struct Deadlines {
    ids: Vec<Uuid>,
    reused: Option<Reused>,
}

/// Writes what changed.
pub(super) async fn write(
    tx: &mut Tx,
    job: &Job<'_>,
    dag: &PreparedDag,
    latest: Option<&StoredVersion>,
    is_new: bool,
) -> Result<StoredDag, Error> {
    let deadlines = gather_deadlines(tx, job, dag, latest).await?;
    let form = dag.parsed.stored_form(&deadlines.ids);
    let change = decide_change(job, dag, latest, &form);
    let mut stored =
        StoredDag { dag_id: dag.id().to_owned(), is_new, change, has_new_source: false, changed: Vec::new() };
    if change != VersionChange::Throttled {
        rename(tx, &deadlines).await?;
    }
    match (change, latest) {
        (VersionChange::NewVersion, Some(latest)) => {
            stored.changed = changes(tx, latest.id, &form).await?;
            insert_version(tx, job, dag, deadlines, form).await?;
        }
        (_, None) => insert_version(tx, job, dag, deadlines, form).await?,
        (VersionChange::RewriteInPlace, Some(latest)) => {
            rewrite(tx, job, dag, latest, &deadlines, form).await?;
            dag_version::set_bundle(tx, latest.id, &new_version(job, dag), job.now).await?;
            stored.has_new_source = update_source(tx, job, dag, latest).await?;
        }
        (VersionChange::BundleMoved, Some(latest)) => {
            dag_version::set_bundle(tx, latest.id, &new_version(job, dag), job.now).await?;
            stored.has_new_source = update_source(tx, job, dag, latest).await?;
        }
        (_, Some(latest)) => stored.has_new_source = update_source(tx, job, dag, latest).await?,
    }
    Ok(stored)
}

fn decide_change(
    job: &Job<'_>,
    dag: &PreparedDag,
    latest: Option<&StoredVersion>,
    form: &StoredForm,
) -> VersionChange {
    let version_data = job.file.version_data.as_ref().and_then(|data| data.value().ok());
    let stored_data = latest.and_then(|latest| latest.version_data.as_ref()?.value().ok());
    let latest = latest.map(|latest| LatestVersion {
        dag_hash: latest.dag_hash.as_deref(),
        written_at: latest.written_at,
        source_hash: latest.source_code_hash.as_deref(),
        bundle_name: latest.bundle_name.as_deref(),
        bundle_version: latest.bundle_version.as_deref(),
        version_data: stored_data.as_ref(),
        has_task_instances: latest.has_task_instances,
    });
    let new = NewContent {
        dag_hash: &form.hash,
        source_hash: &dag.source_hash,
        bundle_name: &job.file.bundle_name,
        bundle_version: job.file.bundle_version.as_deref(),
        version_data: version_data.as_ref(),
    };
    let interval = signed(job.settings.min_serialized_dag_update_interval);
    decide(latest.as_ref(), &new, interval, job.now)
}

/// Deadlines that mean what they meant keep their ids, or the DAG would be another at every parse.
async fn gather_deadlines(
    tx: &mut Tx,
    job: &Job<'_>,
    dag: &PreparedDag,
    latest: Option<&StoredVersion>,
) -> Result<Deadlines, Error> {
    let new = &dag.parsed.deadlines;
    if let (false, Some(latest)) = (new.is_empty(), latest)
        && let Some(document) = serialized_dag::find(tx, latest.id).await?
        && let Some(ids) = stored_deadline_ids(&document.data)
    {
        let rows = deadline::alert::find(tx, &ids).await?;
        if let Some(reused) = reuse(&ids, &rows, new) {
            return Ok(Deadlines { ids, reused: Some(reused) });
        }
    }
    Ok(Deadlines { ids: fresh_ids(job, dag), reused: None })
}

fn fresh_ids(job: &Job<'_>, dag: &PreparedDag) -> Vec<Uuid> {
    dag.parsed.deadlines.iter().map(|_| deadline::alert::new_id(job.now)).collect()
}

async fn rename(tx: &mut Tx, deadlines: &Deadlines) -> Result<(), Error> {
    for (id, name) in deadlines.reused.iter().flat_map(|reused| &reused.renamed) {
        deadline::alert::rename(tx, *id, name.as_deref()).await?;
    }
    Ok(())
}

/// A new version has rows of its own for its deadlines, also if they mean what they meant.
async fn insert_version(
    tx: &mut Tx,
    job: &Job<'_>,
    dag: &PreparedDag,
    deadlines: Deadlines,
    form: StoredForm,
) -> Result<(), Error> {
    let (ids, form) = match deadlines.reused {
        Some(_) => {
            let ids = fresh_ids(job, dag);
            let form = dag.parsed.stored_form(&ids);
            (ids, form)
        }
        None => (deadlines.ids, form),
    };
    let version = dag_version::insert(tx, &new_version(job, dag), job.now).await?;
    insert_document(tx, job, dag, version, &ids, form).await?;
    let fileloc = dag.parsed.dag.fileloc.as_deref().unwrap_or_default();
    dag_code::insert(tx, dag.id(), version, fileloc, &dag.source, job.now).await
}

async fn insert_document(
    tx: &mut Tx,
    job: &Job<'_>,
    dag: &PreparedDag,
    version: Uuid,
    deadline_ids: &[Uuid],
    form: StoredForm,
) -> Result<(), Error> {
    let compress = job.settings.compress_serialized_dags;
    let id = serialized_dag::insert(tx, &new_document(dag, version, form), compress, job.now).await?;
    insert_deadlines(tx, job, dag, id, deadline_ids).await
}

async fn insert_deadlines(
    tx: &mut Tx,
    job: &Job<'_>,
    dag: &PreparedDag,
    serialized_dag_id: Uuid,
    ids: &[Uuid],
) -> Result<(), Error> {
    for (id, deadline) in ids.iter().zip(&dag.parsed.deadlines) {
        deadline::alert::insert(tx, *id, serialized_dag_id, deadline, job.now).await?;
    }
    Ok(())
}

/// Deadlines that went with all others stay as rows, as Airflow leaves them: no document names them.
async fn rewrite(
    tx: &mut Tx,
    job: &Job<'_>,
    dag: &PreparedDag,
    latest: &StoredVersion,
    deadlines: &Deadlines,
    form: StoredForm,
) -> Result<(), Error> {
    let Some(serialized_dag_id) = latest.serialized_dag_id else {
        return insert_document(tx, job, dag, latest.id, &deadlines.ids, form).await;
    };
    let compress = job.settings.compress_serialized_dags;
    serialized_dag::rewrite(tx, &new_document(dag, latest.id, form), compress, job.now).await?;
    if deadlines.reused.is_none() && !deadlines.ids.is_empty() {
        deadline::alert::delete_of(tx, serialized_dag_id).await?;
        insert_deadlines(tx, job, dag, serialized_dag_id, &deadlines.ids).await?;
    }
    Ok(())
}

/// Replaces the source text of the latest version if it is another: a comment was edited, say.
async fn update_source(
    tx: &mut Tx,
    job: &Job<'_>,
    dag: &PreparedDag,
    latest: &StoredVersion,
) -> Result<bool, Error> {
    let Some(dag_code_id) = latest.dag_code_id else {
        let fileloc = dag.parsed.dag.fileloc.as_deref().unwrap_or_default();
        dag_code::insert(tx, dag.id(), latest.id, fileloc, &dag.source, job.now).await?;
        return Ok(true);
    };
    let is_other = latest.source_code_hash.as_deref() != Some(&dag.source_hash);
    if is_other {
        dag_code::update(tx, dag_code_id, &dag.source, job.now).await?;
    }
    Ok(is_other)
}

async fn changes(tx: &mut Tx, version: Uuid, form: &StoredForm) -> Result<Vec<String>, Error> {
    let old = serialized_dag::find(tx, version).await?;
    Ok(old.map(|old| changed_paths(&old.data, &form.data, MAX_CHANGES)).unwrap_or_default())
}

fn new_version(job: &Job<'_>, dag: &PreparedDag) -> NewDagVersion {
    NewDagVersion {
        dag_id: dag.id().to_owned(),
        bundle_name: Some(job.file.bundle_name.clone()),
        bundle_version: job.file.bundle_version.clone(),
        version_data: job.file.version_data.clone(),
    }
}

fn new_document(dag: &PreparedDag, version: Uuid, form: StoredForm) -> NewSerializedDag {
    NewSerializedDag {
        dag_id: dag.id().to_owned(),
        dag_version_id: version,
        dag_hash: form.hash,
        data: form.data,
    }
}
