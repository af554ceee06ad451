//! What may be due is gathered, without a lock, and put into the order of turns.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use ferroflow_db::asset::triggered_runs::{self, QueuedAsset};
use ferroflow_db::dag::scheduling::{DagFacts as DagRow, LastDue};
use ferroflow_db::{Error as DbError, ScopedFutureExt as _, Tx, dag};
use ferroflow_model::asset::AssetCondition;
use ferroflow_model::runs::assets::QueueVerdict;
use ferroflow_model::runs::create::{self, Verdict};
use ferroflow_operations::dag_run::create::{PlannedDeadlines, plan_deadlines};
use jiff::Timestamp;
use uuid::Uuid;

use super::ask::{Asked, ask, describe, is_undescribed};
use super::assets::{self, Assets};
use super::facts::{Seen, Surroundings};
use super::report::{CreatedRuns, NotCreated};
use super::{DAGS_PER_PASS, DueRound};
use crate::run::Definition;
use crate::{Context, Error};

/// The DAGs that get a run, in the order of their turns, and those whose schedule only moves on.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) candidates: Vec<Candidate>,
    pub(super) assets: Assets,
    /// The last that was looked at, if there may be more.
    pub(super) last: Option<LastDue>,
}

/// A DAG that gets a run if nothing has changed when it is locked.
pub(super) struct Candidate {
    pub(super) dag_id: String,
    pub(super) definition: Arc<Definition>,
    /// Whether assets ask for its run.
    pub(super) is_triggered: bool,
    /// What Python says of its next run.
    pub(super) asked: Option<Asked>,
    pub(super) deadlines: PlannedDeadlines,
}

/// Finds who is due. What is refused here is in the report.
pub(super) async fn gather(
    cx: &Context,
    got_partition_run: &BTreeSet<String>,
    round: &DueRound,
    now: Timestamp,
    report: &mut CreatedRuns,
) -> Result<Gathered, Error> {
    let mut snapshot = Snapshot::read(cx, round, now).await?;
    if describe(cx, &snapshot.undescribed, report).await {
        snapshot = Snapshot::read(cx, round, now).await?;
    }
    let Snapshot { mut dags, around, assets, stale_queues, unreadable, last, .. } = snapshot;
    unqueue_stale(cx, &stale_queues, report).await?;
    dags.retain(|dag| !round.dags.has_to_wait(dag.dag_id(), now));
    for (dag_id, reason) in unreadable {
        report.refuse(&dag_id, reason);
    }
    for dag in &mut dags {
        dag.got_partition_run = got_partition_run.contains(dag.dag_id());
    }
    let facts: Vec<_> = dags.iter().map(|dag| dag.facts(&around)).collect();
    let flags: HashMap<&str, bool> =
        dags.iter().map(|dag| (dag.dag_id(), dag.row.exceeds_max_non_backfill)).collect();
    let triggered: HashSet<&str> =
        dags.iter().filter(|dag| dag.triggered_at.is_some()).map(Seen::dag_id).collect();
    let mut turns: Vec<(String, bool)> = Vec::new();
    for decision in create::decide(&facts, now, usize::MAX) {
        // A DAG that waits for Python takes no other's place.
        let is_wanted = matches!(decision.verdict, Verdict::Create(_) | Verdict::AdvanceOnly);
        let silence = is_wanted.then(|| silence(cx, decision.dag_id, &triggered)).flatten();
        if let Some(reason) = silence {
            report.refuse(decision.dag_id, reason);
            continue;
        }
        match decision.verdict {
            Verdict::Create(_) => turns.push((decision.dag_id.to_owned(), false)),
            Verdict::AdvanceOnly => turns.push((decision.dag_id.to_owned(), true)),
            Verdict::Postponed => report.is_more_due = true,
            // Under the lock it is refused again, and its flag corrected.
            Verdict::Refused(create::NotCreated::AtMaxActiveRuns { .. })
                if flags.get(decision.dag_id) != Some(&decision.exceeds_max_non_backfill) =>
            {
                turns.push((decision.dag_id.to_owned(), false));
            }
            Verdict::Refused(reason) => report.refuse(decision.dag_id, reason),
        }
    }
    let mut by_id: HashMap<String, Seen> =
        dags.into_iter().map(|dag| (dag.dag_id().to_owned(), dag)).collect();
    let in_turn: Vec<(Seen, bool)> =
        turns.into_iter().filter_map(|(id, advances)| Some((by_id.remove(&id)?, advances))).collect();
    let candidates = prepare(cx, in_turn, &around).await?;
    Ok(Gathered { candidates, assets, last })
}

