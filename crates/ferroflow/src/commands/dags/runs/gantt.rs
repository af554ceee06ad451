//! When the task instances of a run waited and ran.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ferroflow_db::dag_run::history::{PastRun, Try};
use ferroflow_model::dag::Dag;
use jiff::{SignedDuration, Timestamp};
use unicode_width::UnicodeWidthStr as _;

use super::longest_path::longest_path;
use super::mark::Mark;
use super::outline::{Line, outline};
use crate::output::Text;

/// A mapped task with more instances than this has one bar for all.
const MAX_INSTANCES: usize = 12;
/// The least room for bars.
const LEAST_BAR: usize = 20;

/// A run, with a bar for each task instance.
pub(super) struct Chart<'a> {
    /// From the first thing that happened,
    pub(super) from: Timestamp,
    /// to the last, or to now if something goes on.
    pub(super) to: Timestamp,
    pub(super) bars: Vec<Bar<'a>>,
    now: Timestamp,
}

/// A row of the chart.
pub(super) struct Bar<'a> {
    pub(super) line: Line,
    /// What follows the name: the index of a mapped instance, or how many there are.
    pub(super) suffix: String,
    /// Its tries, in their order; none for a group, or for what has not begun.
    pub(super) tries: Vec<&'a Try>,
    /// Whether the run waited for its task.
    pub(super) is_on_longest_path: bool,
}

/// How parts of bars look.
struct Signs {
    queued: char,
    earlier: char,
    running: char,
    goes_on: char,
}

const DRAWN: Signs = Signs { queued: '░', earlier: '▒', running: '█', goes_on: '▶' };
const PLAIN: Signs = Signs { queued: '.', earlier: '-', running: '#', goes_on: '>' };

impl<'a> Chart<'a> {
    /// Tries are ordered by task, map index and number.
    pub(super) fn new(dag: &Dag, run: &PastRun, tries: &'a [Try], now: Timestamp) -> Self {
        let ends: BTreeMap<&str, Timestamp> = tries
            .iter()
            .filter_map(|one| Some((one.task_id.as_str(), one.end?)))
            .fold(BTreeMap::new(), |mut ends, (task_id, end)| {
                let latest = ends.entry(task_id).or_insert(end);
                *latest = (*latest).max(end);
                ends
            });
        let path = longest_path(dag, &ends);
        let lines = outline(dag, tries.iter().map(|one| one.task_id.as_str()));
        let mut of_task: HashMap<&str, Vec<&Try>> = HashMap::new();
        for one in tries {
            of_task.entry(&one.task_id).or_default().push(one);
        }
        let bars = lines.into_iter().flat_map(|line| bars_of(line, &of_task, &path)).collect();
        let moments = || tries.iter().flat_map(|one| [one.queued, one.start, one.end]).flatten();
        let from = moments().chain(run.start).min().unwrap_or(run.run_after);
        let goes_on = run.end.is_none();
        let to = moments().chain(run.end).chain(goes_on.then_some(now)).max().unwrap_or(from);
        Self { from, to: to.max(from), bars, now }
    }

    /// The picture, as wide as asked for.
    pub(super) fn lines(&self, dag_id: &str, run: &PastRun, width: usize, is_drawn: bool) -> Vec<Text> {
        let signs = if is_drawn { &DRAWN } else { &PLAIN };
        let labels: Vec<String> = self.bars.iter().map(Bar::label).collect();
        let ends: Vec<String> = self.bars.iter().map(|bar| bar.told(self.now)).collect();
        let widest = |texts: &[String]| texts.iter().map(|text| text.width()).max().unwrap_or(0);
        let label_width = widest(&labels);
        let room = width.saturating_sub(label_width + widest(&ends) + 4).max(LEAST_BAR);
        let mut lines = vec![self.headline(dag_id, run), Text::new()];
        for ((bar, label), end) in self.bars.iter().zip(&labels).zip(&ends) {
            let blanks = " ".repeat(label_width - label.width());
            let text = Text::new().plain(&format!("{label}{blanks}  "));
            let text = bar.mark().paint(text, &self.drawn(bar, room, signs));
            lines.push(text.plain("  ").plain(end));
        }
        let meaning = format!(
            "{} queued   {} earlier tries   {} last try   {} goes on   * what the run waited for, one after the other",
            signs.queued, signs.earlier, signs.running, signs.goes_on
        );
        lines.extend([Text::new(), Text::new().faint(&meaning)]);
        lines
    }

    fn headline(&self, dag_id: &str, run: &PastRun) -> Text {
        let text = Text::new().plain(&format!("{dag_id} {}: ", run.run_id));
        let text = Mark::of_run(run.state).paint(text, run.state.as_str());
        let length = seconds(self.to.duration_since(self.from));
        text.plain(&format!(", from {:.0} on, {length}", self.from))
    }

