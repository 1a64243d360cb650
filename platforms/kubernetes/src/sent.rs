//! Files of units in secrets: for pods on nodes that do not see the folders of this machine.
//!
//! A pod has the files of its unit, and those in the site's folder for all hosts, each at the path that it has here,
//! and cannot change them. The rest of the unit's folder is empty for each of its pods, unless it is a volume.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use barograph_platform::{Unit, UnitFile};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{
    EmptyDirVolumeSource, KeyToPath, PersistentVolumeClaimVolumeSource, Secret, SecretVolumeSource, Volume,
    VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::names;

/// Most bytes of a secret; clusters take no more.
pub(crate) const MOST_BYTES: usize = 1 << 20;

/// Volume with the files.
const FILES: &str = "files";

/// Volume of the unit's folder.
const FOLDER: &str = "folder";

/// Files of one unit, by their whole paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentFiles(Vec<UnitFile>);

impl SentFiles {
    /// Gathers the files of a unit, and those below folders of this machine.
    ///
    /// # Errors
    /// If a file cannot be read, or all together are too large for a secret.
    pub(crate) fn of(unit: &Unit, folders: &[PathBuf]) -> io::Result<Self> {
        let own = unit.files.iter();
        let own = own.map(|file| UnitFile { path: unit.workdir.join(&file.path), ..file.clone() });
        let mut files: Vec<UnitFile> = own.collect();
        folders.iter().try_for_each(|folder| below(folder, &mut files))?;
        let bytes: usize = files.iter().map(|file| file.bytes.len()).sum();
        if bytes > MOST_BYTES {
            let why = format!("its files have {bytes} bytes, and a secret takes {MOST_BYTES}");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        Ok(SentFiles(files))
    }

    /// Returns the secret.
    pub(crate) fn secret(&self, site: &str, unit: &str) -> Secret {
        let data = self.0.iter().enumerate().map(|(at, file)| (key(at), ByteString(file.bytes.clone())));
        Secret {
            metadata: ObjectMeta {
                name: Some(names::object(site, unit)),
                labels: Some(names::labels(site)),
                ..ObjectMeta::default()
            },
            data: Some(data.collect()),
            ..Secret::default()
        }
    }

    /// Returns the volumes of a pod with the secret of this name, and where each is in its containers. The unit's
    /// folder is a volume of its own if it has a claim.
    pub(crate) fn volumes(
        &self,
        folder: &Path,
        secret: &str,
        claim: Option<String>,
    ) -> (Vec<Volume>, Vec<VolumeMount>) {
        let items = self.0.iter().enumerate().map(|(at, file)| KeyToPath {
            key: key(at),
            path: key(at),
            mode: i32::try_from(file.mode).ok(),
        });
        let files = Volume {
            name: FILES.to_owned(),
            secret: Some(SecretVolumeSource {
                secret_name: Some(secret.to_owned()),
                items: Some(items.collect()),
                ..SecretVolumeSource::default()
            }),
            ..Volume::default()
        };
        let own = Volume {
            name: FOLDER.to_owned(),
            empty_dir: claim.is_none().then(EmptyDirVolumeSource::default),
            persistent_volume_claim: claim
                .map(|claim_name| PersistentVolumeClaimVolumeSource { claim_name, read_only: Some(false) }),
            ..Volume::default()
        };
        let mount = |name: &str, path: &Path| VolumeMount {
            name: name.to_owned(),
            mount_path: path.to_string_lossy().into_owned(),
            ..VolumeMount::default()
        };
        let files_at = self.0.iter().enumerate().map(|(at, file)| VolumeMount {
            sub_path: Some(key(at)),
            read_only: Some(true),
            ..mount(FILES, &file.path)
        });
        (vec![own, files], [mount(FOLDER, folder)].into_iter().chain(files_at).collect())
    }
}

/// Key of a file in the secret.
fn key(at: usize) -> String {
    format!("file-{at}")
}

/// Adds the files below a folder; none if it is not there.
fn below(folder: &Path, files: &mut Vec<UnitFile>) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries.collect::<Result<Vec<_>, _>>()?,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(why) => return Err(why),
    };
    for path in entries.iter().map(fs::DirEntry::path) {
        if path.is_dir() {
            below(&path, files)?;
        } else {
            let mode = fs::metadata(&path)?.permissions().mode() & 0o777;
            files.push(UnitFile { bytes: fs::read(&path)?, path, mode });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use barograph_platform::Readiness;

    use super::*;

    fn unit(bytes: usize) -> Unit {
        let file = UnitFile { path: "conf/a".into(), bytes: vec![b'x'; bytes], mode: 0o600 };
        Unit {
            workdir: "/w/pg".into(),
            files: vec![file],
            ..Unit::new("pg", "/usr/bin/postgres".into(), Readiness::Runs)
        }
    }

    #[test]
    fn files_are_at_their_paths() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("in")).unwrap();
        fs::write(folder.path().join("in/token"), "secret").unwrap();
        let gone = folder.path().join("gone");
        let files = SentFiles::of(&unit(3), &[folder.path().to_owned(), gone]).unwrap();
        let data = files.secret("x1", "pg").data.unwrap();
        assert_eq!((data["file-0"].0.as_slice(), data["file-1"].0.as_slice()), (&b"xxx"[..], &b"secret"[..]));

        let (volumes, mounts) = files.volumes(Path::new("/w/pg"), "bg-x1-pg", None);
        assert!(volumes[0].empty_dir.is_some());
        assert_eq!(volumes[1].secret.as_ref().unwrap().items.as_ref().unwrap()[0].mode, Some(0o600));
        let at: Vec<&str> = mounts.iter().map(|mount| mount.mount_path.as_str()).collect();
        assert_eq!(at, ["/w/pg", "/w/pg/conf/a", &folder.path().join("in/token").to_string_lossy()]);
        assert_eq!(mounts[1].sub_path.as_deref(), Some("file-0"));

        let (volumes, _) = files.volumes(Path::new("/w/pg"), "s", Some("bg-x1-pg".to_owned()));
        assert_eq!(volumes[0].persistent_volume_claim.as_ref().unwrap().claim_name, "bg-x1-pg");
    }

    #[test]
    fn more_than_a_secret_takes_is_refused() {
        let why = SentFiles::of(&unit(MOST_BYTES + 1), &[]).unwrap_err();
        assert_eq!(why.to_string(), "its files have 1048577 bytes, and a secret takes 1048576");
    }
}
