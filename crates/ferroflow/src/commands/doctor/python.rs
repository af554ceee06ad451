//! The Python that runs DAG files and tasks.

use ferroflow_python::interpreter::Interpreter;

use super::finding::{Finding, Topic};
use crate::session::Session;

/// The release that everything is compared with.
const COMPARED: &str = "3.3.2";

pub(super) fn examine(session: &Session) -> (Topic, Option<&Interpreter>) {
    match session.interpreter() {
        Ok(interpreter) => {
            let Interpreter { path, python, airflow, origin } = interpreter;
            let found = format!("{}: Python {python} with Airflow {airflow} ({origin})", path.display());
            let mut findings = vec![Finding::ok(found)];
            if airflow != COMPARED {
                let text = format!("ferroflow was compared with Airflow {COMPARED}, not with {airflow}");
                findings.push(Finding::note(text).advise(format!("install apache-airflow=={COMPARED}")));
            }
            (Topic::new("Python", findings), Some(interpreter))
        }
        Err(error) => {
            let text = format!("{error:#}");
            let mut lines = text.lines();
            let headline = lines.next().unwrap_or_default().trim_end_matches(':').to_owned();
            let rest: Vec<&str> = lines.map(str::trim).collect();
            let finding = Finding::problem(headline).advise(rest.join("; "));
            (Topic::new("Python", vec![finding]), None)
        }
    }
}
