//! The children of one fork server, and who waits to hear of them.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use tokio::sync::{oneshot, watch};

use crate::control::{ExitReport, Report};
use crate::{Error, Result};

/// What a child came to.
#[derive(Clone, Debug)]
pub(crate) enum Fate {
    Lives,
    Ended(ExitReport),
    Lost,
}

/// Those that live, by their number.
#[derive(Debug, Default)]
pub(crate) struct Children(Mutex<HashMap<u64, Waiting>>);

/// The process that does what a child is for.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) pidfd: OwnedFd,
    /// Whether it may be another child's afterwards.
    pub(crate) outlives: bool,
}

/// Callers that wait for one.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) forked: Option<oneshot::Sender<Result<Process>>>,
    pub(crate) given_up: Option<oneshot::Sender<()>>,
    pub(crate) fate: watch::Sender<Fate>,
}

impl Children {
    pub(crate) fn insert(&self, id: u64, waiting: Waiting) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, waiting);
    }

    /// It was not asked for.
    pub(crate) fn remove(&self, id: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    /// What tells that one was given up, or has ended. Nothing if it is not there any more.
    pub(crate) fn giving_up(&self, id: u64) -> Option<oneshot::Receiver<()>> {
        let mut children = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (given_up, answer) = oneshot::channel();
        children.get_mut(&id)?.given_up = Some(given_up);
        Some(answer)
    }

    /// Hands a report on. Answers which child is not wanted, or cannot be had.
    pub(crate) fn apply(&self, report: Report, descriptors: Vec<OwnedFd>) -> Option<u64> {
        let mut children = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match report {
            Report::Ready { .. }
            | Report::ZygoteReady { .. }
            | Report::ZygoteFiles(_)
            | Report::Unfit { .. } => {}
            Report::Forked { forked, pid, outlives } => {
                let answer = children.get_mut(&forked).and_then(|child| child.forked.take());
                let process = match descriptors.into_iter().next() {
                    Some(pidfd) => Ok(Process { pid, pidfd, outlives }),
                    None => Err(Error::Exhausted("no file descriptor is left for its process".to_owned())),
                };
                let is_had = process.is_ok();
                // The caller may have gone; then the child is not wanted.
                let is_wanted = answer.is_some_and(|answer| answer.send(process).is_ok());
                return (!is_had || !is_wanted).then_some(forked);
            }
            Report::Refused { refused, reason, for_now } => {
                if let Some(answer) = children.remove(&refused).and_then(|child| child.forked) {
                    let error = if for_now { Error::Exhausted(reason) } else { Error::Refused(reason) };
                    drop(answer.send(Err(error)));
                }
            }
            Report::GivenUp { given_up } => {
                let answer = children.get_mut(&given_up).and_then(|child| child.given_up.take());
                if let Some(answer) = answer {
                    // The caller may have gone.
                    let _ = answer.send(());
                }
            }
            Report::Exit(report) => {
                if let Some(child) = children.remove(&report.exit) {
                    child.fate.send_replace(Fate::Ended(report));
                }
            }
        }
        None
    }

    pub(crate) fn lose_all(&self) {
        let children = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for child in children.into_values() {
            child.fate.send_replace(Fate::Lost);
        }
    }
}
