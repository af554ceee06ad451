//! What was found, for people and for programs.

use std::io::Write;

use anyhow::Result;
use ferroflow_model::Json;
use serde_json::{Value, json};

use crate::commands::ReportedFailure;
use crate::output::{AnswerFormat, on_one_line};

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// It works.
    Ok,
    /// It is worth knowing.
    Note,
    /// Something is not done.
    Warning,
    /// It has to be mended first.
    Problem,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) level: Level,
    /// What is so.
    pub(super) text: String,
    /// Where it is configured or written.
    pub(super) place: Option<String>,
    /// What to do.
    pub(super) advice: Option<String>,
}

impl Finding {
    pub(super) fn new(level: Level, text: impl Into<String>) -> Self {
        Self { level, text: text.into(), place: None, advice: None }
    }

    pub(super) fn ok(text: impl Into<String>) -> Self {
        Self::new(Level::Ok, text)
    }

    pub(super) fn note(text: impl Into<String>) -> Self {
        Self::new(Level::Note, text)
    }

    pub(super) fn warning(text: impl Into<String>) -> Self {
        Self::new(Level::Warning, text)
    }

    pub(super) fn problem(text: impl Into<String>) -> Self {
        Self::new(Level::Problem, text)
    }

    pub(super) fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    pub(super) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    fn to_json(&self, topic: &str) -> Value {
        json!({
            "topic": topic,
            "level": self.level.word(),
            "text": self.text,
            "place": self.place,
            "advice": self.advice,
        })
    }
}

/// Findings about one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Topic {
    pub(super) name: &'static str,
    pub(super) findings: Vec<Finding>,
}

impl Topic {
    pub(super) fn new(name: &'static str, findings: Vec<Finding>) -> Self {
        Self { name, findings }
    }
}

/// All topics. For people each is printed as soon as it is there; for programs, all at the end.
pub(super) struct Report<'o> {
    format: AnswerFormat,
    out: &'o mut dyn Write,
    topics: Vec<Topic>,
}

impl<'o> Report<'o> {
    pub(super) fn new(format: AnswerFormat, out: &'o mut dyn Write) -> Self {
        Self { format, out, topics: Vec::new() }
    }

    pub(super) fn add(&mut self, topic: Topic) -> Result<()> {
        if self.format == AnswerFormat::Text {
            self.out.write_all(as_text(&topic).as_bytes())?;
            self.out.flush()?;
        }
        self.topics.push(topic);
        Ok(())
    }

    /// Prints the verdict. Problems are bad news.
    pub(super) fn finish(self) -> Result<()> {
        let count = |level: Level| {
            self.topics.iter().flat_map(|topic| &topic.findings).filter(|found| found.level == level).count()
        };
        let (problems, warnings, notes) = (count(Level::Problem), count(Level::Warning), count(Level::Note));
        match self.format {
            AnswerFormat::Text => writeln!(self.out, "{}", verdict(problems, warnings, notes))?,
            AnswerFormat::Json => {
                let topics = self.topics.iter();
                let findings: Vec<Value> = topics
                    .flat_map(|topic| topic.findings.iter().map(|found| found.to_json(topic.name)))
                    .collect();
                let answer = json!({
                    "ready": problems == 0,
                    "problems": problems,
                    "warnings": warnings,
                    "notes": notes,
                    "findings": findings,
                });
                writeln!(self.out, "{}", Json::from(answer))?;
            }
        }
        if problems == 0 { Ok(()) } else { Err(ReportedFailure.into()) }
    }
}

/// Python says at the end what went wrong.
pub(super) fn last_line(stacktrace: &str) -> &str {
    stacktrace.trim_end().lines().last().unwrap_or_default()
}

fn verdict(problems: usize, warnings: usize, notes: usize) -> String {
    let counted = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    };
    let others = format!("{}, {}", counted(warnings, "warning"), counted(notes, "note"));
    match (problems, warnings) {
        (0, 0) => {
            format!("Ready: no problems, {}. docs/swapping.md says how to swap.", counted(notes, "note"))
        }
        (0, _) => format!(
            "Ready, if you can do without what the warnings name: no problems, {others}. docs/swapping.md says how to \
             swap."
        ),
        _ => format!(
            "Not ready: {}, {others}. Mend the problems, and ask again.",
            counted(problems, "problem")
        ),
    }
}

/// A headline, and a line for each finding; places and advice stand below.
fn as_text(topic: &Topic) -> String {
    const WIDTH: usize = 9;
    let mut lines = vec![topic.name.to_owned()];
    for Finding { level, text, place, advice } in &topic.findings {
        lines.push(format!("  {:<WIDTH$}{}", level.word(), on_one_line(text)));
        let below = place.iter().map(|place| format!("at {place}"));
        for line in below.chain(advice.iter().cloned()) {
            lines.push(format!("  {:WIDTH$}{}", "", on_one_line(&line)));
        }
    }
    lines.join("\n") + "\n\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(format: AnswerFormat, topics: Vec<Topic>) -> (String, bool) {
        let mut out = Vec::new();
        let mut report = Report::new(format, &mut out);
        for topic in topics {
            report.add(topic).unwrap();
        }
        let is_ready = report.finish().is_ok();
        (String::from_utf8(out).unwrap(), is_ready)
    }

    #[test]
    fn findings_stand_under_their_topic_with_place_and_advice() {
        let executors = Topic::new(
            "Executors",
            vec![
                Finding::ok("LocalExecutor"),
                Finding::problem("CeleryExecutor is not\nserved")
                    .at("airflow.cfg:3 [core] executor")
                    .advise("wait"),
            ],
        );
        let (text, is_ready) = printed(AnswerFormat::Text, vec![executors]);
        let expected = "Executors\n  ok       LocalExecutor\n  problem  CeleryExecutor is not served\n           at \
                        airflow.cfg:3 [core] executor\n           wait\n\nNot ready: 1 problem, 0 warnings, 0 notes. \
                        Mend the problems, and ask again.\n";
        assert_eq!((text.as_str(), is_ready), (expected, false));
    }

    #[test]
    fn warnings_and_notes_are_no_problem() {
        let topic = |found| Topic::new("Database", vec![found]);
        let (text, is_ready) = printed(AnswerFormat::Text, vec![topic(Finding::note("large"))]);
        assert!(
            is_ready && text.ends_with("Ready: no problems, 1 note. docs/swapping.md says how to swap.\n"),
            "{text}"
        );
        let (text, is_ready) = printed(AnswerFormat::Text, vec![topic(Finding::warning("not done"))]);
        assert!(is_ready && text.contains("Ready, if you can do without"), "{text}");
    }

    #[test]
    fn programs_get_one_document() {
        let topic = Topic::new("Python", vec![Finding::problem("there is none").advise("install one")]);
        let (text, is_ready) = printed(AnswerFormat::Json, vec![topic]);
        let answer: Value = serde_json::from_str(&text).unwrap();
        let finding = json!({
            "topic": "Python",
            "level": "problem",
            "text": "there is none",
            "place": null,
            "advice": "install one",
        });
        let expected =
            json!({"ready": false, "problems": 1, "warnings": 0, "notes": 0, "findings": [finding]});
        assert_eq!((answer, is_ready), (expected, false));
    }
}
