//! Image of a site: folders as mount points, links as on this machine, and nothing else.

use std::fs;
use std::io;
use std::path::Path;

use barograph_platform::{Fault, Ledger};

use crate::engine::Engine;
use crate::groups::failed;
use crate::mounts::PROGRAMS;
use crate::names;
use crate::remover::Remover;
use crate::tar::Archive;

/// Folders that programs expect and may write to, with their permissions.
const FOLDERS: [(&str, u32); 13] = [
    ("dev", 0o755),
    ("home", 0o755),
    ("proc", 0o555),
    ("root", 0o700),
    ("run", 0o755),
    ("run/lock", 0o1777),
    ("sys", 0o555),
    ("tmp", 0o1777),
    ("var", 0o755),
    ("var/lib", 0o755),
    ("var/log", 0o755),
    ("var/cache", 0o755),
    ("var/tmp", 0o1777),
];

/// An image in an engine.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) name: String,
    /// Removes the image, if it belongs to the site.
    remover: Option<Remover>,
}

impl Image {
    /// Uses an image given by the user.
    pub(crate) fn given(name: &str) -> Self {
        Image { name: name.to_owned(), remover: None }
    }

    /// Makes the image of a site. A permanent one is made once.
    pub(crate) async fn make(
        engine: &Engine,
        site: &str,
        keep: bool,
        ledger: &Ledger,
    ) -> Result<Self, Fault> {
        let (repository, tag) = names::image((!keep).then_some(site));
        let name = format!("{repository}:{tag}");
        let act = format!("make image `{name}`");
        if keep && engine.has_image(&name).await.map_err(failed(&act))? {
            return Ok(Image { name, remover: None });
        }
        let archive = archive().map_err(failed(&act))?;
        if keep {
            engine.import(&repository, &tag, archive).await.map_err(failed(&act))?;
            return Ok(Image { name, remover: None });
        }
        let remover = Remover::of_image(engine, &name, ledger).map_err(failed(&act))?;
        let made = remover.make(|engine, _| async move { engine.import(&repository, &tag, archive).await });
        Ok(Image { name, remover: Some(made.await.map_err(failed(&act))?) })
    }

    /// Removes the image, unless it is permanent.
    pub(crate) async fn remove(self) -> Result<(), Fault> {
        let Some(remover) = self.remover else { return Ok(()) };
        let act = format!("remove image `{}`", self.name);
        remover.now().await.map_err(failed(&act))
    }
}

fn archive() -> io::Result<Vec<u8>> {
    let mut archive = Archive::default();
    for (path, mode) in FOLDERS {
        archive.folder(path, mode)?;
    }
    archive.link("var/run", "/run")?;
    archive.link("var/lock", "/run/lock")?;
    for path in PROGRAMS.map(Path::new) {
        let Ok(facts) = fs::symlink_metadata(path) else { continue };
        let name = path.to_string_lossy();
        let name = name.trim_start_matches('/');
        if facts.is_dir() {
            archive.folder(name, 0o755)?;
        } else if facts.is_symlink() {
            archive.link(name, &fs::read_link(path)?.to_string_lossy())?;
        }
    }
    Ok(archive.finish())
}
