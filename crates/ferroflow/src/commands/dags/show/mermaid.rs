//! A DAG as a Mermaid flowchart, which Markdown viewers draw.

use std::collections::BTreeSet;

use ferroflow_model::dag::{Dag, Flag, GroupChild, GroupIndex, TaskIndex};

use super::edges::{Node, edges};
use super::{children, label, task_label};

/// The source of a picture.
pub(super) fn draw(dag: &Dag) -> String {
    let mut lines = vec!["---".to_owned(), format!("title: {}", title(&dag.dag_id)), "---".to_owned()];
    lines.push("flowchart LR".to_owned());
    draw_group(dag, GroupIndex::ROOT, 1, &mut lines);
    for edge in edges(dag) {
        // Arrows may begin and end at a group here: it needs no joints.
        let (from, to) = match (edge.from, edge.to) {
            (Node::Before(_), _) | (_, Node::After(_)) => continue,
            (from, to) => (name(from), name(to)),
        };
        let arrow = edge.label.map_or_else(|| "-->".to_owned(), |label| format!("-- {} -->", quoted(&label)));
        lines.push(format!("  {from} {arrow} {to}"));
    }
    lines.extend(styles(dag));
    lines.push(String::new());
    lines.join("\n")
}

fn draw_group(dag: &Dag, index: GroupIndex, depth: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    for child in children(dag, index) {
        match child {
            GroupChild::Task(task) => lines.push(format!("{indent}{}{}", task_name(task), shape(dag, task))),
            GroupChild::Group(group) => {
                let mapped = if dag[group].expand.is_some() { " [ ]" } else { "" };
                let label = quoted(&format!("{}{mapped}", label(dag, child)));
                lines.push(format!("{indent}subgraph {}[{label}]", group_name(group)));
                draw_group(dag, group, depth + 1, lines);
                lines.push(format!("{indent}end"));
            }
        }
    }
}

/// A box; slanted to the right for what sets up, to the left for what tears down, with double walls for what is
/// mapped.
fn shape(dag: &Dag, index: TaskIndex) -> String {
    let task = &dag[index];
    let label = quoted(task_label(dag, index));
    match (task.is(Flag::IsSetup), task.is(Flag::IsTeardown), task.is_mapped()) {
        (true, _, _) => format!("[/{label}/]"),
        (_, true, _) => format!("[\\{label}\\]"),
        (_, _, true) => format!("[[{label}]]"),
        _ => format!("[{label}]"),
    }
}

/// One class per pair of colours that operators have.
fn styles(dag: &Dag) -> Vec<String> {
    let is_colour = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '#');
    let colours = |task: TaskIndex| (&*dag[task].operator.ui_color, &*dag[task].operator.ui_fgcolor);
    let pairs: BTreeSet<(&str, &str)> = dag.indexed_tasks().map(|(task, _)| colours(task)).collect();
    let mut lines = Vec::new();
    let drawable = pairs.into_iter().filter(|(fill, text)| is_colour(fill) && is_colour(text));
    for (number, pair) in drawable.enumerate() {
        let of_it = dag.indexed_tasks().filter(|(task, _)| colours(*task) == pair);
        let tasks: Vec<String> = of_it.map(|(task, _)| task_name(task)).collect();
        lines.push(format!("  classDef c{number} fill:{},color:{}", pair.0, pair.1));
        lines.push(format!("  class {} c{number}", tasks.join(",")));
    }
    lines
}

fn name(node: Node) -> String {
    match node {
        Node::Task(task) => task_name(task),
        Node::Before(group) | Node::After(group) => group_name(group),
    }
}

fn task_name(task: TaskIndex) -> String {
    format!("t{}", task.position())
}

fn group_name(group: GroupIndex) -> String {
    format!("g{}", group.position())
}

/// A text in YAML.
fn title(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A label. What has a meaning in Mermaid or in HTML becomes an entity.
fn quoted(text: &str) -> String {
    let escape = |c: char| match c {
        '"' | '#' | '&' | '<' | '>' | ';' | '`' | '\\' => format!("#{};", u32::from(c)),
        c if c.is_control() => " ".to_owned(),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}
