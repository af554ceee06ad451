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

/// Whoever waits to hear of one.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) forked: Option<oneshot::Sender<Result<Process>>>,
    pub(crate) fate: watch::Sender<Fate>,
}

impl Children {
    pub(crate) fn insert(&self, id: u64, waiting: Waiting) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, waiting);
    }

    pub(crate) fn apply(&self, report: Report, descriptors: Vec<OwnedFd>) {
        let mut children = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match report {
            Report::Ready { .. }
            | Report::TemplateReady { .. }
            | Report::TemplateFiles(_)
            | Report::Unfit { .. } => {}
            Report::Forked { forked, pid, outlives } => {
                let answer = children.get_mut(&forked).and_then(|child| child.forked.take());
                if let (Some(answer), Some(pidfd)) = (answer, descriptors.into_iter().next()) {
                    // Whoever asked may have gone; then nobody wants the child.
                    if let Err(Ok(unwanted)) = answer.send(Ok(Process { pid, pidfd, outlives })) {
                        let _ =
                            rustix::process::pidfd_send_signal(unwanted.pidfd, rustix::process::Signal::KILL);
                    }
                }
            }
            Report::Refused { refused, reason } => {
                if let Some(answer) = children.remove(&refused).and_then(|child| child.forked) {
                    drop(answer.send(Err(Error::Refused(reason))));
                }
            }
            Report::Exit(report) => {
                if let Some(child) = children.remove(&report.exit) {
                    child.fate.send_replace(Fate::Ended(report));
                }
            }
        }
    }

    pub(crate) fn lose_all(&self) {
        let children = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for child in children.into_values() {
            child.fate.send_replace(Fate::Lost);
        }
    }
}
