//! `ferroflow why`

use std::io::Write;

use anyhow::Result;
use clap::Args;
use ferroflow_config::Environment;
use ferroflow_execution::tell_unreadable;
use ferroflow_model::Json;
use ferroflow_model::why::{Holder, Reason};
use ferroflow_operations::dag;
use ferroflow_scheduler::why::{Answer, Asked, NoAnswer, why};
use ferroflow_telemetry::clock;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::operations;
use crate::output::{AnswerArgs, AnswerFormat, on_one_line};
use crate::session::{Session, block_on};

/// How many holders are told of.
const MAX_HOLDERS: usize = 10;

/// What is asked about.
#[derive(Args)]
pub(crate) struct WhyCommand {
    /// The DAG
    dag_id: String,
    /// One of its runs; without it, the DAG and all of its unfinished runs
    run_id: Option<String>,
    /// One of the tasks of the run; without it, all that are not finished
    #[arg(requires = "run_id")]
    task_id: Option<String>,
    #[command(flatten)]
    answer: AnswerArgs,
}

pub(crate) fn run(command: &WhyCommand, environment: &Environment, out: &mut dyn Write) -> Result<()> {
    let session = Session::start_quietly(environment)?;
    let now = clock::now();
    let asked = Asked {
        dag_id: &command.dag_id,
        run_id: command.run_id.as_deref(),
        task_id: command.task_id.as_deref(),
    };
    let answer = block_on(async {
        let operations = operations::open(&session).await?;
        let answer = match why(&operations.db, &session.settings, asked, now).await {
            Err(NoAnswer::NoDag(dag_id)) => Err(dag::unknown(&operations.db, &dag_id).await.into()),
            other => Ok(other?),
        };
        tell_unreadable(&operations.db);
        operations.close().await;
        answer
    })?;
    match command.answer.output {
        AnswerFormat::Json => writeln!(out, "{}", Json::from(as_json(&answer)))?,
        AnswerFormat::Text => {
            print(&answer, 0, now, out)?;
            if command.run_id.is_none() && !answer.parts.is_empty() {
                writeln!(out, "\n`ferroflow why {} RUN_ID` says it of the tasks of a run", command.dag_id)?;
            }
        }
    }
    Ok(())
}

fn print(answer: &Answer, depth: usize, now: Timestamp, out: &mut dyn Write) -> Result<()> {
    let indent = "  ".repeat(depth);
    writeln!(out, "{indent}{}: {}", on_one_line(&answer.subject), answer.state)?;
    for reason in &answer.reasons {
        writeln!(out, "{indent}  - {}{}", on_one_line(&reason.text), times(reason, now))?;
        for Holder { what, state, since } in reason.holders.iter().take(MAX_HOLDERS) {
            let since = since.map(|since| format!(" since {}", ago(since, now))).unwrap_or_default();
            writeln!(out, "{indent}      {}: {state}{since}", on_one_line(what))?;
        }
        if let Some(more) = reason.holders.len().checked_sub(MAX_HOLDERS).filter(|more| *more > 0) {
            writeln!(out, "{indent}      and {more} more")?;
        }
    }
    for part in &answer.parts {
        print(part, depth + 1, now, out)?;
    }
    if answer.left_out > 0 {
        writeln!(out, "{indent}  and {} more", answer.left_out)?;
    }
    Ok(())
}

fn times(reason: &Reason, now: Timestamp) -> String {
    let since = reason.since.map(|since| format!(", since {}", ago(since, now)));
    // The reason itself may be that it is not before then.
    let until = reason.until.map(|until| until.to_string()).filter(|until| !reason.text.contains(until));
    let until = until.map(|until| format!(", until {until}"));
    since.unwrap_or_default() + &until.unwrap_or_default()
}

/// A moment, and how long ago that is.
fn ago(moment: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(moment).max(SignedDuration::ZERO).as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    let length = match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    };
    format!("{moment} ({length})")
}

fn as_json(answer: &Answer) -> Value {
    let time = |moment: Option<Timestamp>| moment.map(|moment| moment.to_string());
    let holder =
        |holder: &Holder| json!({ "what": holder.what, "state": holder.state, "since": time(holder.since) });
    let reason = |reason: &Reason| {
        json!({
            "kind": reason.kind.as_str(),
            "text": reason.text,
            "since": time(reason.since),
            "until": time(reason.until),
            "held_by": reason.holders.iter().map(holder).collect::<Vec<_>>(),
        })
    };
    json!({
        "subject": answer.subject,
        "state": answer.state,
        "reasons": answer.reasons.iter().map(reason).collect::<Vec<_>>(),
        "parts": answer.parts.iter().map(as_json).collect::<Vec<_>>(),
        "left_out": answer.left_out,
    })
}