/// Why Python will say nothing about a DAG for a moment. Of a run that assets ask for, its timetable has nothing to say.
fn silence(cx: &Context, dag_id: &str, triggered: &HashSet<&str>) -> Option<NotCreated> {
    let questions = &cx.run_settings.questions;
    if let Some(no_answer) = questions.silence_about_run(&(dag_id.to_owned(), None)) {
        return Some(NotCreated::unanswered(no_answer, NotCreated::InstanceRules));
    }
    let no_answer = questions.silence_of_timetable(dag_id).filter(|_| !triggered.contains(dag_id))?;
    Some(NotCreated::unanswered(no_answer, NotCreated::Timetable))
}

/// What was read.
struct Snapshot {
    dags: Vec<Seen>,
    around: Surroundings,
    assets: Assets,
    /// What waits for DAGs that wait for no assets any more.
    stale_queues: Vec<(i64, String)>,
    unreadable: Vec<(String, NotCreated)>,
    /// DAGs for which assets wait, and of which only Python knows for which they wait.
    undescribed: Vec<Arc<Definition>>,
    last: Option<LastDue>,
}

impl Snapshot {
    async fn read(cx: &Context, round: &DueRound, now: Timestamp) -> Result<Self, Error> {
        let read =
            cx.db.read(|tx| async move { Error::split(Self::load(tx, cx, round, now).await) }.scope_boxed());
        read.await?
    }

    async fn load(tx: &mut Tx, cx: &Context, round: &DueRound, now: Timestamp) -> Result<Self, Error> {
        let queued = triggered_runs::queued(tx).await?;
        let (due, last) = dag::scheduling::due(tx, now, round.last.as_ref(), DAGS_PER_PASS).await?;
        let known: HashSet<&str> = due.dags.iter().map(|dag| dag.dag_id.as_str()).collect();
        let others: BTreeSet<&str> =
            queued.iter().map(|row| row.dag_id.as_str()).filter(|id| !known.contains(id)).collect();
        let others = dag::scheduling::find(tx, &others.into_iter().collect::<Vec<_>>()).await?;
        let unreadable = due.unreadable.into_iter().chain(others.unreadable);
        let mut unreadable: Vec<(String, NotCreated)> =
            unreadable.map(|(id, error)| (id, NotCreated::BadRow(error.to_string()))).collect();
        let rows: Vec<DagRow> = due.dags.into_iter().chain(others.dags).collect();
        let definitions = definitions(tx, cx, &rows, now, &mut unreadable).await?;
        let waiting: BTreeSet<&str> = queued.iter().map(|row| row.dag_id.as_str()).collect();
        let waiting: Vec<&Arc<Definition>> = waiting.iter().filter_map(|id| definitions.get(*id)).collect();
        let undescribed: Vec<Arc<Definition>> = waiting
            .iter()
            .filter(|definition| is_undescribed(definition))
            .map(|one| Arc::clone(one))
            .collect();
        let strange = waiting.iter().filter(|definition| is_never_triggered(definition));
        unreadable.extend(strange.map(|one| (one.dag().dag_id.to_string(), NotCreated::NotTriggered)));
        let (assets, stale_queues, triggered) = queues(tx, &queued, &definitions).await?;
        let mut dags: Vec<Seen> = Vec::with_capacity(rows.len());
        for row in rows {
            let Some(definition) = definitions.get(&row.dag_id) else { continue };
            let mut dag = Seen::new(row, definition, now);
            dag.triggered_at = triggered.get(dag.dag_id()).copied();
            let is_due = dag.row.next_dagrun_create_after.is_some_and(|at| at <= now);
            if is_due || dag.triggered_at.is_some() {
                dags.push(dag);
            }
        }
        let mut around = Surroundings::load(tx, &dags).await?;
        around.load_turns(tx, &dags, now).await?;
        Ok(Self { dags, around, assets, stale_queues, unreadable, undescribed, last })
    }
}

type Definitions = HashMap<String, Arc<Definition>>;

async fn definitions(
    tx: &mut Tx,
    cx: &Context,
    rows: &[DagRow],
    now: Timestamp,
    unreadable: &mut Vec<(String, NotCreated)>,
) -> Result<Definitions, Error> {
    let ids: Vec<&str> = rows.iter().map(|row| row.dag_id.as_str()).collect();
    let mut definitions = Definitions::new();
    for (dag_id, read) in cx.definitions.newest_of(tx, &ids, now).await? {
        match read {
            Ok(definition) => _ = definitions.insert(dag_id, definition),
            Err(error) => unreadable.push((dag_id, NotCreated::NoDefinition(error.to_string()))),
        }
    }
    Ok(definitions)
}

