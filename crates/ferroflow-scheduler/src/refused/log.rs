//! Why rows and DAGs are set aside is logged once for each reason, though they are tried again and again.

use std::collections::{HashMap, HashSet};

use ferroflow_db::task_instance::TaskInstanceKey;
use ferroflow_python::ASKED_AGAIN;
use ferroflow_telemetry::metrics::scheduling;
use jiff::{SignedDuration, Timestamp};

use crate::refused::SetAside;

/// A reason without the time at which user code is asked again, which makes no other of it.
pub(crate) fn cause(reason: &str) -> &str {
    reason.split_once(ASKED_AGAIN).map_or(reason, |(cause, _)| cause)
}

/// What was refused no more for so long is forgotten: it may be gone, or another scheduler's.
const FORGOTTEN_AFTER: SignedDuration = SignedDuration::from_mins(10);

/// What was logged.
#[derive(Debug, Default)]
pub(crate) struct SetAsideLog {
    /// Why the tasks of a DAG are not queued.
    dags: HashMap<String, String>,
    /// What a chore could not deal with the last time, and why.
    refused: HashMap<&'static str, HashSet<(TaskInstanceKey, String)>>,
    /// The same of other rows.
    left: HashMap<&'static str, HashSet<SetAside>>,
    /// What a step of the cycle could not write, by the row: why, and when it last tried.
    put_off: HashMap<(&'static str, String), (String, Timestamp)>,
}

impl SetAsideLog {
    /// DAGs whose tasks cannot be queued. Answers how many were not known.
    pub(crate) fn dags(&mut self, found: &[(String, String)]) -> usize {
        let mut new = 0;
        for (dag_id, reason) in found {
            scheduling::set_aside(dag_id, "definition");
            if self.dags.get(dag_id) != Some(reason) {
                tracing::warn!(dag_id, reason, "tasks of the DAG are not queued until this is fixed");
                self.dags.insert(dag_id.clone(), reason.clone());
                new += 1;
            }
        }
        new
    }

    /// Task instances that a chore could not deal with. Answers how many were not known.
    pub(crate) fn instances(&mut self, chore: &'static str, found: &[(TaskInstanceKey, String)]) -> usize {
        let told = self.refused.remove(chore).unwrap_or_default();
        let found: HashSet<(TaskInstanceKey, String)> = found.iter().cloned().collect();
        for (TaskInstanceKey { dag_id, run_id, task_id, map_index }, reason) in found.difference(&told) {
            scheduling::set_aside(dag_id, "task instance");
            tracing::warn!(
                dag_id,
                run_id,
                task_id,
                map_index,
                reason,
                chore,
                "task instance set aside by a chore; it is retried"
            );
        }
        let new = found.difference(&told).count();
        self.refused.insert(chore, found);
        new
    }

    /// Rows that a chore could not deal with. Answers how many were not known.
    pub(crate) fn rows(&mut self, chore: &'static str, found: &[SetAside]) -> usize {
        let told = self.left.remove(chore).unwrap_or_default();
        let found: HashSet<SetAside> = found.iter().cloned().collect();
        for SetAside { dag_id, row, reason } in found.difference(&told) {
            scheduling::set_aside(dag_id.as_deref().unwrap_or_default(), "row");
            tracing::warn!(dag_id, row, reason, chore, "row set aside by a chore; it is retried");
        }
        let new = found.difference(&told).count();
        if !found.is_empty() {
            self.left.insert(chore, found);
        }
        new
    }

    /// Rows that a step of the cycle could not write, each of which it tries again later. Answers how many were not known.
    pub(crate) fn put_off(&mut self, what: &'static str, found: &[SetAside], now: Timestamp) -> usize {
        let mut new = 0;
        if !found.is_empty() {
            self.put_off.retain(|_, (_, last)| now.duration_since(*last) < FORGOTTEN_AFTER);
        }
        for SetAside { dag_id, row, reason } in found {
            scheduling::set_aside(dag_id.as_deref().unwrap_or_default(), what);
            let told = self.put_off.insert((what, row.clone()), (reason.clone(), now));
            if told.is_none_or(|(told, _)| told != *reason) {
                tracing::warn!(dag_id, row, reason, "{what} set aside; it is retried with increasing delay");
                new += 1;
            }
        }
        new
    }

    /// These are written.
    pub(crate) fn written(&mut self, what: &'static str, rows: impl Iterator<Item = SetAside>) {
        if self.put_off.is_empty() {
            return;
        }
        for SetAside { dag_id, row, .. } in rows {
            if self.put_off.remove(&(what, row.clone())).is_some() {
                tracing::info!(dag_id, row, "{what} is no longer set aside");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_told_once_as_long_as_it_is_so() {
        let mut told = SetAsideLog::default();
        let dag = |reason: &str| [("d".to_owned(), reason.to_owned())];
        assert_eq!([told.dags(&dag("a")), told.dags(&dag("a")), told.dags(&dag("b"))], [1, 0, 1]);
        let key = TaskInstanceKey {
            dag_id: "d".to_owned(),
            run_id: "r".to_owned(),
            task_id: "t".to_owned(),
            map_index: -1,
        };
        let refused = [(key, "no".to_owned())];
        assert_eq!([told.instances("one", &refused), told.instances("one", &refused)], [1, 0]);
        assert_eq!([told.instances("other", &refused), told.instances("one", &[])], [1, 0]);
        assert_eq!(told.instances("one", &refused), 1);
        let left = [SetAside { dag_id: None, row: "job 1".to_owned(), reason: "no".to_owned() }];
        assert_eq!([told.rows("one", &left), told.rows("one", &left)], [1, 0]);
        assert_eq!([told.rows("one", &[]), told.rows("one", &left)], [0, 1]);
    }

    #[test]
    fn what_is_put_off_is_told_once_until_it_is_written_or_long_forgotten() {
        let mut told = SetAsideLog::default();
        let of = |row: &str| [SetAside { dag_id: None, row: row.to_owned(), reason: "no".to_owned() }];
        let at = |minutes| Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes);
        let times = [(&of("a")[..], 0), (&[], 1), (&of("a"), 9), (&of("b"), 12), (&of("a"), 18)];
        let new = times.map(|(found, minute)| told.put_off("run", found, at(minute)));
        assert_eq!(new, [1, 0, 0, 1, 0]);
        told.written("run", of("a").into_iter());
        assert_eq!(told.put_off("run", &of("a"), at(19)), 1);
        assert_eq!(told.put_off("run", &of("a"), at(23)), 0);
        assert_eq!(told.put_off.len(), 1, "the other was not refused for long");
    }
}
