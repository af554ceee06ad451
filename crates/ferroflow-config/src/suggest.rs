//! Near names for a name that does not exist.

use crate::configuration::Configuration;
use crate::error::Error;
use crate::facts::{FACTS, Name};

/// Why an option has no value, with the nearest names if it does not exist.
pub(crate) fn explain_absence(configuration: &Configuration, section: &str, key: &str) -> Error {
    let Name { section, key } = FACTS.names(section, key).today;
    let options = configuration.options(&section);
    if options.contains(&key.as_str()) {
        let variable = Name::new(&section, &key).variable();
        return Error::NotSet { section, key, variable };
    }
    if options.is_empty() {
        return unknown_section(configuration, &section);
    }
    let elsewhere = configuration
        .sections()
        .into_iter()
        .filter(|other| configuration.options(other).contains(&key.as_str()))
        .map(|other| format!("[{other}] {key}"));
    let suggestions =
        nearest(&key, options).map(str::to_owned).chain(elsewhere).take(MAX_SUGGESTIONS).collect();
    Error::UnknownOption { section, key, suggestions }
}

/// That a section does not exist, with the nearest names.
pub(crate) fn unknown_section(configuration: &Configuration, section: &str) -> Error {
    let names = nearest(section, configuration.sections());
    Error::UnknownSection {
        section: section.to_owned(),
        suggestions: names.map(|name| format!("[{name}]")).collect(),
    }
}

const MAX_SUGGESTIONS: usize = 3;

/// Names that differ in at most a third of their letters, nearest first; three at most.
pub fn nearest<'a>(wanted: &str, names: Vec<&'a str>) -> impl Iterator<Item = &'a str> + use<'a> {
    let most = wanted.chars().count() / 3 + 1;
    let mut near: Vec<(usize, &str)> = names
        .into_iter()
        .map(|name| (distance(wanted, name), name))
        .filter(|(distance, _)| *distance <= most)
        .collect();
    near.sort_unstable();
    near.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name)
}

/// Levenshtein's distance.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, c) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for column in 1..=to.len() {
            let substituted = diagonal + usize::from(c != to[column - 1]);
            diagonal = row[column];
            row[column] = substituted.min(row[column] + 1).min(row[column - 1] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case("", "" => 0)]
    #[test_case("abc", "" => 3)]
    #[test_case("kitten", "sitting" => 3)]
    #[test_case("paralellism", "parallelism" => 2)]
    fn distances(from: &str, to: &str) -> usize {
        distance(from, to)
    }
}
