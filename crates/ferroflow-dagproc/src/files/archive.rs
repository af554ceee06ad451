//! Zip archives of DAG files.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use memchr::memmem;
use zip::ZipArchive;
use zip::read::ZipFile;

use super::safe_mode::might_contain_dag;

const END_RECORD: &[u8] = b"PK\x05\x06";
const END_RECORD_SIZE: u64 = 22;
const MAX_COMMENT_LENGTH: u64 = 1 << 16;
const LOCATOR_64: &[u8] = b"PK\x06\x07";
const LOCATOR_64_SIZE: u64 = 20;
const END_RECORD_64_SIZE: u64 = 56;

/// Whether a file is an archive by its content, as Python's `zipfile.is_zipfile` tells: it ends in the record that
/// ends archives, whatever comes before. What cannot be read is none.
pub(super) fn is_archive(path: &Path) -> bool {
    File::open(path).and_then(|mut file| has_end_record(&mut file)).unwrap_or(false)
}

fn has_end_record(file: &mut File) -> io::Result<bool> {
    let size = file.seek(SeekFrom::End(0))?;
    let Some(last) = size.checked_sub(END_RECORD_SIZE) else { return Ok(false) };
    let end = read_from(file, last)?;
    if end.starts_with(END_RECORD) && end.ends_with(&[0, 0]) {
        return has_one_disk(file, last);
    }
    let searched = last.saturating_sub(MAX_COMMENT_LENGTH);
    let tail = read_from(file, searched)?;
    match memmem::rfind(&tail, END_RECORD) {
        Some(start) if (tail.len() - start) as u64 >= END_RECORD_SIZE => {
            has_one_disk(file, searched + start as u64)
        }
        _ => Ok(false),
    }
}

/// A large archive has a second record before the first. One that is spread over several disks is refused.
fn has_one_disk(file: &mut File, end_record: u64) -> io::Result<bool> {
    let Some(start) = end_record.checked_sub(LOCATOR_64_SIZE) else { return Ok(true) };
    file.seek(SeekFrom::Start(start))?;
    let mut locator = [0; 20];
    file.read_exact(&mut locator)?;
    if !locator.starts_with(LOCATOR_64) {
        return Ok(true);
    }
    let is_one_disk =
        locator[4..8] == [0; 4] && u32::from_le_bytes([16, 17, 18, 19].map(|at| locator[at])) <= 1;
    Ok(is_one_disk && start >= END_RECORD_64_SIZE)
}

fn read_from(file: &mut File, start: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    // A file that grows meanwhile must not be read without end.
    file.take(END_RECORD_SIZE + MAX_COMMENT_LENGTH).read_to_end(&mut content)?;
    Ok(content)
}

/// One entry of an archive, at any depth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    /// As it is written in the archive.
    pub(super) name: String,
    /// Whether it might hold a DAG; or why that cannot be told.
    pub(super) might_contain_dag: Result<bool, String>,
}

/// The entries of an archive. They are looked into if `look_inside`, and otherwise may all hold DAGs.
pub(super) fn members(path: &Path, look_inside: bool) -> Result<Vec<Member>, String> {
    let mut archive = open(path).map_err(|error| error.to_string())?;
    (0..archive.len())
        .map(|index| {
            let name = name_of(&archive, index);
            let found = if look_inside {
                archive
                    .by_index(index)
                    .map_err(|error| error.to_string())
                    .and_then(|member| might_contain_dag(member).map_err(|error| error.to_string()))
            } else {
                Ok(true)
            };
            Ok(Member { name, might_contain_dag: found })
        })
        .collect()
}

/// The content of one entry, or none if the archive has no such entry.
pub(super) fn read_member(path: &Path, name: &str) -> Result<Option<Vec<u8>>, String> {
    let mut archive = open(path).map_err(|error| error.to_string())?;
    let Some(index) = (0..archive.len()).find(|&index| name_of(&archive, index) == name) else {
        return Ok(None);
    };
    let mut content = Vec::new();
    let read =
        |mut member: ZipFile<'_, _>| member.read_to_end(&mut content).map_err(|error| error.to_string());
    archive.by_index(index).map_err(|error| error.to_string()).and_then(read)?;
    Ok(Some(content))
}

fn open(path: &Path) -> Result<ZipArchive<io::BufReader<File>>, zip::result::ZipError> {
    ZipArchive::new(io::BufReader::new(File::open(path)?))
}

/// Python cuts a name at its first zero byte.
fn name_of<R>(archive: &ZipArchive<R>, index: usize) -> String
where
    R: io::Read + io::Seek,
{
    let name = archive.name_for_index(index).and_then(Result::ok).unwrap_or_default();
    name.split('\0').next().unwrap_or_default().to_owned()
}
