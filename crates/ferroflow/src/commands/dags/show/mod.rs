//! `ferroflow dags show`

mod dot;
mod edges;
mod mermaid;
mod text;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use ferroflow_model::dag::{Dag, GroupChild, GroupIndex, TaskIndex};
use ferroflow_operations::dag;

use super::VerboseArgs;
use crate::commands::operations;
use crate::session::{Session, block_on};
pub(super) use text::in_order;

const EXAMPLES: &str = "\
Examples:
  ferroflow dags show my_dag
  ferroflow dags show my_dag --save my_dag.mmd
  ferroflow dags show my_dag --format dot | dot -Tpng -o my_dag.png";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ShowArgs {
    /// The DAG
    dag_id: String,
    /// How to draw it: as text for the terminal, in DOT for Graphviz, or as a Mermaid flowchart
    #[arg(short, long, value_enum)]
    #[arg(hide_possible_values = true, value_name = "text|dot|mermaid")]
    format: Option<Picture>,
    /// Write to this file; without --format its name decides: .dot, .mmd or .txt
    #[arg(short, long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Say how to see the picture with imgcat
    #[arg(long)]
    imgcat: bool,
    #[command(flatten)]
    _verbose: VerboseArgs,
}

/// How a DAG is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Picture {
    Text,
    Dot,
    Mermaid,
}

pub(super) fn run(args: &ShowArgs, session: &Session, out: &mut dyn Write) -> Result<()> {
    let dag_id = args.dag_id.as_str();
    if args.save.is_some() && args.imgcat {
        bail!(
            "Option --save and --imgcat are mutually exclusive. Please remove one option to execute the command."
        );
    }
    if args.imgcat {
        bail!("no picture is made here; run: ferroflow dags show {dag_id} --format dot | dot -Tpng | imgcat");
    }
    let picture = match (args.format, &args.save) {
        (Some(picture), _) => picture,
        (None, Some(file)) => by_name(file, dag_id)?,
        (None, None) => Picture::Text,
    };
    let dag = block_on(async {
        let operations = operations::open(session).await?;
        Ok(dag::find(&operations.db, dag_id).await?.dag)
    })?;
    let drawn = match picture {
        Picture::Text => text::draw(&dag),
        Picture::Dot => dot::draw(&dag),
        Picture::Mermaid => mermaid::draw(&dag),
    };
    if let Some(file) = &args.save {
        fs_err::write(file, drawn)?;
        writeln!(out, "File {} saved", file.display())?;
    } else {
        out.write_all(drawn.as_bytes())?;
    }
    Ok(())
}

fn by_name(file: &Path, dag_id: &str) -> Result<Picture> {
    let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or("");
    match ending {
        "dot" | "gv" => Ok(Picture::Dot),
        "mmd" | "mermaid" => Ok(Picture::Mermaid),
        "txt" => Ok(Picture::Text),
        "" => {
            bail!("--save: {} says no format; end it in .dot, .mmd or .txt, or name --format", file.display())
        }
        ending => bail!(
            "--save: no {ending} is made here, Graphviz does that; run: ferroflow dags show {dag_id} --format dot | \
             dot -T{ending} -o {}",
            file.display()
        ),
    }
}

/// The name of a child without those of the groups around it.
pub(super) fn label(dag: &Dag, child: GroupChild) -> &str {
    match child {
        GroupChild::Group(group) => &dag[group].label,
        GroupChild::Task(task) => task_label(dag, task),
    }
}

fn task_label(dag: &Dag, task: TaskIndex) -> &str {
    let task = &dag[task];
    let group = &dag[task.group];
    let inside = |id: &str| task.task_id.strip_prefix(id)?.strip_prefix('.');
    let prefix = group.group_id.as_deref().filter(|_| group.prefix_group_id);
    prefix.and_then(inside).unwrap_or(&task.task_id)
}

/// The id of a child, with those of the groups around it.
fn id(dag: &Dag, child: GroupChild) -> &str {
    match child {
        GroupChild::Group(group) => group_id(dag, group),
        GroupChild::Task(task) => &dag[task].task_id,
    }
}

fn group_id(dag: &Dag, group: GroupIndex) -> &str {
    dag[group].group_id.as_deref().unwrap_or("")
}

/// What is in a group, sorted by id.
fn children(dag: &Dag, group: GroupIndex) -> Vec<GroupChild> {
    let mut children = dag[group].children.to_vec();
    children.sort_by_key(|child| id(dag, *child));
    children
}