    /// The bar of an instance: a character for each part of the time.
    fn drawn(&self, bar: &Bar<'_>, room: usize, signs: &Signs) -> String {
        let mut cells = vec![' '; room];
        let Some((last, earlier)) = bar.tries.split_last() else { return cells.into_iter().collect() };
        let mut fill = |from: Timestamp, to: Timestamp, sign: char| {
            let (from, to) = (self.cell(from, room), self.cell(to, room));
            cells[from..=to.max(from)].fill(sign);
        };
        for one in bar.tries.iter().filter(|one| one.queued.is_some()) {
            let queued = one.queued.unwrap_or(self.from);
            fill(queued, one.start.or(one.end).unwrap_or(self.now.max(queued)), signs.queued);
        }
        for one in earlier {
            if let (Some(start), Some(end)) = (one.start, one.end) {
                fill(start, end, signs.earlier);
            }
        }
        if let Some(start) = last.start {
            fill(start, last.end.unwrap_or(self.now.max(start)), signs.running);
            if last.end.is_none() {
                let at = self.cell(self.now, room);
                cells[at] = signs.goes_on;
            }
        }
        cells.into_iter().collect()
    }

    /// In which of so many parts of the time a moment lies.
    fn cell(&self, at: Timestamp, room: usize) -> usize {
        let whole = self.to.duration_since(self.from).as_millis().max(1);
        let part = at.duration_since(self.from).as_millis().clamp(0, whole);
        let cells = i128::try_from(room).unwrap_or(i128::MAX);
        usize::try_from(part * cells / whole).unwrap_or(0).min(room - 1)
    }
}

impl Bar<'_> {
    fn label(&self) -> String {
        let mark = if self.is_on_longest_path { "*" } else { " " };
        format!("{mark} {}{}{}", "  ".repeat(self.line.depth), self.line.label, self.suffix)
    }

    fn mark(&self) -> Mark {
        Mark::worst(self.last_tries().iter().map(|one| one.state))
    }

    /// The last try of each instance.
    fn last_tries(&self) -> Vec<&Try> {
        let mut last: BTreeMap<i32, &Try> = BTreeMap::new();
        for one in &self.tries {
            let known = last.entry(one.map_index).or_insert(one);
            if known.try_number < one.try_number {
                *known = one;
            }
        }
        last.into_values().collect()
    }

    /// How long the last try took, and what became of it; of several instances, what became of them.
    fn told(&self, now: Timestamp) -> String {
        let last_tries = self.last_tries();
        let [last] = last_tries.as_slice() else { return counted(&last_tries) };
        let state = word(last);
        let ran = last.start.map(|start| seconds(last.end.unwrap_or(now).duration_since(start)));
        let tries = if last.try_number > 1 { format!(", try {}", last.try_number) } else { String::new() };
        match ran {
            Some(ran) => format!("{ran} {state}{tries}"),
            None => format!("{state}{tries}"),
        }
    }
}

fn bars_of<'a>(line: Line, of_task: &HashMap<&str, Vec<&'a Try>>, path: &BTreeSet<&str>) -> Vec<Bar<'a>> {
    let Some(task_id) = line.task_id.clone() else {
        return vec![Bar { line, suffix: String::new(), tries: Vec::new(), is_on_longest_path: false }];
    };
    let mut instances: BTreeMap<i32, Vec<&Try>> = BTreeMap::new();
    for one in of_task.get(task_id.as_str()).into_iter().flatten() {
        instances.entry(one.map_index).or_default().push(one);
    }
    let is_on_longest_path = path.contains(task_id.as_str());
    let bar = |suffix: String, tries| Bar { line: line.clone(), suffix, tries, is_on_longest_path };
    if instances.len() > MAX_INSTANCES {
        let count = instances.len();
        let mut all: Vec<&Try> = instances.into_values().flatten().collect();
        all.sort_by_key(|one| (one.start.is_none(), one.end.is_none(), one.end));
        return vec![bar(format!("[{count} instances]"), all)];
    }
    if instances.is_empty() {
        return vec![bar(String::new(), Vec::new())];
    }
    let suffix = |index: i32| if index < 0 { String::new() } else { format!("[{index}]") };
    instances.into_iter().map(|(index, tries)| bar(suffix(index), tries)).collect()
}

/// `11 success, 2 failed`
fn counted(tries: &[&Try]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for one in tries {
        *counts.entry(word(one)).or_default() += 1;
    }
    counts.iter().map(|(state, count)| format!("{count} {state}")).collect::<Vec<_>>().join(", ")
}

