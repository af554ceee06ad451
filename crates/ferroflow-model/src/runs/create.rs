//! Which DAGs get a run now.

use jiff::Timestamp;

use super::turns::{Waiting, take_turns};
use crate::state::{RunType, TriggeredBy};
use crate::timetable::{DataInterval, NoRun, Timetable, asset_run_id};

/// What is known of a DAG that may be due: its row, and what other tables say of its runs.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a column of its own, or a question to a table")]
pub struct DagFacts<'a> {
    /// Its name.
    pub dag_id: &'a str,
    /// Whether it is paused.
    pub is_paused: bool,
    /// Whether its file is gone.
    pub is_stale: bool,
    /// Whether its file can no longer be read.
    pub has_import_errors: bool,
    /// How many of its runs may be active at once; none is as 0.
    pub max_active_runs: Option<i32>,
    /// How many runs are queued or running, those of backfills not counted.
    pub active_runs: u32,
    /// How many runs of backfills are queued or running.
    pub active_backfill_runs: u32,
    /// When the next run of its schedule is due.
    pub next_dagrun_create_after: Option<Timestamp>,
    /// The logical date of that run,
    pub next_dagrun: Option<Timestamp>,
    /// its data interval,
    pub next_dagrun_data_interval: Option<DataInterval>,
    /// and its partition.
    pub next_dagrun_partition_key: Option<&'a str>,
    /// The date of the partition.
    pub next_dagrun_partition_date: Option<Timestamp>,
    /// Whether a run with that logical date exists already, of whatever type.
    pub next_dagrun_exists: bool,
    /// Whether its schedule is one of partitions.
    pub timetable_partitioned: bool,
    /// Which kinds of run it may have; `None` is any.
    pub allowed_run_types: Option<&'a [RunType]>,
    /// If its condition on assets is met: when the newest of the queued assets was queued.
    pub assets_triggered_at: Option<Timestamp>,
    /// Whether it got a run for a partition of assets in this pass.
    pub got_partition_run: bool,
    /// When its schedule last gave it a run, and
    pub last_scheduled_at: Option<Timestamp>,
    /// when assets last did. Without these two, who caught up on years of runs would always be the first.
    pub last_asset_triggered_at: Option<Timestamp>,
}

/// What happens to a DAG in this pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision<'a> {
    /// Which DAG.
    pub dag_id: &'a str,
    /// What happens.
    pub verdict: Verdict<'a>,
    /// What its row should say after that. Official schedulers go by it, and do not always keep it true.
    pub exceeds_max_non_backfill: bool,
}

/// What happens to a DAG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// It gets this run.
    Create(NewRun<'a>),
    /// The run exists already: only the schedule moves on, to what follows that run. This takes no place. The
    /// DAG may well be due again at once.
    AdvanceOnly,
    /// It gets none.
    Refused(NotCreated),
    /// It would get one, but this pass has created enough, or one for this DAG.
    Postponed,
}

/// A run to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRun<'a> {
    /// Why it exists.
    pub run_type: RunType,
    /// Who asked for it.
    pub triggered_by: TriggeredBy,
    /// When it may start.
    pub run_after: Timestamp,
    /// The logical date; only a schedule gives one.
    pub logical_date: Option<Timestamp>,
    /// What it works on.
    pub data_interval: Option<DataInterval>,
    /// Its partition.
    pub partition_key: Option<&'a str>,
    /// The date of the partition.
    pub partition_date: Option<Timestamp>,
}

impl NewRun<'_> {
    /// Its id. A timetable names the runs of the schedule; the others are named by their time and by chance.
    pub fn run_id(&self, timetable: &Timetable, random: [u8; 8]) -> Result<String, NoRun> {
        match self.run_type {
            RunType::AssetTriggered => Ok(asset_run_id(self.run_after, random)),
            other => timetable.run_id(other, self.run_after, self.partition_key, random),
        }
    }
}

/// Why a DAG gets no run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCreated {
    /// It is paused.
    #[error("the DAG is paused")]
    Paused,
    /// Its file is gone.
    #[error("the DAG is stale: its file is gone")]
    Stale,
    /// Its file cannot be read.
    #[error("the file of the DAG has import errors")]
    ImportErrors,
    /// It has as many runs as it may have.
    #[error("{active} runs are active, and max_active_runs is {limit}")]
    AtMaxActiveRuns {
        /// How many are active. For a run that assets ask for, those of backfills count too.
        active: u32,
        /// How many may be.
        limit: u32,
    },
    /// Its author forbids runs of this type.
    #[error("the DAG does not allow runs of type {0}")]
    RunTypeNotAllowed(RunType),
    /// Neither a schedule nor assets ask for one.
    #[error("nothing asks for a run")]
    NoNextRun,
    /// Its next run is due later.
    #[error("the next run is due at {0}")]
    NotDueUntil(Timestamp),
    /// Its row lacks a part of what the next run is made of.
    #[error("the row of the DAG has no {0} for its next run; parse the DAG again")]
    Incomplete(&'static str),
}

