//! A DAG file, and what is remembered of it while the processor lives.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use ferroflow_telemetry::metrics::dag_processing as metrics;
use jiff::Timestamp;

/// A DAG file: its bundle, and where it is in there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DagFile {
    pub(crate) relative: Arc<str>,
    pub(crate) bundle: Arc<str>,
}

impl DagFile {
    pub(crate) fn new(bundle: &Arc<str>, relative: &str) -> Self {
        Self { bundle: Arc::clone(bundle), relative: relative.into() }
    }
}

impl DagFile {
    /// The file, as metrics name it.
    pub(crate) fn measured(&self) -> metrics::File<'_> {
        metrics::File { bundle_name: &self.bundle, path: &self.relative }
    }
}

impl fmt::Display for DagFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.bundle, self.relative)
    }
}

/// What is remembered of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Statistics {
    pub(crate) dags: usize,
    pub(crate) import_errors: usize,
    /// When it was last parsed, well or not.
    pub(crate) finished: Option<Timestamp>,
    /// What was last stored of it.
    pub(crate) stored: Option<LastStored>,
    /// How many seconds the last parse took.
    pub(crate) duration: Option<f64>,
    pub(crate) runs: u32,
    /// Files of the bundle that it imports.
    pub(crate) imports: Vec<Arc<str>>,
}

/// What is in the database of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LastStored {
    /// The time that its DAGs were given as that of their parse. When the transaction ended says nothing about a DAG: that
    /// may have waited for long.
    pub(crate) at: Timestamp,
    /// The DAGs that are in the file, and that the database did not let be written.
    pub(crate) kept_back: BTreeSet<String>,
}

/// What is shown every `[dag_processor] print_stats_interval`: the slowest file first.
pub(crate) fn table<'a>(files: impl Iterator<Item = (&'a DagFile, &'a Statistics)>) -> String {
    let mut rows: Vec<(&DagFile, &Statistics)> = files.collect();
    rows.sort_by(|(a, one), (b, other)| {
        let (one, other) = (one.duration.unwrap_or(0.0), other.duration.unwrap_or(0.0));
        other.total_cmp(&one).then_with(|| a.cmp(b))
    });
    let width = rows.iter().map(|(file, _)| file.to_string().len()).max().unwrap_or(0).max("File".len());
    let mut text = format!("{:<width$}  {:>5}  {:>6}  {:>8}  Last Run", "File", "DAGs", "Errors", "Duration");
    for (file, statistics) in rows {
        let duration = statistics.duration.map(|seconds| format!("{seconds:.2}s")).unwrap_or_default();
        let finished = statistics.finished.map(|at| at.strftime("%Y-%m-%dT%H:%M:%S").to_string());
        let line = format!(
            "\n{:<width$}  {:>5}  {:>6}  {duration:>8}  {}",
            file.to_string(),
            statistics.dags,
            statistics.import_errors,
            finished.unwrap_or_default(),
        );
        text.push_str(line.trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_file_is_shown_first() {
        let bundle: Arc<str> = "dags".into();
        let files = [
            (DagFile::new(&bundle, "new.py"), Statistics::default()),
            (DagFile::new(&bundle, "quick.py"), statistics(0.051)),
            (DagFile::new(&bundle, "slow.py"), statistics(12.0)),
        ];
        assert_eq!(
            table(files.iter().map(|(file, statistics)| (file, statistics))),
            "File            DAGs  Errors  Duration  Last Run
dags/slow.py       2       1    12.00s  1970-01-01T00:00:00
dags/quick.py      2       1     0.05s  1970-01-01T00:00:00
dags/new.py        0       0"
        );
    }

    fn statistics(seconds: f64) -> Statistics {
        Statistics {
            dags: 2,
            import_errors: 1,
            finished: Some(Timestamp::from_second(0).unwrap()),
            duration: Some(seconds),
            ..Statistics::default()
        }
    }
}