/// What aliases stand for; what waits in vain; and the DAGs whose condition on assets is met, with the time.
type Queues = (Assets, Vec<(i64, String)>, HashMap<String, Timestamp>);

async fn queues(tx: &mut Tx, queued: &[QueuedAsset], definitions: &Definitions) -> Result<Queues, DbError> {
    let waiting: BTreeSet<&str> = queued.iter().map(|row| row.dag_id.as_str()).collect();
    let conditions: Vec<&AssetCondition> =
        waiting.iter().filter_map(|id| condition_of(definitions.get(*id)?)).collect();
    let assets = Assets::load(tx, conditions.into_iter()).await?;
    let mut stale = Vec::new();
    let mut triggered = HashMap::new();
    for (dag_id, verdict) in assets::judge(queued, |id| condition_of(definitions.get(id)?), &assets) {
        match verdict {
            QueueVerdict::Ready(at) => _ = triggered.insert(dag_id.to_owned(), at),
            QueueVerdict::Stale => stale.extend(
                queued
                    .iter()
                    .filter(|row| row.dag_id == dag_id && !row.has_expression)
                    .map(|row| (row.asset_id, row.dag_id.clone())),
            ),
            QueueVerdict::Waiting(_) | QueueVerdict::NoCondition => {}
        }
    }
    Ok((assets, stale, triggered))
}

/// The condition on assets of a DAG that gets runs for assets as such. One that waits for partitions gets them for those.
pub(super) fn condition_of(definition: &Arc<Definition>) -> Option<&AssetCondition> {
    definition.assets().filter(|_| !definition.is_partitioned() && !is_never_triggered(definition))
}

/// Whether a custom timetable waits for assets, but is not of the kind that official schedulers make runs
/// for.
fn is_never_triggered(definition: &Definition) -> bool {
    let described = definition.described.get();
    described.is_some_and(|one| one.assets.is_some() && !one.partitioned && !one.asset_triggered)
}

async fn unqueue_stale(cx: &Context, stale: &[(i64, String)], report: &mut CreatedRuns) -> Result<(), Error> {
    if stale.is_empty() {
        return Ok(());
    }
    let rows: &Vec<(i64, &str)> = &stale.iter().map(|(asset, dag_id)| (*asset, dag_id.as_str())).collect();
    let refused = cx.db.transact_in_parts(|tx| {
        async move {
            let mut refused = Vec::new();
            for rows in rows.chunks(tx.rows_in_a_part(rows.len())) {
                tx.begin_part().await?;
                let unqueued = triggered_runs::unqueue(tx, rows).await;
                if let Err(error) = tx.end_part(unqueued).await? {
                    refused.extend(rows.iter().map(|(_, dag_id)| (*dag_id, NotCreated::not_taken(&error))));
                }
            }
            Ok(refused)
        }
        .scope_boxed()
    });
    for (dag_id, reason) in refused.await? {
        report.refuse(dag_id, reason);
    }
    Ok(())
}

/// Asks for what may not be asked for in a transaction.
async fn prepare(
    cx: &Context,
    in_turn: Vec<(Seen, bool)>,
    around: &Surroundings,
) -> Result<Vec<Candidate>, Error> {
    let definitions: Vec<&Arc<Definition>> = in_turn.iter().map(|(dag, _)| &dag.definition).collect();
    let mut deadlines = plan_deadlines(&cx.service.db, &with_deadlines(&definitions)).await?;
    let mut candidates = Vec::with_capacity(in_turn.len());
    for (dag, advances) in in_turn {
        let about = if advances { dag.existing(around) } else { dag.next.info() };
        candidates.push(Candidate {
            asked: ask(cx, &dag.definition, about, advances).await,
            deadlines: deadlines.remove(&dag.definition.version.id).unwrap_or_default(),
            is_triggered: dag.triggered_at.is_some(),
            dag_id: dag.row.dag_id,
            definition: dag.definition,
        });
    }
    Ok(candidates)
}

/// The versions of DAGs that have deadlines.
pub(super) fn with_deadlines(definitions: &[&Arc<Definition>]) -> Vec<Uuid> {
    let with_deadlines = definitions.iter().filter(|definition| !definition.dag().deadlines.is_empty());
    with_deadlines.map(|definition| definition.version.id).collect()
}
