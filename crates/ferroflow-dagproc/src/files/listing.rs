//! The DAG files of a bundle.

use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use jiff::{Timestamp, ToSpan as _};

use super::archive::{self, Member};
use super::ignore::IgnoreSyntax;
use super::problem::{ListingError, Problem};
use super::safe_mode::might_contain_dag;
use super::walk::{Found, walk};

/// How many files of bundles other than the one that is listed are remembered.
const REMEMBERED: usize = 200_000;

/// The site's own `[core] might_contain_dag_callable`: an answer to each question, in their order.
pub type Ask = dyn FnMut(&[Candidate]) -> Result<Vec<bool>, Box<dyn Error + Send + Sync>> + Send;

/// What decides which files are DAG files.
#[derive(Debug)]
pub struct ListingRules {
    /// How ignore files are read.
    pub ignore_syntax: IgnoreSyntax,
    /// Whether files are looked into.
    pub safe_mode: SafeMode,
}

/// `[core] dag_discovery_safe_mode`, and who guesses whether a file holds DAGs.
pub enum SafeMode {
    /// Every Python file counts.
    Off,
    /// Only those that speak of Airflow, and of a DAG or an asset.
    Guess,
    /// Those that a bundle class lists; all files of a bundle are asked about at once.
    Ask(Box<Ask>),
}

impl std::fmt::Debug for SafeMode {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Off => "Off",
            Self::Guess => "Guess",
            Self::Ask(_) => "Ask",
        })
    }
}

/// A file, or a member of an archive, of which it is asked whether it might hold a DAG.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The file or the archive, absolute if the bundle's folder is.
    pub path: PathBuf,
    /// The member, if the question is about one.
    pub member: Option<String>,
}

/// What was found in a bundle.
#[derive(Debug, Default)]
pub struct Listing {
    /// The files to parse, by their paths.
    pub files: Vec<ListedFile>,
    /// Where DAGs of this bundle may come from: files, and members of archives as `archive.zip/member.py`.
    pub observed: BTreeSet<String>,
    /// What could not be used; each is worth a warning.
    pub problems: Vec<Problem>,
}

/// One file to parse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFile {
    /// Its path from the bundle's folder.
    pub relative: String,
    /// When it last changed.
    pub modified: Timestamp,
    /// In bytes.
    pub size: u64,
    /// What changes when the file does.
    pub stamp: Stamp,
}

/// Lists bundles, and remembers what it saw in files that stay as they are.
#[derive(Debug)]
pub struct Lister {
    rules: ListingRules,
    remembered: HashMap<PathBuf, HashMap<String, Remembered>>,
}

#[derive(Debug)]
struct Remembered {
    stamp: Stamp,
    kind: Kind,
}

/// What changes when a file does: also the time of a rename or a change of rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// What a file is by its name and content.
#[derive(Debug, Clone)]
enum Kind {
    /// Nothing to parse.
    Other,
    Python,
    Archive(Result<Vec<Member>, String>),
}

/// A file to parse, while it may still be taken back.
struct Kept {
    found: Found,
    listed: ListedFile,
    kind: Kind,
}

impl Lister {
    /// One that remembers nothing yet.
    pub fn new(rules: ListingRules) -> Self {
        Self { rules, remembered: HashMap::new() }
    }

    /// The DAG files below a folder. Reads the disk: not for a thread that others wait for.
    pub fn list(&mut self, root: &Path, now: Timestamp) -> Result<Listing, ListingError> {
        let mut listing = Listing::default();
        let found = walk(root, self.rules.ignore_syntax, &mut listing.problems)?;
        let before = self.remembered.remove(root).unwrap_or_default();
        let mut after = HashMap::with_capacity(before.len());
        let mut kept = Vec::new();
        let looks_inside = matches!(self.rules.safe_mode, SafeMode::Guess);
        for found in found {
            let Some(metadata) = stat(&found, &mut listing.problems) else { continue };
            let stamp = Stamp::of(&metadata);
            let kind = match before.get(&found.relative).filter(|remembered| remembered.stamp == stamp) {
                Some(remembered) => remembered.kind.clone(),
                None => match examine(&found.absolute, looks_inside) {
                    Ok(kind) => kind,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(source) => {
                        listing.problems.push(Problem::UnreadableFile { path: found.relative, source });
                        continue;
                    }
                },
            };
            if stamp.is_settled(now) {
                after.insert(found.relative.clone(), Remembered { stamp, kind: kind.clone() });
            }
            if !matches!(kind, Kind::Other) {
                let relative = found.relative.clone();
                let listed = ListedFile { relative, modified: stamp.modified(), size: stamp.size, stamp };
                kept.push(Kept { found, listed, kind });
            }
        }
        self.remember(root, after);
        if let SafeMode::Ask(ask) = &mut self.rules.safe_mode {
            keep_by_asking(root, &mut kept, ask)?;
        }
        kept.sort_unstable_by(|left, right| left.found.relative.cmp(&right.found.relative));
        for kept in kept {
            listing.add(kept);
        }
        Ok(listing)
    }

