//! What a decision means for rows: actions that do the same become one write.

use ferroflow_db::Json;
use ferroflow_db::task_instance::mutation::MutableFields;
use ferroflow_db::task_instance::{TaskInstance, TaskInstanceKey};
use ferroflow_model::dag::StartTrigger;
use ferroflow_model::id::NOT_MAPPED;
use ferroflow_model::readiness::{Action, InstanceRef};
use ferroflow_model::state::TaskState;
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{ActiveRun, Known, RunSettings};
use crate::create_run::{DagVersionRef, Origin, fresh, numbered};

/// A change of rows, of which each must be in the state that it leaves.
#[derive(Clone, Debug)]
pub(super) enum Write {
    Settle { ids: Vec<Uuid>, change: (Option<TaskState>, TaskState), dates: (Timestamp, Timestamp) },
    Overwrite { ids: Vec<Uuid>, change: (Option<TaskState>, TaskState) },
    Forget { key: TaskInstanceKey, id: Uuid },
    BecomeFirst { id: Uuid, state: Option<TaskState> },
    Delete { id: Uuid, state: Option<TaskState> },
    Create { instances: Vec<TaskInstance> },
    Reshape { id: Uuid, shape: Box<MutableFields> },
    Schedule { ids: Vec<Uuid>, from: Option<TaskState>, is_new_try: bool },
    Succeed { ids: Vec<Uuid>, from: Option<TaskState> },
    Defer(Box<Deferral>),
}

/// An instance that begins with its trigger.
#[derive(Clone, Debug)]
pub(super) struct Deferral {
    pub(super) id: Uuid,
    pub(super) from: Option<TaskState>,
    pub(super) is_new_try: bool,
    pub(super) classpath: String,
    pub(super) kwargs: String,
    pub(super) timeout: Option<Timestamp>,
    pub(super) next_method: String,
    pub(super) next_kwargs: Json,
}

/// Adds what these actions mean for rows. The run moves on to it: what it knows of its rows is then as after the writes.
pub(super) fn add_writes(
    writes: &mut Vec<Write>,
    run: &mut ActiveRun,
    run_settings: &RunSettings,
    actions: &[Action],
    now: Timestamp,
) {
    for (id, state) in std::mem::take(&mut run.strays) {
        push(writes, Write::Overwrite { ids: vec![id], change: (state, TaskState::Removed) });
    }
    for action in actions {
        if let Some(write) = write(run, run_settings, action, now) {
            push(writes, write);
        }
    }
}

/// Adds a write, to the one before it if both do the same. No instance is named by two writes that are joined: of two
/// actions on one, the second leaves the state that the first goes to.
fn push(writes: &mut Vec<Write>, next: Write) {
    let next = match writes.last_mut() {
        Some(last) => last.join(next),
        None => Some(next),
    };
    writes.extend(next);
}

/// What several runs write, as the writes of one: the first of each together, then the second of each, and so on, since
/// within a run the order matters.
pub(super) fn joined(runs: impl Iterator<Item = Vec<Write>>) -> Vec<Write> {
    let mut runs: Vec<_> = runs.map(Vec::into_iter).collect();
    let mut joined: Vec<Write> = Vec::new();
    loop {
        let begin = joined.len();
        for write in runs.iter_mut().filter_map(Iterator::next) {
            let same = joined[begin..].iter_mut().try_fold(write, |write, known| known.join(write));
            joined.extend(same);
        }
        if joined.len() == begin {
            return joined;
        }
    }
}

impl Write {
    /// Does what another one does, too, if both do the same; else the other is given back.
    fn join(&mut self, next: Self) -> Option<Self> {
        match (self, next) {
            (
                Self::Settle { ids, change, dates },
                Self::Settle { ids: more, change: same, dates: same_dates },
            ) if *change == same && *dates == same_dates => ids.extend(more),
            (Self::Overwrite { ids, change }, Self::Overwrite { ids: more, change: same })
                if *change == same =>
            {
                ids.extend(more);
            }
            (
                Self::Schedule { ids, from, is_new_try },
                Self::Schedule { ids: more, from: same, is_new_try: same_try },
            ) if *from == same && *is_new_try == same_try => ids.extend(more),
            (Self::Succeed { ids, from }, Self::Succeed { ids: more, from: same }) if *from == same => {
                ids.extend(more);
            }
            (_, next) => return Some(next),
        }
        None
    }

    /// The instances whose states it changes, and which one they leave; nothing if it does more than that.
    pub(super) fn states_left(&self) -> Option<(&[Uuid], Option<TaskState>)> {
        match self {
            Self::Settle { ids, change: (from, _), .. } | Self::Overwrite { ids, change: (from, _) } => {
                Some((ids, *from))
            }
            Self::Schedule { ids, from, .. } | Self::Succeed { ids, from } => Some((ids, *from)),
            _ => None,
        }
    }
}

