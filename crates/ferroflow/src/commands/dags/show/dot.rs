//! A DAG in DOT, the language of Graphviz: the nodes, clusters, colours and edges that Airflow draws.

use ferroflow_model::dag::{Dag, GroupChild, GroupIndex};

use super::edges::{Node, edges};
use super::{children, group_id, task_label};

/// The source of a picture.
pub(super) fn draw(dag: &Dag) -> String {
    let name = quoted(&dag.dag_id);
    let mut lines =
        vec![format!("digraph {name} {{"), format!("\tgraph [label={name} labelloc=t rankdir=LR]")];
    draw_group(dag, GroupIndex::ROOT, 1, &mut lines);
    for edge in edges(dag) {
        let label = edge.label.map_or_else(String::new, |label| format!(" [label={}]", quoted(&label)));
        lines.push(format!("\t{} -> {}{label}", quoted(&edge.from.id(dag)), quoted(&edge.to.id(dag))));
    }
    lines.push("}\n".to_owned());
    lines.join("\n")
}

fn draw_group(dag: &Dag, index: GroupIndex, depth: usize, lines: &mut Vec<String>) {
    let indent = "\t".repeat(depth);
    let group = &dag[index];
    let joint = |node: Node| {
        let (color, fill) = (colour(&group.ui_fgcolor), colour(&group.ui_color));
        format!(
            "{indent}{} [label=\"\" color={color} fillcolor={fill} height=0.2 shape=circle \
             style=\"filled,rounded\" width=0.2]",
            quoted(&node.id(dag))
        )
    };
    if !group.upstream_groups.is_empty() || !group.upstream_tasks.is_empty() {
        lines.push(joint(Node::Before(index)));
    }
    if !group.downstream_groups.is_empty() || !group.downstream_tasks.is_empty() {
        lines.push(joint(Node::After(index)));
    }
    for child in children(dag, index) {
        match child {
            GroupChild::Task(task) => {
                let operator = &dag[task].operator;
                lines.push(format!(
                    "{indent}{} [label={} color={} fillcolor={} shape=rectangle style=\"filled,rounded\"]",
                    quoted(&dag[task].task_id),
                    quoted(task_label(dag, task)),
                    colour(&operator.ui_fgcolor),
                    colour(&operator.ui_color),
                ));
            }
            GroupChild::Group(inner) => {
                lines.push(format!(
                    "{indent}subgraph {} {{",
                    quoted(&format!("cluster_{}", group_id(dag, inner)))
                ));
                // Cornflower blue that lets shine through what is behind.
                lines.push(format!(
                    "{indent}\tcolor={} fillcolor=\"#6495ed7f\" label={} shape=rectangle style=filled",
                    colour(&dag[inner].ui_fgcolor),
                    quoted(&dag[inner].label),
                ));
                draw_group(dag, inner, depth + 1, lines);
                lines.push(format!("{indent}}}"));
            }
        }
    }
}

/// A colour; `#rgb`, which Graphviz does not know, is written out.
fn colour(colour: &str) -> String {
    match colour.strip_prefix('#') {
        Some(digits) if digits.chars().count() == 3 => {
            quoted(&format!("#{}", digits.chars().flat_map(|c| [c, c]).collect::<String>()))
        }
        _ => quoted(colour),
    }
}

fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}
