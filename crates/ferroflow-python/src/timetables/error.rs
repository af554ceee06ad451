//! Why a custom timetable has no answer, for the author of the DAG.

use std::collections::BTreeSet;

use ferroflow_model::Json;
use ferroflow_model::partition_mapper::OwnClass;
use ferroflow_model::timetable::Timetable;
use jiff::Timestamp;

use crate::helper::HelperError;
use crate::quarantine::{ASKED_AGAIN, LeftAlone};

/// Why a custom timetable has no answer.
#[derive(Debug, thiserror::Error)]
pub enum TimetableError {
    /// No plugin lists the class.
    #[error(
        "the timetable {class} is not registered: list it in the `timetables` of an AirflowPlugin, in a file of the \
         plugins folder or in a package with an airflow.plugins entry point; a class in a DAG file does not do"
    )]
    NotRegistered {
        /// The import path of the class.
        class: String,
    },
    /// The class is there, and fails.
    #[error("the timetable {class} failed")]
    Failed {
        /// The import path of the class.
        class: String,
        /// How.
        #[source]
        source: HelperError,
    },
    /// What it answered makes no sense.
    #[error("the timetable {class} gave an answer of the wrong type: {problem}")]
    Nonsense {
        /// The import path of the class.
        class: String,
        /// What is wrong with it.
        problem: String,
    },
    /// It hung or crashed a short while ago.
    #[error("the timetable {class} failed: {last}{}{until}", ASKED_AGAIN)]
    InQuarantine {
        /// The import path of the class.
        class: String,
        /// When it is asked again.
        until: Timestamp,
        /// What happened.
        last: String,
    },
}

impl TimetableError {
    pub(super) fn of(class: &str, source: HelperError) -> Self {
        let class = class.to_owned();
        match source.exception() {
            Some(exception) if exception.type_name.ends_with(".TimetableNotRegistered") => {
                Self::NotRegistered { class }
            }
            _ => Self::Failed { class, source },
        }
    }

    pub(super) fn in_quarantine(class: &str, left: LeftAlone) -> Self {
        Self::InQuarantine { class: class.to_owned(), until: left.until, last: left.last }
    }

    /// All there is to say, for an import error: what failed, why, and the last calls.
    pub fn explanation(&self) -> String {
        match self {
            Self::Failed { source, .. } => match source.exception() {
                Some(exception) => format!("{self}:\n{}", exception.traceback.trim_end()),
                None => format!("{self}: {source}"),
            },
            _ => self.to_string(),
        }
    }
}

/// The custom class of a serialized timetable, or of the one within, in words; of one of Airflow's own, those of its
/// mappers. And their import paths.
pub(super) fn classes_of(timetable: &Json) -> (String, BTreeSet<String>) {
    fn custom(timetable: &Timetable) -> (String, BTreeSet<String>) {
        match timetable {
            Timetable::AssetOrTime { time, .. } => custom(time),
            Timetable::Custom(custom) => (custom.class.clone(), BTreeSet::from([custom.class.clone()])),
            Timetable::PartitionedAsset(partitioned) => {
                let classes: BTreeSet<String> =
                    partitioned.own_classes().iter().map(|class| OwnClass::path(class).to_owned()).collect();
                let listed: Vec<&str> = classes.iter().map(String::as_str).collect();
                (format!("{} (with {})", timetable.type_name(), listed.join(", ")), classes)
            }
            other => (other.type_name().to_owned(), BTreeSet::new()),
        }
    }
    match Timetable::decode(timetable.text()) {
        Ok(timetable) => custom(&timetable),
        Err(_) => ("(one that cannot be decoded)".to_owned(), BTreeSet::new()),
    }
}