fn write(run: &mut ActiveRun, run_settings: &RunSettings, action: &Action, now: Timestamp) -> Option<Write> {
    match *action {
        Action::Settle { instance, from, to } => {
            let known = run.rows.get_mut(&instance)?;
            let dates = (known.start_date.unwrap_or(now), known.end_date.unwrap_or(now));
            (known.start_date, known.end_date) = (Some(dates.0), Some(dates.1));
            Some(Write::Settle { ids: vec![known.id], change: (from, to), dates })
        }
        Action::Overwrite { instance, from, to } => {
            let id = run.rows.get(&instance)?.id;
            Some(Write::Overwrite { ids: vec![id], change: (from, to) })
        }
        Action::Forget { instance } => {
            Some(Write::Forget { key: run.key(instance), id: run.rows.get(&instance)?.id })
        }
        Action::BecomeFirst { task, state } => {
            let known = run.rows.remove(&InstanceRef { task, map_index: NOT_MAPPED })?;
            run.rows.insert(InstanceRef { task, map_index: 0 }, known);
            Some(Write::BecomeFirst { id: known.id, state })
        }
        Action::Delete { task, state } => {
            let known = run.rows.remove(&InstanceRef { task, map_index: NOT_MAPPED })?;
            Some(Write::Delete { id: known.id, state })
        }
        Action::Create { task, first, end, state } => {
            Some(create(run, run_settings, InstanceRef { task, map_index: first }, end, state, now))
        }
        Action::Schedule { instance, from, is_new_try } => {
            let known = run.rows.get_mut(&instance)?;
            known.try_number += i32::from(is_new_try);
            Some(Write::Schedule { ids: vec![known.id], from, is_new_try })
        }
        Action::Succeed { instance, from } => {
            let known = run.rows.get_mut(&instance)?;
            known.try_number += 1;
            (known.start_date, known.end_date) = (Some(now), Some(now));
            Some(Write::Succeed { ids: vec![known.id], from })
        }
        Action::Defer { instance, from, is_new_try } => {
            let known = run.rows.get_mut(&instance)?;
            known.try_number += i32::from(is_new_try);
            known.start_date = Some(now);
            let id = known.id;
            let task = &run.definition.dag()[instance.task];
            let trigger = task.details().start_trigger.as_ref()?;
            let latest = [trigger.timeout, task.execution_timeout];
            let timeout = latest.into_iter().flatten().filter_map(|wait| now.checked_add(wait).ok()).min();
            Some(Write::Defer(Box::new(deferral(trigger, id, (from, is_new_try), timeout))))
        }
    }
}

fn create(
    run: &mut ActiveRun,
    run_settings: &RunSettings,
    first: InstanceRef,
    end: i32,
    state: Option<TaskState>,
    now: Timestamp,
) -> Write {
    // Those that come into being together are of one version.
    let sibling = run.rows.iter().find(|(reference, _)| reference.task == first.task);
    let version = sibling.and_then(|(_, known)| known.version).unwrap_or(run.definition.version.id);
    let carrier = run.row.context_carrier.clone().unwrap_or_else(|| json!({}));
    let origin = Origin {
        dag_id: &run.row.dag_id,
        run_id: &run.row.run_id,
        unixname: &run_settings.unixname,
        carrier: &carrier,
        version: DagVersionRef { id: version },
    };
    let weight = &run.definition.weights[first.task.position()];
    let mut template = fresh(&run.definition.dag()[first.task], weight, &origin, now);
    template.state = state;
    let instances: Vec<TaskInstance> =
        (first.map_index..end).map(|map_index| numbered(&template, map_index, now)).collect();
    for instance in &instances {
        let reference = InstanceRef { task: first.task, map_index: instance.key.map_index };
        let known = Known {
            id: instance.id,
            try_number: 0,
            start_date: None,
            end_date: None,
            version: Some(version),
        };
        run.rows.insert(reference, known);
    }
    Write::Create { instances }
}

fn deferral(
    trigger: &StartTrigger,
    id: Uuid,
    (from, is_new_try): (Option<TaskState>, bool),
    timeout: Option<Timestamp>,
) -> Deferral {
    let or_empty = |json: Option<&Json>| json.cloned().unwrap_or_else(|| Json::from(json!({})));
    Deferral {
        id,
        from,
        is_new_try,
        classpath: trigger.trigger_class.to_string(),
        kwargs: or_empty(trigger.trigger_kwargs.as_ref()).into_text(),
        timeout,
        next_method: trigger.next_method.to_string(),
        next_kwargs: next_kwargs(&or_empty(trigger.next_kwargs.as_ref())),
    }
}

/// Arguments are stored with plain keys where the document has its envelope around all of them.
fn next_kwargs(document: &Json) -> Json {
    match document.value() {
        Ok(value @ Value::Object(_)) => Json::from(ferroflow_model::extended_json::decode(&value)),
        _ => document.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(numbers: &[u128], from: Option<TaskState>) -> Write {
        let ids = numbers.iter().map(|number| Uuid::from_u128(*number)).collect();
        Write::Schedule { ids, from, is_new_try: true }
    }

    fn succeed(numbers: &[u128]) -> Write {
        Write::Succeed { ids: numbers.iter().map(|number| Uuid::from_u128(*number)).collect(), from: None }
    }

    #[test]
    fn what_several_runs_write_is_joined_and_stays_in_its_order() {
        let retry = Some(TaskState::UpForRetry);
        let runs = [
            vec![succeed(&[1]), schedule(&[2, 3], None)],
            vec![schedule(&[11], None), schedule(&[12], retry)],
            vec![],
            vec![succeed(&[21]), schedule(&[22], None)],
        ];
        let expected =
            [succeed(&[1, 21]), schedule(&[11], None), schedule(&[2, 3, 22], None), schedule(&[12], retry)];
        assert_eq!(format!("{:?}", joined(runs.into_iter())), format!("{expected:?}"));
    }
}
