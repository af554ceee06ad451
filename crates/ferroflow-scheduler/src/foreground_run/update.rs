//! What is told about a run in the foreground.

use ferroflow_model::readiness::RunVerdict;
use ferroflow_model::state::RunState;

use crate::run::SeenInstance;

/// What happens in a run.
#[derive(Debug)]
pub enum RunUpdate<'a> {
    /// A task instance was handed to the executor.
    Started(&'a SeenInstance),
    /// One has ended, or stopped for now.
    Ended(&'a SeenInstance),
    /// One went to another state without having run.
    Settled(&'a SeenInstance),
    /// One counts as successful, since the user wished so.
    MarkedSuccess(&'a SeenInstance),
    /// One waits for something that is not here: a triggerer, or a person.
    WaitsElsewhere(&'a SeenInstance),
    /// One could not be started.
    NotStarted(&'a SeenInstance, &'a str),
    /// The run was interrupted.
    Interrupted,
}

/// How a run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Finished(RunVerdict),
    /// It was stopped from here, and has failed with that.
    Stopped,
    /// Another process took it out of `running`.
    TakenAway(RunState),
}

/// Who is told what happens.
pub trait Watcher: Send {
    /// Something has happened.
    fn on_update(&mut self, update: &RunUpdate<'_>);
}
