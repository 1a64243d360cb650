//! Folders and files of units: created before they start, and recorded for removal.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use barograph_platform::{Entry, Fault, Ledger, LedgerError, Resource, SiteSpec, Unit, UnitFile};

/// Folders of a site: given ones, and created ones.
#[derive(Debug)]
pub(crate) struct Folders {
    ledger: Ledger,
    /// The site's own folder.
    own: PathBuf,
    /// Folders that others create and remove.
    given: Vec<PathBuf>,
    made: Mutex<Vec<CreatedFolder>>,
}

#[derive(Debug)]
struct CreatedFolder {
    path: PathBuf,
    entry: Entry,
}

impl Folders {
    pub(crate) fn new(spec: &SiteSpec, ledger: &Ledger) -> Self {
        Folders {
            ledger: ledger.clone(),
            own: spec.folder.clone(),
            given: spec.writable.clone(),
            made: Mutex::default(),
        }
    }

    /// Creates the site's own folder. An existing empty folder is used.
    pub(crate) fn make_own(&self) -> Result<(), Fault> {
        if self.own.as_os_str().is_empty() {
            return Ok(());
        }
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| Fault::Site {
            act: format!("make the site's folder `{}`", self.own.display()),
            source,
        };
        let entry = match fs::read_dir(&self.own).map(|mut entries| entries.next().is_none()) {
            Ok(true) => self.take_over().map_err(|error| failed(error.into()))?,
            Ok(false) => return Err(failed("it is not empty".into())),
            Err(_) => self.ledger.make_directory(&self.own).map_err(|error| failed(error.into()))?,
        };
        self.keep(self.own.clone(), entry);
        Ok(())
    }

    fn take_over(&self) -> Result<Entry, LedgerError> {
        let path = std::path::absolute(&self.own)
            .map_err(|source| LedgerError::MakeDirectory { path: self.own.clone(), source })?;
        let entry = self.ledger.will(Resource::Directory { path: path.clone() })?;
        self.ledger.done(entry, Resource::Directory { path })?;
        Ok(entry)
    }

    fn keep(&self, path: PathBuf, entry: Entry) {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).push(CreatedFolder { path, entry });
    }

    /// Creates the working folder of a unit that has files, and the files.
    pub(crate) fn lay_out(&self, unit: &Unit) -> Result<(), Fault> {
        if unit.files.is_empty() {
            return Ok(());
        }
        self.ensure(&unit.name, &unit.workdir)?;
        unit.files.iter().try_for_each(|file| self.write(unit, file))
    }

    fn write(&self, unit: &Unit, file: &UnitFile) -> Result<(), Fault> {
        let path = unit.workdir.join(&file.path);
        let failed = |source: io::Error| Fault::Unit {
            unit: unit.name.clone(),
            act: format!("write file `{}` of", path.display()),
            source: source.into(),
        };
        let up = path.components().any(|part| part == Component::ParentDir);
        let ours = self.is_covered(&path) || path.starts_with(&unit.workdir);
        if up || !ours {
            // It would be left behind: the ledger has only folders.
            return Err(failed(io::Error::other("it lies outside of the folders of the unit and the site")));
        }
        if let Some(folder) = path.parent() {
            self.ensure(&unit.name, folder)?;
        }
        // Created with these bits, as it may hold a secret.
        let mut options = OpenOptions::new();
        let open = options.write(true).create(true).truncate(true).mode(file.mode).open(&path);
        let mut opened = open.map_err(failed)?;
        opened.write_all(&file.bytes).map_err(failed)?;
        // The umask of this process may have cleared some of them.
        opened.set_permissions(Permissions::from_mode(file.mode)).map_err(failed)
    }

    /// Whether a path is removed with a recorded folder, or belongs to others.
    fn is_covered(&self, path: &Path) -> bool {
        let own = !self.own.as_os_str().is_empty() && path.starts_with(&self.own);
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        own || self
            .given
            .iter()
            .chain(made.iter().map(|made| &made.path))
            .any(|known| path.starts_with(known))
    }

    /// Creates a folder with its parents. The highest new one is recorded, unless it is inside a recorded
    /// folder.
    pub(crate) fn ensure(&self, unit: &str, folder: &Path) -> Result<(), Fault> {
        if folder.is_dir() {
            return Ok(());
        }
        if !self.is_covered(folder)
            && let Some(highest) = folder.ancestors().take_while(|above| !above.exists()).last()
        {
            match self.ledger.make_directory(highest) {
                Ok(entry) => self.keep(highest.to_owned(), entry),
                // Another unit has just created it.
                Err(LedgerError::MakeDirectory { source, .. })
                    if source.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(Fault::Note { unit: unit.to_owned(), source }),
            }
        }
        fs::create_dir_all(folder).map_err(|source| Fault::Unit {
            unit: unit.to_owned(),
            act: format!("make folder `{}` of", folder.display()),
            source: source.into(),
        })
    }

    /// Removes everything created here.
    pub(crate) fn close(&self) -> Result<(), LedgerError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(last) = made.last() {
            self.ledger.remove_directory(last.entry)?;
            made.pop();
        }
        Ok(())
    }
}
