//! YAML as Airflow reads it: by the rules of version 1.1 (`yes` is true, `010` is eight), as JSON has it.
//!
//! What a plain word means is decided here: libraries go by 1.2, or by rules of their own.

mod scalar;

use std::collections::HashMap;

use anyhow::{Result, bail};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput};
use serde_json::{Map, Value};

/// So many levels are read; more would be no file of a person's.
const DEEPEST: usize = 100;
/// So many values are made: aliases can repeat what repeats others.
const MAX_VALUES: usize = 1_000_000;
/// The key that takes over what another map has.
const MERGE: &str = "<<";

/// What a document means.
pub(super) fn parse(text: &str) -> Result<Value> {
    let mut reader = Reader { parser: Parser::new_from_str(text), anchors: HashMap::new(), values: 0 };
    let mut found = None;
    loop {
        match reader.next()? {
            (Event::StreamEnd, _) => return Ok(found.unwrap_or(Value::Null)),
            (Event::DocumentStart(_), span) => {
                if found.is_some() {
                    bail!("line {}: there is a second document", line(&span.start));
                }
                found = Some(reader.value(0)?);
            }
            _ => {}
        }
    }
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    anchors: HashMap<usize, (Value, usize)>,
    values: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span)> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => bail!("line {}: {}", line(error.marker()), error.info()),
            None => bail!("it ends too early"),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value> {
        let next = self.next()?;
        self.value_of(next, depth)
    }

    fn value_of(&mut self, (event, span): (Event<'a>, Span), depth: usize) -> Result<Value> {
        let line = line(&span.start);
        if depth > DEEPEST {
            bail!("line {line}: it is nested too deep");
        }
        let before = self.values;
        self.count(1, line)?;
        let (value, anchor) = match event {
            Event::Alias(anchor) => {
                let Some((value, size)) = self.anchors.get(&anchor).cloned() else {
                    bail!("line {line}: an alias stands within what it is for");
                };
                self.count(size, line)?;
                (value, 0)
            }
            Event::Scalar(text, style, anchor, tag) => {
                let is_plain = style == ScalarStyle::Plain;
                let meant = scalar::meaning(&text, is_plain, tag.as_deref());
                (meant.map_err(|problem| problem.context(format!("line {line}")))?, anchor)
            }
            Event::SequenceStart(anchor, _) => (Value::Array(self.list(depth)?), anchor),
            Event::MappingStart(anchor, _) => (Value::Object(self.map(depth)?), anchor),
            _ => bail!("line {line}: a value is missing"),
        };
        if anchor > 0 {
            self.anchors.insert(anchor, (value.clone(), self.values - before));
        }
        Ok(value)
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Value>> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(items),
                next => items.push(self.value_of(next, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Map<String, Value>> {
        let (mut merged, mut own) = (Map::new(), Vec::new());
        loop {
            let next = match self.next()? {
                (Event::MappingEnd, _) => break,
                next => next,
            };
            let line = line(&next.1.start);
            let is_merge = matches!(&next.0, Event::Scalar(text, ScalarStyle::Plain, ..) if text == MERGE);
            let key = self.value_of(next, depth + 1)?;
            let value = self.value(depth + 1)?;
            if is_merge {
                merge(&mut merged, value, line)?;
            } else {
                own.push((name(key, depth, line)?, value));
            }
        }
        merged.extend(own);
        Ok(merged)
    }

    fn count(&mut self, more: usize, line: usize) -> Result<()> {
        self.values += more;
        if self.values > MAX_VALUES {
            bail!("line {line}: there is too much in it");
        }
        Ok(())
    }
}

/// Takes over what there is not yet. Of several maps, the first has the last word.
fn merge(into: &mut Map<String, Value>, value: Value, line: usize) -> Result<()> {
    let maps = match value {
        Value::Array(maps) => maps,
        one => vec![one],
    };
    for map in maps {
        let Value::Object(entries) = map else { bail!("line {line}: {MERGE} is for maps") };
        for (name, value) in entries {
            into.entry(name).or_insert(value);
        }
    }
    Ok(())
}

/// A key as a text. Within values it is what JSON makes of it; on top it names something, and a word that means
/// something else is a mistake.
fn name(key: Value, depth: usize, line: usize) -> Result<String> {
    match key {
        Value::String(name) => Ok(name),
        Value::Array(_) | Value::Object(_) => bail!("line {line}: a key is a list or a map"),
        other if depth > 0 => Ok(other.to_string()),
        other => bail!("line {line}: a key means {other}; put it in quotes"),
    }
}

fn line(marker: &Marker) -> usize {
    marker.line()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_read() {
        let text =
            "a: &x {k: [1, yes]}\nb:\n  <<: *x\n  l: |\n    two\n    lines\n'no': *x\nc: {1: 2, yes: }\n";
        let expected = concat!(
            r#"{"a":{"k":[1,true]},"b":{"k":[1,true],"l":"two\nlines\n"},"#,
            r#""no":{"k":[1,true]},"c":{"1":2,"true":null}}"#
        );
        assert_eq!(parse(text).unwrap().to_string(), expected);
        assert_eq!(parse("# nothing\n").unwrap(), Value::Null);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (text, told) in [
            ("a: 1\nb: [1\n", "line 3"),
            ("a: 1\nno: 2\n", "line 2: a key means false; put it in quotes"),
            ("a: &x [*x]\n", "within what it is for"),
            ("a: *x\n", "line 1"),
            ("a: 1\n---\nb: 2\n", "line 2: there is a second document"),
            ("a: !!python/name:os.system x\n", "line 1"),
            ("? [a]\n: 1\n", "line 1: a key is a list or a map"),
        ] {
            let problem = format!("{:#}", parse(text).unwrap_err());
            assert!(problem.contains(told), "{text:?}: {problem}");
        }
    }

    #[test]
    fn what_repeats_itself_is_bounded() {
        let line = |n: usize| match n {
            0 => "a0: &a0 [x]\n".to_owned(),
            n => format!("a{n}: &a{n} [{}]\n", format!("*a{}, ", n - 1).repeat(10)),
        };
        let text: String = (0..12).map(line).collect();
        assert!(parse(&text).unwrap_err().to_string().contains("too much"));
        let deep = format!("a: {}{}", "[".repeat(5000), "]".repeat(5000));
        assert!(parse(&deep).is_err());
    }
}
