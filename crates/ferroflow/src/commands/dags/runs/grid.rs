//! Runs by tasks.

use std::collections::HashMap;

use ferroflow_db::dag_run::history::{PastRun, TaskCount};
use ferroflow_model::dag::Dag;
use ferroflow_model::state::TaskState;
use unicode_width::UnicodeWidthStr as _;

use super::mark::{Mark, legend};
use super::outline::{Line, outline};
use crate::output::Text;

/// Columns are runs, the newest at the right; rows are tasks.
pub(super) struct Grid {
    /// The runs that are shown, the oldest first.
    pub(super) runs: Vec<PastRun>,
    pub(super) rows: Vec<Row>,
}

/// How many instances are in which state.
type Counts = Vec<(Option<TaskState>, i64)>;

/// A task, and how its instances went in each run; a group has no counts.
pub(super) struct Row {
    pub(super) line: Line,
    /// For each run, how many instances are in which state.
    pub(super) counts: Vec<Counts>,
}

impl Grid {
    /// Of the runs, the newest first.
    pub(super) fn new(dag: &Dag, mut runs: Vec<PastRun>, counts: &[TaskCount]) -> Self {
        runs.reverse();
        let column: HashMap<&str, usize> =
            runs.iter().enumerate().map(|(column, run)| (run.run_id.as_str(), column)).collect();
        let mut of_task: HashMap<&str, Vec<Counts>> = HashMap::new();
        for count in counts {
            if let Some(column) = column.get(count.run_id.as_str()) {
                let found = of_task.entry(&count.task_id).or_insert_with(|| vec![Vec::new(); runs.len()]);
                found[*column].push((count.state, count.total));
            }
        }
        let mut row = |line: Line| {
            let counts = line.task_id.as_deref().and_then(|task_id| of_task.remove(task_id));
            let counts = counts.unwrap_or_else(|| vec![Vec::new(); runs.len()]);
            Row { line, counts }
        };
        let lines = outline(dag, counts.iter().map(|count| count.task_id.as_str()));
        let rows = lines.into_iter().map(&mut row).collect();
        Self { runs, rows }
    }

    /// Leaves out the oldest runs that there is no room for.
    pub(super) fn fit(&mut self, width: usize) {
        let room = (width.saturating_sub(self.label_width() + 2) / 2).max(1);
        let surplus = self.runs.len().saturating_sub(room);
        self.runs.drain(..surplus);
        for row in &mut self.rows {
            row.counts.drain(..surplus);
        }
    }

    /// The picture.
    pub(super) fn lines(&self, dag_id: &str) -> Vec<Text> {
        let (Some(first), Some(last)) = (self.runs.first(), self.runs.last()) else {
            return vec![Text::new().plain(&format!("{dag_id} has no runs"))];
        };
        let count =
            if self.runs.len() == 1 { "1 run".to_owned() } else { format!("{} runs", self.runs.len()) };
        let mut lines =
            vec![Text::new().plain(&format!("{dag_id}: {count}, the newest at the right")), Text::new()];
        let of_runs: Vec<Mark> = self.runs.iter().map(|run| Mark::of_run(run.state)).collect();
        let label_width = self.label_width();
        lines.push(line(label_width, "run", &of_runs));
        let mut used = of_runs;
        for row in &self.rows {
            let marks = row.marks();
            lines.push(line(label_width, &row.label(), &marks));
            used.extend(marks);
        }
        lines.extend([Text::new(), legend(&used), Text::new()]);
        lines.push(Text::new().faint(&format!("leftmost   {} ({})", first.run_id, first.state)));
        if self.runs.len() > 1 {
            lines.push(Text::new().faint(&format!("rightmost  {} ({})", last.run_id, last.state)));
        }
        lines
    }

    fn label_width(&self) -> usize {
        self.rows.iter().map(|row| row.label().width()).max().unwrap_or(0).max("run".len())
    }
}

impl Row {
    fn label(&self) -> String {
        let mapped = if self.line.is_mapped { "[]" } else { "" };
        format!("{}{}{mapped}", "  ".repeat(self.line.depth), self.line.label)
    }

    /// For each run, what is shown for all instances.
    fn marks(&self) -> Vec<Mark> {
        self.counts.iter().map(|counts| Mark::worst(counts.iter().map(|(state, _)| *state))).collect()
    }
}

fn line(label_width: usize, label: &str, marks: &[Mark]) -> Text {
    let blanks = " ".repeat((label_width + 2).saturating_sub(label.width()));
    let text = Text::new().plain(&format!("{label}{blanks}"));
    marks.iter().fold(text, |text, mark| mark.paint(text, &mark.letter().to_string()).plain(" "))
}

#[cfg(test)]
mod tests {
    use ferroflow_model::state::RunState;
    use ferroflow_testkit::repository;
    use jiff::Timestamp;

    use super::*;

    fn grid() -> Grid {
        let text = std::fs::read_to_string(repository("testdata/serialized/example_task_group_mapping.json"))
            .unwrap();
        let dag = Dag::decode(&text).unwrap();
        let run = |number: usize, state| PastRun {
            run_id: format!("run_{number}"),
            state,
            run_after: Timestamp::UNIX_EPOCH,
            start: None,
            end: None,
        };
        let states = [RunState::Running, RunState::Failed, RunState::Success];
        let runs = (0..3).rev().zip(states).map(|(number, state)| run(number, state)).collect();
        let count = |run: &str, task_id: &str, state, total| TaskCount {
            run_id: run.to_owned(),
            task_id: task_id.to_owned(),
            state,
            total,
        };
        let mut counts = vec![count("run_0", "former", Some(TaskState::Success), 1)];
        for task in dag.tasks() {
            counts.push(count("run_0", &task.task_id, Some(TaskState::Success), 3));
            counts.push(count("run_1", &task.task_id, Some(TaskState::Failed), 1));
            counts.push(count("run_1", &task.task_id, Some(TaskState::Success), 2));
        }
        counts.push(count("run_2", &dag.tasks()[0].task_id, None, 1));
        Grid::new(&dag, runs, &counts)
    }

    fn plain(grid: &Grid) -> String {
        let lines: Vec<String> =
            grid.lines("daily").iter().map(|line| line.painted(None, false).trim_end().to_owned()).collect();
        lines.join("\n")
    }

    #[test]
    fn runs_are_columns_and_tasks_are_rows() {
        insta::assert_snapshot!(plain(&grid()), @"
        daily: 3 runs, the newest at the right

        run                               + F R
        op/[]
          add_1[]                         + F .
          mul_2[]                         + F
        former (not in the DAG any more)  +

        F failed   R running   . no state yet   + success

        leftmost   run_0 (success)
        rightmost  run_2 (running)
        ");
    }

    #[test]
    fn what_does_not_fit_is_the_oldest() {
        let mut grid = grid();
        grid.fit(grid.label_width() + 2 + 4);
        let names: Vec<&str> = grid.runs.iter().map(|run| run.run_id.as_str()).collect();
        assert_eq!(names, ["run_1", "run_2"]);
        grid.fit(1);
        assert_eq!(grid.runs.len(), 1, "the newest is always there");
        assert!(grid.rows.iter().all(|row| row.counts.len() == 1));
    }

    #[test]
    fn colours_are_for_terminals() {
        let lines = grid().lines("daily");
        let run = lines[2].painted(None, true);
        assert!(run.contains("\x1b[32m+\x1b[0m \x1b[31mF\x1b[0m \x1b[36mR\x1b[0m"), "{run:?}");
    }
}