    /// Keeps memory bounded: bundles that come and go under ever new paths are forgotten.
    fn remember(&mut self, root: &Path, files: HashMap<String, Remembered>) {
        if self.remembered.values().map(HashMap::len).sum::<usize>() > REMEMBERED {
            self.remembered.clear();
        }
        self.remembered.insert(root.to_owned(), files);
    }
}

/// What is known of a regular file, through links; none if it is something else or gone.
fn stat(found: &Found, problems: &mut Vec<Problem>) -> Option<Metadata> {
    match std::fs::metadata(&found.absolute) {
        Ok(metadata) => metadata.is_file().then_some(metadata),
        Err(error) => {
            let is_dag_file = has_extension(&found.absolute, "py") || has_extension(&found.absolute, "zip");
            let is_hidden =
                found.absolute.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            // Editors mark what is being edited with hidden links that lead nowhere.
            if is_dag_file && !is_hidden && found.absolute.is_symlink() {
                problems.push(Problem::BrokenLink { path: found.relative.clone() });
            } else if is_dag_file && error.kind() != io::ErrorKind::NotFound {
                problems.push(Problem::UnreadableFile { path: found.relative.clone(), source: error });
            }
            None
        }
    }
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

fn examine(path: &Path, looks_inside: bool) -> io::Result<Kind> {
    if has_extension(path, "py") {
        // An archive counts under any name.
        let is_dag_file = !looks_inside || might_contain_dag(File::open(path)?)? || archive::is_archive(path);
        return Ok(if is_dag_file { Kind::Python } else { Kind::Other });
    }
    if !archive::is_archive(path) {
        return Ok(Kind::Other);
    }
    Ok(Kind::Archive(archive::members(path, looks_inside)))
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    fn modified(&self) -> Timestamp {
        let nanosecond = i32::try_from(self.modified.1).unwrap_or(0);
        Timestamp::new(self.modified.0, nanosecond).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// The clocks of file systems are coarse: a file that changed just now may change again with the same stamp.
    fn is_settled(&self, now: Timestamp) -> bool {
        let settled = now.checked_sub(3.seconds()).unwrap_or(Timestamp::MIN);
        self.changed.0 < settled.as_second()
    }
}

/// Leaves out what the site's own function says holds no DAG: files first, then members of those that stay.
fn keep_by_asking(root: &Path, kept: &mut Vec<Kept>, ask: &mut Ask) -> Result<(), ListingError> {
    let questions: Vec<Candidate> =
        kept.iter().map(|kept| Candidate { path: kept.found.absolute.clone(), member: None }).collect();
    let mut answers = answers(root, &questions, ask)?;
    kept.retain(|_| answers.next().unwrap_or(false));
    let members = |kept: &Kept| match &kept.kind {
        Kind::Archive(Ok(members)) => members.clone(),
        _ => Vec::new(),
    };
    let questions: Vec<Candidate> = kept
        .iter()
        .flat_map(|kept| {
            let path = &kept.found.absolute;
            members(kept)
                .into_iter()
                .map(|member| Candidate { path: path.clone(), member: Some(member.name) })
        })
        .collect();
    let mut answers = self::answers(root, &questions, ask)?;
    for kept in kept {
        if let Kind::Archive(Ok(members)) = &mut kept.kind {
            members.retain(|_| answers.next().unwrap_or(false));
        }
    }
    Ok(())
}

fn answers(
    root: &Path,
    questions: &[Candidate],
    ask: &mut Ask,
) -> Result<std::vec::IntoIter<bool>, ListingError> {
    let failed = |source| ListingError::Asking { root: root.to_owned(), source };
    let answers = if questions.is_empty() { Vec::new() } else { ask(questions).map_err(failed)? };
    if answers.len() != questions.len() {
        return Err(failed(format!("{} answers to {} questions", answers.len(), questions.len()).into()));
    }
    Ok(answers.into_iter())
}

impl Listing {
    fn add(&mut self, kept: Kept) {
        let path = kept.listed.relative.clone();
        match kept.kind {
            // A file called just `.py` has no extension, but that is how its DAGs would be looked for.
            Kind::Archive(members) if !path.as_bytes().ends_with(b".py") => self.add_members(&path, members),
            _ => {
                self.observed.insert(path);
            }
        }
        self.files.push(kept.listed);
    }

    fn add_members(&mut self, archive: &str, members: Result<Vec<Member>, String>) {
        let members = members.unwrap_or_else(|why| {
            self.problems.push(Problem::BadArchive { path: archive.to_owned(), why });
            Vec::new()
        });
        for Member { name, might_contain_dag } in members {
            let bad =
                |why: String| Problem::BadMember { path: archive.to_owned(), member: name.clone(), why };
            if name.starts_with('/') {
                self.problems.push(bad("its name is an absolute path".to_owned()));
                continue;
            }
            let is_observed = might_contain_dag.unwrap_or_else(|why| {
                self.problems.push(bad(why));
                true
            });
            if is_observed {
                let parts = name.split('/').filter(|part| !part.is_empty() && *part != ".");
                let path: Vec<&str> = std::iter::once(archive).chain(parts).collect();
                self.observed.insert(path.join("/"));
            }
        }
    }
}