/// Answers every DAG: first those that get a run, in the order of their turns, then those whose turn comes in
/// a later pass, then the others by name. At most `limit` get one, and none gets two.
pub fn decide<'a>(dags: &[DagFacts<'a>], now: Timestamp, limit: usize) -> Vec<Decision<'a>> {
    let (mut schedules, mut assets, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for dag in by_name(dags) {
        match wish(dag, now) {
            Ok(_) if dag.got_partition_run => others.push((dag, Verdict::Postponed)),
            Ok(Wish { since, action: Verdict::Create(run) }) => {
                let lane = if run.run_type == RunType::AssetTriggered { &mut assets } else { &mut schedules };
                lane.push(Waiting { since, what: (dag, run) });
            }
            Ok(Wish { action, .. }) => others.push((dag, action)),
            Err(reason) => others.push((dag, Verdict::Refused(reason))),
        }
    }
    for lane in [&mut schedules, &mut assets] {
        lane.sort_by_key(|waiting| waiting.since);
    }
    let in_turn = take_turns([schedules, assets]).into_iter().enumerate().map(|(place, waiting)| {
        let (dag, run) = waiting.what;
        (dag, if place < limit { Verdict::Create(run) } else { Verdict::Postponed })
    });
    in_turn.chain(others).map(|(dag, verdict)| decision(dag, verdict)).collect()
}

/// Whether the flag of that name is to be set: a DAG with so many active runs, those of backfills not
/// counted, gets no more from its schedule.
pub fn exceeds_max_non_backfill(active: u32, max_active_runs: Option<i32>) -> bool {
    active >= limit_of(max_active_runs)
}

struct Wish<'a> {
    since: Timestamp,
    action: Verdict<'a>,
}

/// The rows in an order that the caller cannot have influenced.
fn by_name<'r, 'a>(dags: &'r [DagFacts<'a>]) -> Vec<&'r DagFacts<'a>> {
    let mut sorted: Vec<&DagFacts<'a>> = dags.iter().collect();
    sorted.sort_by_key(|dag| dag.dag_id);
    sorted
}

/// What a DAG would get if there were no other.
fn wish<'a>(dag: &DagFacts<'a>, now: Timestamp) -> Result<Wish<'a>, NotCreated> {
    if dag.is_paused {
        return Err(NotCreated::Paused);
    }
    if dag.is_stale {
        return Err(NotCreated::Stale);
    }
    if dag.has_import_errors {
        return Err(NotCreated::ImportErrors);
    }
    let Some(triggered_at) = dag.assets_triggered_at else { return schedule_wish(dag, now) };
    match (asset_wish(dag, triggered_at), schedule_wish(dag, now)) {
        // The one that waits longer, else one of the two could keep the other out for ever.
        (Ok(assets), Ok(schedule)) => Ok(if schedule.since < assets.since { schedule } else { assets }),
        (Err(_), Ok(schedule)) => Ok(schedule),
        (assets, Err(_)) => assets,
    }
}

fn schedule_wish<'a>(dag: &DagFacts<'a>, now: Timestamp) -> Result<Wish<'a>, NotCreated> {
    let run_after = dag.next_dagrun_create_after.ok_or(NotCreated::NoNextRun)?;
    if run_after > now {
        return Err(NotCreated::NotDueUntil(run_after));
    }
    if dag.timetable_partitioned && dag.next_dagrun_partition_key.is_none() {
        return Err(NotCreated::Incomplete("partition key"));
    }
    if !dag.timetable_partitioned && dag.next_dagrun.is_none() {
        return Err(NotCreated::Incomplete("logical date"));
    }
    below_limit(dag.active_runs, dag.max_active_runs)?;
    let since = dag.last_scheduled_at.map_or(run_after, |last| last.max(run_after));
    if dag.next_dagrun.is_some() && dag.next_dagrun_exists {
        return Ok(Wish { since, action: Verdict::AdvanceOnly });
    }
    if dag.allowed_run_types.is_some_and(|allowed| !allowed.contains(&RunType::Scheduled)) {
        return Err(NotCreated::RunTypeNotAllowed(RunType::Scheduled));
    }
    if dag.next_dagrun.is_some() && dag.next_dagrun_data_interval.is_none() {
        return Err(NotCreated::Incomplete("data interval"));
    }
    let data_interval = dag.next_dagrun.and(dag.next_dagrun_data_interval);
    let run = NewRun {
        run_type: RunType::Scheduled,
        triggered_by: TriggeredBy::Timetable,
        run_after,
        logical_date: data_interval.map(|interval| interval.start),
        data_interval,
        partition_key: dag.next_dagrun_partition_key,
        partition_date: dag.next_dagrun_partition_date,
    };
    Ok(Wish { since, action: Verdict::Create(run) })
}

fn asset_wish<'a>(dag: &DagFacts<'a>, triggered_at: Timestamp) -> Result<Wish<'a>, NotCreated> {
    below_limit(dag.active_runs.saturating_add(dag.active_backfill_runs), dag.max_active_runs)?;
    let run = NewRun {
        run_type: RunType::AssetTriggered,
        triggered_by: TriggeredBy::Asset,
        run_after: triggered_at,
        logical_date: None,
        data_interval: None,
        partition_key: None,
        partition_date: None,
    };
    let since = dag.last_asset_triggered_at.map_or(triggered_at, |last| last.max(triggered_at));
    Ok(Wish { since, action: Verdict::Create(run) })
}

fn below_limit(active: u32, max_active_runs: Option<i32>) -> Result<(), NotCreated> {
    let limit = limit_of(max_active_runs);
    if active < limit { Ok(()) } else { Err(NotCreated::AtMaxActiveRuns { active, limit }) }
}

fn limit_of(max_active_runs: Option<i32>) -> u32 {
    max_active_runs.and_then(|limit| u32::try_from(limit).ok()).unwrap_or(0)
}

fn decision<'a>(dag: &DagFacts<'a>, verdict: Verdict<'a>) -> Decision<'a> {
    let created = u32::from(matches!(verdict, Verdict::Create(_)));
    let active = dag.active_runs.saturating_add(created);
    let exceeds_max_non_backfill = exceeds_max_non_backfill(active, dag.max_active_runs);
    Decision { dag_id: dag.dag_id, verdict, exceeds_max_non_backfill }
}
