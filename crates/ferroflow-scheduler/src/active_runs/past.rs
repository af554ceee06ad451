//! Runs to which the run before them matters.
//!
//! What happens in a run that is looked after is told to the next one, by logical date. Now and then it is asked in the
//! database which run is before which, and how those stand that another scheduler tracks: of them there is no event here.

use std::collections::HashMap;

use ferroflow_db::task_instance::dependencies::RunProgress;
use ferroflow_model::state::RunType;

use super::{ActiveRuns, Row, RunKey};
use crate::fair_queue::Cause;
use crate::run::ActiveRun;

impl ActiveRuns {
    /// Something has become of a task of a run, or of all of them: the runs that this is the one before of look at it.
    ///
    /// Where runs that were made by hand count as such, that is the next one. Where they do not, those by hand that follow
    /// have the same run before as the next one of the schedule.
    pub(crate) fn past_has_changed(&mut self, key: &RunKey, task_id: Option<&str>) {
        let Some(Row { logical_date: Some(date), is_manual, .. }) = self.rows.get(key).copied() else {
            return;
        };
        let first = (key.dag_id.clone(), date, String::new());
        let of_dag = self.dates.range(first..).take_while(|(dag_id, ..)| *dag_id == key.dag_id);
        let mut is_next = true;
        for (dag_id, _, run_id) in of_dag.filter(|(_, at, _)| *at > date) {
            let is_next = std::mem::take(&mut is_next);
            let later = RunKey { dag_id: dag_id.clone(), run_id: run_id.clone() };
            // One that is not read yet reads the run before, too.
            let Some(entry) = self.runs.get_mut(&later) else { continue };
            let Some(run) = &entry.run else { continue };
            let does_any_count = !run.definition.dag().catchup;
            let is_of_schedule = run.row.run_type != RunType::Manual;
            let is_before = if does_any_count { is_next } else { !is_manual };
            if is_before && run.asks_about_past(task_id) {
                entry.has_past_changed = true;
                self.dirty.add(later, Cause::Event);
            }
            if is_of_schedule || does_any_count {
                return;
            }
        }
    }

    /// The rows of the runs to which the one before matters: where runs that were made by hand do not count as that, and
    /// where they do.
    pub(crate) fn with_past(&self) -> [Vec<i64>; 2] {
        let mut found = [Vec::new(), Vec::new()];
        for (_, run) in self.read().filter(|(_, run)| run.has_past()) {
            found[usize::from(!run.definition.dag().catchup)].push(run.row.id);
        }
        found
    }

    /// Takes in which run is before which. Answers those of which that is not looked after here, with its row.
    pub(crate) fn compare_past(&mut self, earlier: &[(i64, Option<i64>)]) -> Vec<(i64, i64)> {
        let mut elsewhere = Vec::new();
        for (id, earlier) in earlier {
            let Some(run) = self.run_of(*id) else { continue };
            let is_known = run.earlier.id == *earlier
                && match earlier.map(|earlier| (earlier, self.run_of(earlier))) {
                    None => true,
                    Some((_, Some(before))) => run.knows_past(before),
                    Some((earlier, None)) => {
                        elsewhere.push((*id, earlier));
                        true
                    }
                };
            if !is_known {
                self.ask_for_past(*id);
            }
        }
        elsewhere
    }

    /// Takes in how runs stand that are before others and are not looked after here.
    pub(crate) fn compare_stands(&mut self, elsewhere: &[(i64, i64)], stands: &HashMap<i64, RunProgress>) {
        for (id, earlier) in elsewhere {
            let stand = (*earlier, stands.get(earlier).copied().unwrap_or_default());
            let Some(entry) = self.keys.get(id).and_then(|key| self.runs.get_mut(key)) else { continue };
            if entry.past_stand.replace(stand) != Some(stand) {
                self.ask_for_past(*id);
            }
        }
    }

    fn run_of(&self, id: i64) -> Option<&ActiveRun> {
        self.runs.get(self.keys.get(&id)?)?.run.as_deref()
    }

    fn ask_for_past(&mut self, id: i64) {
        let Some(key) = self.keys.get(&id) else { return };
        if let Some(entry) = self.runs.get_mut(key) {
            entry.has_past_changed = true;
            self.dirty.add(key.clone(), Cause::Crowd);
        }
    }
}
