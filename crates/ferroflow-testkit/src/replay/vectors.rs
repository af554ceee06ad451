//! The text of a file of vectors, taken apart without losing anything.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// The text of a file, which is compressed when its name says so. Nothing may follow what is compressed.
pub fn read(path: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    let mut file = BufReader::new(File::open(path)?);
    if path.extension().is_some_and(|extension| extension == "gz") {
        MultiGzDecoder::new(file).read_to_string(&mut text)?;
    } else {
        file.read_to_string(&mut text)?;
    }
    Ok(text)
}

/// What a file or a part of it is, by its first character.
pub(super) enum Shape {
    Object,
    List,
    Other,
}

impl Shape {
    pub(super) fn of(text: &RawValue) -> Self {
        match text.get().trim_start().chars().next() {
            Some('{') => Self::Object,
            Some('[') => Self::List,
            _ => Self::Other,
        }
    }
}

/// The entries of an object in their order; a key may stand there twice.
pub(super) struct Entries<'t>(pub(super) Vec<(String, &'t RawValue)>);

impl<'t> Deserialize<'t> for Entries<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'t> Visitor<'t> for EntriesVisitor {
    type Value = Entries<'t>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Entries<'t>, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Entries(entries))
    }
}

/// A record, of which no object has a field twice.
pub(super) fn record(text: &RawValue) -> Result<Value, String> {
    let record = parsed(text)?;
    refuse_repetition(text)?;
    Ok(record)
}

fn refuse_repetition(text: &RawValue) -> Result<(), String> {
    match Shape::of(text) {
        Shape::Object => {
            let mut seen = BTreeSet::new();
            for (key, inner) in parsed::<Entries<'_>>(text)?.0 {
                refuse_repetition(inner)?;
                if let Some(key) = seen.replace(key) {
                    return Err(format!("the field {key} stands twice"));
                }
            }
            Ok(())
        }
        Shape::List => parsed::<Vec<&RawValue>>(text)?.into_iter().try_for_each(refuse_repetition),
        Shape::Other => Ok(()),
    }
}

fn parsed<'t, T: Deserialize<'t>>(text: &'t RawValue) -> Result<T, String> {
    serde_json::from_str(text.get()).map_err(|error| error.to_string())
}
