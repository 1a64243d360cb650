//! Folders and files of units: made before they start, noted so that they go again.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use barograph_platform::{Entry, Fault, Ledger, LedgerError, SiteSpec, Thing, Unit, UnitFile};

/// The folders of a site: those it was given, and those it made.
#[derive(Debug)]
pub(crate) struct Folders {
    ledger: Ledger,
    /// The site's own.
    own: PathBuf,
    /// Somebody else makes and removes these.
    given: Vec<PathBuf>,
    made: Mutex<Vec<Made>>,
}

#[derive(Debug)]
struct Made {
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

    /// Makes the site's own folder. An empty one that is there already is taken over.
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
        let entry = self.ledger.will(Thing::Directory { path: path.clone() })?;
        self.ledger.done(entry, Thing::Directory { path })?;
        Ok(entry)
    }

    fn keep(&self, path: PathBuf, entry: Entry) {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).push(Made { path, entry });
    }

    /// Makes the working folder of a unit that has files, and the files.
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
            // It would stay behind: only folders are in the ledger.
            return Err(failed(io::Error::other("it lies outside of the folders of the unit and the site")));
        }
        if let Some(folder) = path.parent() {
            self.ensure(&unit.name, folder)?;
        }
        // With these bits from the beginning, for it may hold a secret.
        let mut options = OpenOptions::new();
        let open = options.write(true).create(true).truncate(true).mode(file.mode).open(&path);
        let mut opened = open.map_err(failed)?;
        opened.write_all(&file.bytes).map_err(failed)?;
        // A mask of this process may have taken some of them away.
        opened.set_permissions(Permissions::from_mode(file.mode)).map_err(failed)
    }

    /// Whether this place goes away with a folder that is noted, or is somebody else's affair.
    fn is_covered(&self, path: &Path) -> bool {
        let own = !self.own.as_os_str().is_empty() && path.starts_with(&self.own);
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        own || self
            .given
            .iter()
            .chain(made.iter().map(|made| &made.path))
            .any(|known| path.starts_with(known))
    }

    /// Makes a folder with those above it. The highest one that was not there is noted, unless it lies in a folder
    /// that is noted already.
    pub(crate) fn ensure(&self, unit: &str, folder: &Path) -> Result<(), Fault> {
        if folder.is_dir() {
            return Ok(());
        }
        if !self.is_covered(folder)
            && let Some(highest) = folder.ancestors().take_while(|above| !above.exists()).last()
        {
            match self.ledger.make_directory(highest) {
                Ok(entry) => self.keep(highest.to_owned(), entry),
                // Another unit has just made it.
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

    /// Removes all that was made here.
    pub(crate) fn close(&self) -> Result<(), LedgerError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(last) = made.last() {
            self.ledger.remove_directory(last.entry)?;
            made.pop();
        }
        Ok(())
    }
}
