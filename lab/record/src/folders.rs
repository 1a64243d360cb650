//! Removal of this machine's folders from stored texts: a path below one is written relative to the working
//! folder, so that a record does not reveal where it was made, and its commands work elsewhere.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Component, Path};

use crate::{RecordError, draft_of};

/// First components of paths that are the same on every machine.
const OF_SYSTEM: [&str; 14] =
    ["bin", "boot", "dev", "etc", "lib", "lib64", "nix", "opt", "proc", "run", "sbin", "sys", "usr", "var"];

/// What stands before the path of a file in a URL, the slash that begins the path included.
const LOCAL: &str = ":///";

/// Absolute folders and files, each with its short name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folders {
    /// Longest path first. The short name of the working folder is empty.
    known: Vec<(String, String)>,
    /// Nothing is shortened.
    absolute: bool,
}

impl Folders {
    /// Returns the working folder, the folder of the program, and `runs`, the folder of records.
    #[must_use]
    pub fn of(runs: &Path) -> Self {
        let mut folders = Folders::default();
        if let Ok(program) = std::env::current_exe() {
            program.parent().into_iter().for_each(|folder| folders.add(folder, ""));
        }
        if let Ok(here) = std::env::current_dir() {
            folders.add(&here, "");
        }
        if let Ok(runs) = std::path::absolute(runs) {
            folders.learn(&runs.to_string_lossy());
        }
        folders
    }

    /// No folders: paths stay as they are.
    #[must_use]
    pub fn absolute() -> Self {
        Folders { known: Vec::new(), absolute: true }
    }

    /// Adds the absolute paths in `text`, a command or a plan, under their last parts. Paths of the system and paths below a
    /// known folder are left out.
    pub fn learn(&mut self, text: &str) {
        if self.absolute {
            return;
        }
        for word in text.split(ends_path) {
            // A URL without a host, as `sqlite:///FILE`, names a file.
            let word =
                word.split_once(LOCAL).map_or(word, |(scheme, _)| &word[scheme.len() + LOCAL.len() - 1..]);
            let path = Path::new(word.trim_end_matches('/'));
            let is_known = self.known.iter().any(|(folder, _)| path.starts_with(folder));
            if let Some(name) = path.file_name().and_then(|name| name.to_str())
                && !is_known
                && is_of_this_machine(path)
            {
                self.add(path, name);
            }
        }
    }

    fn add(&mut self, path: &Path, name: &str) {
        // A folder directly below the root is too short to be told from other text, as `/work` from the path
        // of a URL.
        if path.components().count() > 2
            && let Some(path) = path.to_str()
        {
            self.known.push((path.to_owned(), name.to_owned()));
            self.known.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        }
    }

    /// Replaces these folders and files in `text` by their short names.
    #[must_use]
    pub fn relative<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        for (path, name) in &self.known {
            if text.contains(path.as_str()) {
                text = Cow::Owned(replaced(&text, path, name));
            }
        }
        text
    }

    /// Rewrites the files directly in `folder` that name one of these folders.
    pub(crate) fn rewrite(&self, folder: &Path) -> Result<(), RecordError> {
        for entry in fs::read_dir(folder).map_err(|why| RecordError::read(folder, why))? {
            let entry = entry.map_err(|why| RecordError::read(folder, why))?;
            if entry.file_type().is_ok_and(|kind| kind.is_file()) {
                self.rewrite_file(&entry.path())?;
            }
        }
        Ok(())
    }

    fn rewrite_file(&self, path: &Path) -> Result<(), RecordError> {
        let open = || File::open(path).map(BufReader::new);
        let differs = open().and_then(|file| self.copy(file, io::sink()));
        if !differs.map_err(|why| RecordError::read(path, why))? {
            return Ok(());
        }
        let draft = draft_of(path);
        let written = open().and_then(|file| self.copy(file, BufWriter::new(File::create(&draft)?)));
        let renamed = written.and_then(|_| fs::rename(&draft, path));
        renamed.map_err(|why| RecordError::write(path, why))
    }

    /// Copies lines with short names; returns whether a line changed.
    fn copy(&self, mut from: impl BufRead, mut to: impl Write) -> io::Result<bool> {
        let (mut line, mut changed) = (Vec::new(), false);
        while from.read_until(b'\n', &mut line)? > 0 {
            let text = String::from_utf8_lossy(&line);
            match self.relative(&text) {
                Cow::Owned(relative) if relative != text => {
                    changed = true;
                    to.write_all(relative.as_bytes())?;
                }
                _ => to.write_all(&line)?,
            }
            line.clear();
        }
        to.flush()?;
        Ok(changed)
    }
}