fn word(one: &Try) -> &'static str {
    one.state.map_or(Mark::Unseen, Mark::In).word()
}

/// A length of time, for people.
fn seconds(length: SignedDuration) -> String {
    let length = length.max(SignedDuration::ZERO);
    let (whole, tenths) = (length.as_secs(), length.subsec_millis() / 100);
    match whole {
        0..60 => format!("{whole}.{tenths} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use ferroflow_model::state::{RunState, TaskState};
    use ferroflow_testkit::repository;
    use jiff::ToSpan as _;

    use super::*;

    const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

    fn dag() -> Dag {
        let text = std::fs::read_to_string(repository("testdata/serialized/tutorial.json")).unwrap();
        Dag::decode(&text).unwrap()
    }

    fn run(state: RunState, end: Option<i64>) -> PastRun {
        PastRun {
            run_id: "monday".to_owned(),
            state,
            run_after: NOW,
            start: Some(NOW),
            end: end.map(|end| NOW + end.seconds()),
        }
    }

    fn a_try(
        task_id: &str,
        (map_index, try_number): (i32, i32),
        state: TaskState,
        times: [Option<i64>; 3],
    ) -> Try {
        let [queued, start, end] = times.map(|time| time.map(|time| NOW + time.seconds()));
        Try { task_id: task_id.to_owned(), map_index, try_number, state: Some(state), queued, start, end }
    }

    fn plain(chart: &Chart<'_>, run: &PastRun) -> String {
        let lines: Vec<String> = chart
            .lines("tutorial", run, 80, false)
            .iter()
            .map(|line| line.painted(None, false).trim_end().to_owned())
            .collect();
        lines.join("\n")
    }

    #[test]
    fn bars_show_the_queue_tries_and_what_the_run_waited_for() {
        let tries = [
            a_try("print_date", (-1, 1), TaskState::Success, [Some(0), Some(4), Some(10)]),
            a_try("sleep", (-1, 1), TaskState::Failed, [Some(10), Some(11), Some(15)]),
            a_try("sleep", (-1, 2), TaskState::Success, [Some(20), Some(22), Some(40)]),
            a_try("templated", (-1, 1), TaskState::Success, [Some(10), Some(10), Some(12)]),
        ];
        let run = run(RunState::Success, Some(40));
        let chart = Chart::new(&dag(), &run, &tries, NOW + 99.seconds());
        insta::assert_snapshot!(plain(&chart, &run), @"
        tutorial monday: success, from 2027-01-15T08:00:00Z on, 40.0 s

        * print_date  ....#######                                  6.0 s success
        * sleep                 .------    ..####################  18.0 s success, try 2
          templated             ###                                2.0 s success

        . queued   - earlier tries   # last try   > goes on   * what the run waited for, one after the other
        ");
    }

    #[test]
    fn what_goes_on_is_drawn_up_to_now() {
        let tries = [
            a_try("print_date", (-1, 1), TaskState::Running, [Some(0), Some(5), None]),
            a_try("sleep", (-1, 1), TaskState::Queued, [Some(10), None, None]),
        ];
        let run = run(RunState::Running, None);
        let chart = Chart::new(&dag(), &run, &tries, NOW + 20.seconds());
        insta::assert_snapshot!(plain(&chart, &run), @"
        tutorial monday: running, from 2027-01-15T08:00:00Z on, 20.0 s

          print_date  ............#####################################>  15.0 s running
          sleep                                .........................  queued
          templated

        . queued   - earlier tries   # last try   > goes on   * what the run waited for, one after the other
        ");
    }

    #[test]
    fn many_instances_share_a_bar() {
        let tries: Vec<Try> = (0..30)
            .map(|index| {
                a_try("sleep", (index, 1), TaskState::Success, [Some(0), Some(1), Some(2 + i64::from(index))])
            })
            .collect();
        let run = run(RunState::Success, Some(40));
        let text = plain(&Chart::new(&dag(), &run, &tries, NOW), &run);
        assert!(text.contains("sleep[30 instances]") && text.contains("30 success"), "{text}");
    }

    #[test]
    fn a_run_in_which_nothing_has_happened_is_drawn() {
        let run = PastRun { start: None, ..run(RunState::Queued, None) };
        let text = plain(&Chart::new(&dag(), &run, &[], NOW), &run);
        assert!(text.contains("monday: queued") && text.contains("print_date"), "{text}");
    }

    #[test]
    fn lengths_are_for_people() {
        let length = |seconds| super::seconds(SignedDuration::from_millis(seconds));
        assert_eq!([400, 61_000, 7_260_000].map(length), ["0.4 s", "1 min 1 s", "2 h 1 min"]);
    }
}
