//! What goes into the managed interpreter: the versions that ferroflow is tested with.
//!
//! They are those of the repository's own lock file, so that there is nothing to keep in step. Left out of it are
//! ruff, which checks our sources, and the drivers of MySQL, one of which has to be compiled, unless the database is
//! one. The Celery and Git providers stay: deployments use them, and Airflow has no driver of a queue or bundles from
//! repositories without them.

/// Every version and hash.
const LOCK: &str = include_str!("../../../../python/requirements.lock");
/// What builds the one package that has no wheel.
const BUILD_LOCK: &str = include_str!("../../../../python/build-requirements.lock");

const FOR_TESTS_ALONE: [&str; 1] = ["ruff"];
const FOR_MYSQL: [&str; 3] = ["aiomysql", "mysqlclient", "pymysql"];

/// Packages with their versions and hashes, as pip reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirements {
    /// What is installed.
    pub packages: String,
    /// What must be there before, to build some of it.
    pub build: Option<String>,
}

impl Requirements {
    /// Airflow, with the drivers for a database of this URL.
    pub fn for_database(url: &str) -> Self {
        let is_mysql = url.starts_with("mysql") || url.starts_with("mariadb");
        let is_left_out =
            |name: &str| FOR_TESTS_ALONE.contains(&name) || (!is_mysql && FOR_MYSQL.contains(&name));
        Self { packages: without(LOCK, is_left_out), build: is_mysql.then(|| BUILD_LOCK.to_owned()) }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        names(&self.packages).count()
    }

    /// The packages in lists of at most so many.
    pub(super) fn parts(&self, most: usize) -> Vec<String> {
        let mut parts: Vec<String> = Vec::new();
        let mut begun = 0_usize;
        for line in self.packages.lines() {
            if name(line).is_some() {
                if begun.is_multiple_of(most) {
                    parts.push(String::new());
                }
                begun += 1;
            }
            if let Some(part) = parts.last_mut() {
                part.push_str(line);
                part.push('\n');
            }
        }
        parts
    }
}

/// A lock file without some packages. Each begins with a line of its own, and its hashes are indented below.
fn without(lock: &str, is_left_out: impl Fn(&str) -> bool) -> String {
    let mut kept = String::with_capacity(lock.len());
    let mut keeps = true;
    for line in lock.lines() {
        if let Some(name) = name(line) {
            keeps = !is_left_out(name);
        }
        if keeps {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

fn names(lock: &str) -> impl Iterator<Item = &str> {
    lock.lines().filter_map(name)
}

fn name(line: &str) -> Option<&str> {
    line.split_once("==").map(|(name, _)| name).filter(|name| !name.starts_with([' ', '#']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_get_what_is_tested_without_what_only_tests_need() {
        let all: Vec<&str> = names(LOCK).collect();
        let plain = Requirements::for_database("postgresql+psycopg2://db/airflow");
        let kept: Vec<&str> = names(&plain.packages).collect();
        for name in FOR_TESTS_ALONE.iter().chain(&FOR_MYSQL) {
            assert!(all.contains(name) && !kept.contains(name), "{name}");
        }
        assert_eq!(kept.len(), all.len() - 4);
        assert_eq!(plain.count(), kept.len());
        for name in ["apache-airflow-core", "apache-airflow-providers-git", "psycopg2-binary", "asyncpg"] {
            assert!(kept.contains(&name), "{name}");
        }
        assert_eq!(plain.build, None);
        let hashes = |text: &str| text.matches("--hash=").count();
        assert!(hashes(&plain.packages) < hashes(LOCK) && hashes(&plain.packages) > kept.len());
    }

    #[test]
    fn parts_have_everything_once_and_no_part_has_more_than_asked() {
        let all = Requirements::for_database("sqlite://");
        let parts = all.parts(20);
        assert_eq!(parts.len(), all.count().div_ceil(20));
        assert!(parts.iter().all(|part| (1..=20).contains(&names(part).count())));
        let text = parts.concat();
        assert!(all.packages.ends_with(&text), "nothing but what comes before the first package is left out");
        assert_eq!(names(&text).count(), all.count());
    }

    #[test]
    fn mysql_gets_its_drivers_and_what_builds_them() {
        for url in ["mysql+mysqldb://db/airflow", "mariadb://db/airflow"] {
            let requirements = Requirements::for_database(url);
            let kept: Vec<&str> = names(&requirements.packages).collect();
            assert!(FOR_MYSQL.iter().all(|name| kept.contains(name)), "{url}");
            assert!(requirements.build.unwrap().contains("setuptools=="));
        }
    }
}