fn ends_path(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '"' | '\'' | '`' | '=' | ',' | ';' | '(' | ')' | '[' | ']' | '<' | '>' | '@' | '\\')
}

/// Whether an absolute path is below a folder that is specific to this machine.
fn is_of_this_machine(path: &Path) -> bool {
    let mut parts = path.components();
    match (parts.next(), parts.next().and_then(|part| part.as_os_str().to_str())) {
        (Some(Component::RootDir), Some(first)) => {
            let is_temporary = ["/var/tmp", "/dev/shm"].iter().any(|folder| path.starts_with(folder));
            let is_of_system = OF_SYSTEM.contains(&first) && !is_temporary;
            !is_of_system && Path::new("/").join(first).is_dir()
        }
        _ => false,
    }
}

fn replaced(text: &str, path: &str, name: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(path) {
        out.push_str(&rest[..at]);
        rest = &rest[at + path.len()..];
        let goes_on =
            out.ends_with(|c| continues_name(c) || c == '/') && !out.ends_with(&LOCAL[..LOCAL.len() - 1]);
        let is_whole = !goes_on && !begins_with_name(rest);
        match rest.strip_prefix('/') {
            _ if !is_whole => out.push_str(path),
            Some(below) if name.is_empty() => rest = below,
            None if name.is_empty() => out.push('.'),
            _ => out.push_str(name),
        }
    }
    out.push_str(rest);
    out
}

fn continues_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '~' | '%' | '+')
}

/// Whether a name continues with this text. A full stop continues a name only before further characters.
fn begins_with_name(text: &str) -> bool {
    let text = text.trim_start_matches('.');
    text.starts_with(continues_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders() -> Folders {
        let mut folders = Folders::default();
        folders.add(Path::new("/home/me/bench"), "");
        folders.add(Path::new("/home/me/bench/target/debug"), "");
        folders.add(Path::new("/srv/records"), "records");
        folders
    }

    #[test]
    fn paths_are_shown_as_seen_from_the_working_folder() {
        for (text, expected) in [
            ("open /home/me/bench/plans/x.toml: no", "open plans/x.toml: no"),
            ("{\"dir\":\"/home/me/bench\"}", "{\"dir\":\".\"}"),
            ("/home/me/bench/target/debug/barograph run", "barograph run"),
            ("in /srv/records/1/run.jsonl and /srv/records.", "in records/1/run.jsonl and records."),
            ("--runs=/srv/records", "--runs=records"),
            ("at sqlite:///home/me/bench/data/x.db kept", "at sqlite://data/x.db kept"),
        ] {
            assert_eq!(folders().relative(text), expected);
        }
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in [
            "/home/me/bench2/x",
            "/home/me/bench.old/x",
            "http://host/home/me/bench/x",
            "/old/home/me/bench/x",
            "GET /srv/x",
            "",
        ] {
            assert_eq!(folders().relative(text), text);
        }
    }

    #[test]
    fn a_command_names_its_files_without_their_folders() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let text = format!(
            "barograph run {} --set data.dir={} --set target.url=sqlite://{} --set tls.ca=/etc/ssl/ca.pem http://h/items/1 /no-such-folder/x",
            path("plan.toml"),
            path("data/nano/"),
            path("orders.db")
        );
        let mut folders = Folders::default();
        folders.learn(&text);
        assert_eq!(
            folders.relative(&text),
            "barograph run plan.toml --set data.dir=nano/ --set target.url=sqlite://orders.db --set tls.ca=/etc/ssl/ca.pem http://h/items/1 /no-such-folder/x"
        );
    }

    #[test]
    fn absolute_paths_stay_where_they_are_wanted() {
        let mut folders = Folders::absolute();
        let here = std::env::current_dir().unwrap().display().to_string();
        folders.learn(&here);
        assert_eq!(folders.relative(&here), here);
    }

    #[test]
    fn only_files_that_name_a_folder_are_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        fs::write(file("a.log"), b"at /srv/records/1\n\xff /srv/records\nend").unwrap();
        fs::write(file("b.log"), b"\xff nothing\n").unwrap();
        folders().rewrite(folder.path()).unwrap();
        assert_eq!(fs::read(file("a.log")).unwrap(), "at records/1\n\u{fffd} records\nend".as_bytes());
        assert_eq!(fs::read(file("b.log")).unwrap(), b"\xff nothing\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
