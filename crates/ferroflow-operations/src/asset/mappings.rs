//! How keys are mapped where Python has to be asked: between two attempts at a transaction, never within one.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ferroflow_db::{Error, Json};
use ferroflow_python::timetables::{MappedKey, Timetables};
use ferroflow_telemetry::chain;
use ferroflow_telemetry::metrics::user_code;
use jiff::Timestamp;

use super::register::Change;

/// What Python has said of keys so far, and what it is still to be asked.
#[derive(Default)]
pub struct Mappings {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    answers: HashMap<Question, Result<MappedKey, String>>,
    open: HashSet<Question>,
}

/// What a partition of an asset is to a DAG with this timetable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Question {
    timetable: Json,
    name: String,
    uri: String,
    key: String,
    date: Option<Timestamp>,
}

impl Question {
    pub(super) fn new(timetable: Json, change: &Change<'_>, key: &str) -> Self {
        Self {
            timetable,
            name: change.name.to_owned(),
            uri: change.uri.to_owned(),
            key: key.to_owned(),
            date: change.partition_date,
        }
    }
}

impl Mappings {
    /// Asks what is open. An answer is one even if it is that the mapper fails.
    pub async fn ask(&self, timetables: Option<&Timetables>) {
        let open: Vec<Question> = self.locked().open.drain().collect();
        for question in open {
            let answer = asked(timetables, &question).await;
            if answer.is_err() {
                user_code::failed(user_code::Kind::PartitionMappers);
            }
            self.locked().answers.insert(question, answer);
        }
    }

    /// That nothing is open: only then may be written what depends on it. Else the answer is [`Error::Unasked`].
    pub fn are_known(&self) -> Result<(), Error> {
        if self.locked().open.is_empty() {
            Ok(())
        } else {
            Err(Error::Unasked("a partition mapper in Python"))
        }
    }

    /// What Python said. A question that it was not asked is open from now on.
    pub(super) fn answer(&self, question: Question) -> Option<Result<MappedKey, String>> {
        let mut known = self.locked();
        let answer = known.answers.get(&question).cloned();
        if answer.is_none() {
            known.open.insert(question);
        }
        answer
    }

    /// Every change is one insertion or removal: what is guarded stays whole.
    fn locked(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn asked(timetables: Option<&Timetables>, question: &Question) -> Result<MappedKey, String> {
    let Some(timetables) = timetables else {
        return Err("its mapper is written in Python, and here is nobody who can ask it".to_owned());
    };
    let asset = (question.name.as_str(), question.uri.as_str());
    let mapped = timetables.map_key(&question.timetable, asset, &question.key, question.date).await;
    mapped.map_err(|error| chain(&error))
}
