//! What is known of every option: default, sensitivity, former names, allowed values.
//!
//! The tables are data: Airflow's is recorded from Airflow by `testdata/config/record_defaults.py`, the one of
//! ferroflow's own options is written by hand.

use std::sync::LazyLock;

use indexmap::IndexMap;
use serde::Deserialize;

/// The facts, parsed on first use.
pub(crate) static FACTS: LazyLock<Facts> = LazyLock::new(|| {
    let mut facts: Facts = serde_json::from_str(include_str!("../defaults/airflow-3.3.2.json"))
        .expect("the embedded table of Airflow's options is valid");
    let own: Sections = serde_json::from_str(include_str!("../defaults/ferroflow.json"))
        .expect("the embedded table of ferroflow's options is valid");
    facts.sections.extend(own);
    facts
});

/// All tables.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Facts {
    pub(crate) renamed: Vec<Rename>,
    replaced_values: Vec<ReplacedValue>,
    /// Section, option, allowed values. An empty value is always allowed.
    choices: Vec<(String, String, Vec<String>)>,
    pub(crate) sections: Sections,
}

type Sections = IndexMap<String, IndexMap<String, OptionFacts>>;

/// One option.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OptionFacts {
    /// `{AIRFLOW_HOME}` stands for Airflow's home, `{SECRET_KEY}` for a key that every process makes for itself.
    pub(crate) default: Option<String>,
    #[serde(default)]
    pub(crate) layer: Layer,
    #[serde(default)]
    sensitive: bool,
}

/// The set of defaults that an option belongs to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Layer {
    #[default]
    Core,
    Provider,
    Fallback,
    Ferroflow,
}

/// An option that had another name: section, key, former section, former key, since which release.
#[derive(Debug, Deserialize)]
pub(crate) struct Rename(String, String, String, String, String);

/// A former default that stands for a new one: section, key, old text, new text.
#[derive(Debug, Deserialize)]
struct ReplacedValue(String, String, String, String);

/// Section and key of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) section: String,
    pub(crate) key: String,
}

impl Name {
    pub(crate) fn new(section: &str, key: &str) -> Self {
        Self { section: section.to_owned(), key: key.to_owned() }
    }

    /// The environment variable of the option.
    pub(crate) fn variable(&self) -> String {
        format!("AIRFLOW__{}__{}", self.section.replace('.', "_").to_uppercase(), self.key.to_uppercase())
    }
}

/// An option to look up: its name of today, and the former one under which it may still be configured.
#[derive(Debug)]
pub(crate) struct Names {
    pub(crate) today: Name,
    pub(crate) former: Option<Name>,
}

impl Names {
    /// In the order in which they are tried.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Name> {
        std::iter::once(&self.today).chain(&self.former)
    }
}

impl Rename {
    pub(crate) fn today(&self) -> Name {
        Name::new(&self.0, &self.1)
    }

    pub(crate) fn former(&self) -> Name {
        Name::new(&self.2, &self.3)
    }

    pub(crate) fn since(&self) -> &str {
        &self.4
    }
}

impl Facts {
    pub(crate) fn option(&self, section: &str, key: &str) -> Option<&OptionFacts> {
        self.sections.get(section)?.get(key)
    }

    /// The rename that made `section`, `key` a former name. Of two, the later wins, as in Airflow.
    pub(crate) fn renamed_from(&self, section: &str, key: &str) -> Option<&Rename> {
        self.renamed.iter().rev().find(|rename| rename.2 == section && rename.3 == key)
    }

    /// The names to try for an option asked for by any of its names, in any case.
    pub(crate) fn names(&self, section: &str, key: &str) -> Names {
        let asked = Name::new(&section.to_lowercase(), &key.to_lowercase());
        if let Some(rename) = self.renamed_from(&asked.section, &asked.key) {
            return Names { today: rename.today(), former: Some(asked) };
        }
        let rename = self.renamed.iter().find(|rename| rename.0 == asked.section && rename.1 == asked.key);
        Names { former: rename.map(Rename::former), today: asked }
    }

    /// Whether the option's value must not be shown unasked, and may come from a command.
    pub(crate) fn is_sensitive(&self, section: &str, key: &str) -> bool {
        let listed =
            |section: &str, key: &str| self.option(section, key).is_some_and(|facts| facts.sensitive);
        listed(section, key)
            || self
                .renamed
                .iter()
                .any(|rename| rename.2 == section && rename.3 == key && listed(&rename.0, &rename.1))
    }

    /// Like [`Facts::is_sensitive`], also for the options of one team in sections `[team=section]`.
    pub(crate) fn is_sensitive_for_a_team(&self, section: &str, key: &str) -> bool {
        let (section, key) = (section.to_lowercase(), key.to_lowercase());
        let Some((_, base)) = section.rsplit_once('=') else {
            return self.is_sensitive(&section, &key);
        };
        let without_suffix = key.strip_suffix("_cmd").or_else(|| key.strip_suffix("_secret"));
        self.is_sensitive(base, &key) || without_suffix.is_some_and(|key| self.is_sensitive(base, key))
    }

    /// The text that stands for a value that is no longer valid as it is.
    pub(crate) fn upgraded(&self, name: &Name, text: &str) -> Option<String> {
        if name.section == "database" && name.key == "sql_alchemy_conn" {
            let rest = text.strip_prefix("postgres://").or_else(|| text.strip_prefix("postgres+psycopg2://"));
            return rest.map(|rest| format!("postgresql://{rest}"));
        }
        let ReplacedValue(_, _, old, new) = self.replaced_values.iter().find(|replaced| {
            replaced.0 == name.section && replaced.1 == name.key && text.contains(&replaced.2)
        })?;
        Some(text.replace(old, new))
    }

    /// The options for which [`Facts::upgraded`] may have an answer.
    pub(crate) fn upgradable(&self) -> impl Iterator<Item = Name> {
        let replaced = self.replaced_values.iter().map(|replaced| Name::new(&replaced.0, &replaced.1));
        replaced.chain([Name::new("database", "sql_alchemy_conn")])
    }

    /// The only values that Airflow accepts for the option besides an empty one, if it checks them.
    pub(crate) fn choices(&self, section: &str, key: &str) -> Option<&[String]> {
        let (.., choices) = self.choices.iter().find(|(of, option, _)| of == section && option == key)?;
        Some(choices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_there() {
        assert!(FACTS.sections.len() > 30);
        assert_eq!(FACTS.option("core", "parallelism").unwrap().default.as_deref(), Some("32"));
        assert_eq!(FACTS.option("ferroflow", "database_statement_cache").unwrap().layer, Layer::Ferroflow);
        assert!(
            FACTS.is_sensitive("core", "sql_alchemy_conn"),
            "former names of sensitive options are sensitive"
        );
        assert!(FACTS.is_sensitive_for_a_team("red=celery", "broker_url_cmd"));
        assert!(!FACTS.is_sensitive("core", "parallelism"));
    }

    #[test]
    fn a_former_name_leads_to_the_name_of_today() {
        let names = FACTS.names("Scheduler", "DAG_DIR_LIST_INTERVAL");
        assert_eq!(names.today, Name::new("dag_processor", "refresh_interval"));
        assert_eq!(names.former, Some(Name::new("scheduler", "dag_dir_list_interval")));
    }
}
