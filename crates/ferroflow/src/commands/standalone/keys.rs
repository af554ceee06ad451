//! The keys of a site: made once, where every command with the same home finds them, an official one as well.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use ferroflow_config::Configuration;
use ferroflow_db::ScopedFutureExt as _;
use ferroflow_db::encoding::fernet::Fernet;
use ferroflow_db::encoding::fernet_rotation;
use fs_err::os::unix::fs::OpenOptionsExt as _;

use crate::session::{Session, block_on};

/// What Airflow makes up when nobody sets it: the Fernet key once, the others in every process anew.
const KEYS: [(&str, &str); 3] = [("core", "fernet_key"), ("api", "secret_key"), ("api_auth", "jwt_secret")];

/// Sees to it that there are keys, and tells where they are. Somebody's own configuration is left as it is, and nothing
/// becomes unreadable.
pub(super) fn provide(session: Session, home: &Path) -> Result<(Session, String)> {
    let missing = missing(&session.configuration)?;
    let file = home.join("airflow.cfg");
    let path = session.environment().current_dir().join(session.configuration.path());
    if missing.is_empty() || path != file || path.exists() {
        let told = not_made(&session, &path);
        return Ok((session, told));
    }
    if !session.fernet.is_encrypting() && block_on(is_encrypted(&session))? {
        let told = "none made: what is encrypted in the database needs the [core] fernet_key that it was encrypted with";
        return Ok((session, told.to_owned()));
    }
    if !make(&file, &missing).with_context(|| file.display().to_string())? {
        let session = session.read_anew()?;
        let told = not_made(&session, &path);
        return Ok((session, told));
    }
    let told = format!("{}: keep this file, and keep it to yourself", file.display());
    Ok((session.read_anew()?, told))
}

fn missing(configuration: &Configuration) -> Result<Vec<(&'static str, &'static str)>> {
    let is_set = |section: &str, key: &str| -> Result<bool> {
        Ok(configuration.get(section, key)?.is_some_and(|value| !value.text.is_empty()))
    };
    let mut missing = Vec::new();
    for (section, key) in KEYS {
        // Tokens are signed with one of the two, and Airflow refuses to have both.
        let is_needless = key == "jwt_secret" && is_set("api_auth", "jwt_private_key_path")?;
        if !is_needless && !is_set(section, key)? {
            missing.push((section, key));
        }
    }
    Ok(missing)
}

fn not_made(session: &Session, path: &Path) -> String {
    if session.fernet.is_encrypting() {
        return "as configured".to_owned();
    }
    format!("{} does not set [core] fernet_key; passwords are stored as plain text", path.display())
}

async fn is_encrypted(session: &Session) -> Result<bool> {
    let db = session.connect().await?;
    let found = db.read(|tx| async move { fernet_rotation::has_encrypted(tx).await }.scope_boxed()).await;
    db.close().await;
    Ok(found?)
}

/// Writes the file, in one piece and for nobody else to read. False if somebody else has made one.
fn make(file: &Path, missing: &[(&str, &str)]) -> io::Result<bool> {
    let mut text = "# Made by `ferroflow standalone`. Without the Fernet key, what is encrypted in the database is lost.\n".to_owned();
    for (section, key) in missing {
        // Writing to a string does not fail.
        let _ = write!(text, "\n[{section}]\n{key} = {}\n", Fernet::make_key());
    }
    // Another may be at the same.
    let unfinished = PathBuf::from(format!("{}.{}.unfinished", file.display(), std::process::id()));
    if unfinished.exists() {
        fs_err::remove_file(&unfinished)?;
    }
    let mut options = fs_err::OpenOptions::new();
    let mut written = options.write(true).create_new(true).mode(0o600).open(&unfinished)?;
    written.write_all(text.as_bytes())?;
    written.sync_all()?;
    let put = put(&unfinished, file, fs_err::hard_link(&unfinished, file));
    if unfinished.exists() {
        fs_err::remove_file(&unfinished)?;
    }
    match put {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Gives a file its name, unless one has it: by a link, if that could be made.
fn put(unfinished: &Path, file: &Path, linked: io::Result<()>) -> io::Result<()> {
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {}
        linked => return linked,
    }
    // Not every file system has links. So the name is taken first, by an empty file, as none else can.
    fs_err::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
    fs_err::rename(unfinished, file).inspect_err(|_| drop(fs_err::remove_file(file)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_system_without_links_will_do() {
        let folder = tempfile::tempdir().unwrap();
        let [unfinished, file] = ["unfinished", "file"].map(|name| folder.path().join(name));
        for (text, is_put) in [("first", true), ("second", false)] {
            fs_err::write(&unfinished, text).unwrap();
            fs_err::set_permissions(&unfinished, std::fs::Permissions::from_mode(0o600)).unwrap();
            let put = put(&unfinished, &file, Err(io::ErrorKind::PermissionDenied.into()))
                .map_err(|error| error.kind());
            assert_eq!(put, if is_put { Ok(()) } else { Err(io::ErrorKind::AlreadyExists) });
            assert_eq!(fs_err::read_to_string(&file).unwrap(), "first");
            assert_eq!(fs_err::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
