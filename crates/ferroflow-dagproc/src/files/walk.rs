//! The walk through a bundle's folder, which follows symbolic links and honours ignore files.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::ignore::{FILE_NAME, IgnoreSyntax, Rules};
use super::problem::{ListingError, Problem};

/// A file that no rule leaves out, whatever it is.
#[derive(Debug)]
pub(super) struct Found {
    /// From the bundle's folder.
    pub(super) relative: String,
    pub(super) absolute: PathBuf,
}

/// Every file that no rule leaves out, in no order.
pub(super) fn walk(
    root: &Path,
    syntax: IgnoreSyntax,
    problems: &mut Vec<Problem>,
) -> Result<Vec<Found>, ListingError> {
    let unreadable = |source| ListingError::Root { path: root.to_owned(), source };
    let resolved = std::fs::canonicalize(root).map_err(unreadable)?;
    let mut walk =
        Walk { root, syntax, problems, seen: HashSet::new(), found: Vec::new(), folders: Vec::new() };
    let folder =
        Folder { absolute: root.to_owned(), relative: String::new(), resolved, rules: Rules::default() };
    let entries = entries(&folder.absolute).map_err(unreadable)?;
    walk.visit(&folder, entries)?;
    while let Some(folder) = walk.folders.pop() {
        match self::entries(&folder.absolute) {
            Ok(entries) => walk.visit(&folder, entries)?,
            // It was there a moment ago.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => walk.problems.push(Problem::UnreadableFolder { path: folder.relative, source }),
        }
    }
    Ok(walk.found)
}

struct Walk<'a> {
    root: &'a Path,
    syntax: IgnoreSyntax,
    problems: &'a mut Vec<Problem>,
    /// Folders without symbolic links in their paths.
    seen: HashSet<PathBuf>,
    found: Vec<Found>,
    /// Still to be visited.
    folders: Vec<Folder>,
}

struct Folder {
    absolute: PathBuf,
    relative: String,
    resolved: PathBuf,
    rules: Rules,
}

struct Entry {
    absolute: PathBuf,
    is_folder: bool,
    is_link: bool,
}

impl Entry {
    fn name(&self) -> &OsStr {
        self.absolute.file_name().unwrap_or_default()
    }
}

/// What is in a folder. A link is what it leads to.
fn entries(folder: &Path) -> io::Result<Vec<Entry>> {
    std::fs::read_dir(folder)?
        .map(|entry| {
            let entry = entry?;
            let absolute = entry.path();
            let kind = entry.file_type()?;
            let is_folder = if kind.is_symlink() { absolute.is_dir() } else { kind.is_dir() };
            Ok(Entry { absolute, is_folder, is_link: kind.is_symlink() })
        })
        .collect()
}

impl Walk<'_> {
    fn visit(&mut self, folder: &Folder, entries: Vec<Entry>) -> Result<(), ListingError> {
        let rules = self.rules(folder, &entries)?;
        for entry in entries {
            if entry.name() == FILE_NAME && !entry.is_folder {
                continue;
            }
            let name = matchable(entry.name());
            let relative =
                if folder.relative.is_empty() { name } else { format!("{}/{name}", folder.relative) };
            if rules.ignore(&relative, entry.is_folder) {
                continue;
            }
            if entry.is_folder {
                self.enter(folder, &rules, entry, relative)?;
            } else if entry.name().to_str().is_some() {
                self.found.push(Found { relative, absolute: entry.absolute });
            } else if Path::new(entry.name()).extension().is_some_and(|extension| extension == "py") {
                self.problems.push(Problem::NameIsNotText { path: relative });
            }
        }
        Ok(())
    }

    fn rules(&mut self, folder: &Folder, entries: &[Entry]) -> Result<Rules, ListingError> {
        let Some(entry) = entries.iter().find(|entry| entry.name() == FILE_NAME) else {
            return Ok(folder.rules.clone());
        };
        if !entry.absolute.is_file() {
            return Ok(folder.rules.clone());
        }
        match std::fs::read(&entry.absolute) {
            Ok(file) => Ok(folder.rules.with(&file, &folder.relative, self.syntax, self.problems)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(folder.rules.clone()),
            Err(source) => Err(ListingError::IgnoreFile { path: entry.absolute.clone(), source }),
        }
    }

    fn enter(
        &mut self,
        parent: &Folder,
        rules: &Rules,
        entry: Entry,
        relative: String,
    ) -> Result<(), ListingError> {
        let resolved = if entry.is_link {
            std::fs::canonicalize(&entry.absolute).unwrap_or_else(|_| entry.absolute.clone())
        } else {
            parent.resolved.join(entry.name())
        };
        if !self.seen.insert(resolved.clone()) {
            let root = self.root.to_owned();
            return Err(ListingError::Loop { root, path: relative, folder: resolved });
        }
        if entry.name().to_str().is_none() {
            self.problems.push(Problem::NameIsNotText { path: relative });
            return Ok(());
        }
        self.folders.push(Folder { absolute: entry.absolute, relative, resolved, rules: rules.clone() });
        Ok(())
    }
}

/// A name as rules see it: one character for each byte that is no text, as in Python.
fn matchable(name: &OsStr) -> String {
    let mut text = String::new();
    for chunk in name.as_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}
