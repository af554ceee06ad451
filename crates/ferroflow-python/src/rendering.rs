//! The templates of a task, filled in.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::ForkServer;
use crate::helper::{Helper, HelperError, read};

const PURPOSE: &str = "templates";

/// The instance whose templates are asked for.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Templates<'a> {
    /// The bundle,
    pub bundle_name: &'a str,
    /// the file in it,
    pub file: &'a str,
    /// the DAG,
    pub dag_id: &'a str,
    /// the task,
    pub task_id: &'a str,
    /// and which of its instances.
    pub map_index: i32,
    /// The run, by its name or its logical date; there need not be one.
    pub run: &'a str,
}

/// A field that is a template, filled in.
#[derive(Debug, Deserialize)]
pub struct RenderedField {
    /// The field.
    pub name: String,
    /// What it is now, as Python prints it.
    pub text: String,
}

/// Imports the DAG's file and fills its templates in.
pub async fn render(
    server: &ForkServer,
    templates: Templates<'_>,
    limit: Duration,
) -> Result<Vec<RenderedField>, HelperError> {
    let helper = Helper::new(server.clone(), PURPOSE);
    read(PURPOSE, helper.call("rendering.render", json!(templates), limit).await?)
}
