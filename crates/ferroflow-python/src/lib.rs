//! The bridge to Python: user code runs in short-lived children of a warm fork server, and nowhere else.
//!
//! This crate alone starts Python. What a child is asked and answers are frames on a socket; what it may ask in
//! turn (a variable, a connection) is answered by the process that started it.

mod asking;
mod blame;
mod boot;
pub mod bundles;
mod child;
mod children;
mod connection;
pub mod connections;
mod control;
pub mod descriptors;
mod error;
pub mod extensions;
pub mod frame;
mod given_up;
pub mod helper;
pub mod host_name;
pub mod interpreter;
pub mod listeners;
pub mod managed;
pub mod message;
mod options;
mod outcome;
mod output;
mod parse;
pub mod processes;
mod program;
mod quarantine;
pub mod rendering;
mod serve;
mod server;
mod sources;
mod strays;
mod streams;
pub mod survey;
pub mod task_instances;
pub mod timetables;
mod zygote;

pub use child::{Child, ChildLimits, Entry, Exit, Usage};
pub use error::{Error, Result};
pub use extensions::RunExtensions;
pub use given_up::Remains;
pub use message::{Answer, Answers};
pub use options::{ForkServerOptions, Purpose};
pub use outcome::{Cause, Failure, ParseOutcome, ParseReport};
pub use output::{LogChannel, Output, Sink, Stream};
pub use parse::{DagWarning, ImportError, ParseLimits, ParseRequest, ParsedFile, parse};
pub use quarantine::ASKED_AGAIN;
pub use serve::serve;
pub use server::ForkServer;
pub use zygote::{Zygote, ZygoteFile, ZygoteLimits};
