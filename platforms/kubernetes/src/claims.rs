//! Claims of volumes for units with file systems of their own.
//!
//! A volume is empty at first and stays for all pods of its unit. A container before the first step of the first
//! pod copies the files there that the unit has in its folder on this machine.

use std::collections::BTreeMap;
use std::path::Path;

use barograph_platform::SiteSpec;
use k8s_openapi::api::core::v1::{
    Container, HostPathVolumeSource, PersistentVolumeClaim, PersistentVolumeClaimSpec,
    PersistentVolumeClaimVolumeSource, Volume, VolumeMount, VolumeResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::names;
use crate::quantity;

/// Volume with the files of the machine.
const FILES: &str = "files";

/// Its path in the container that copies them.
const COPIED_FROM: &str = "/barograph-files";

/// Copies the files once: a unit that starts again has those that it left. Its words are the two folders.
const COPY: &str = r#"[ -e "$2/.barograph" ] || { cp -a "$1/." "$2" && : > "$2/.barograph"; }"#;

/// Claims of a site.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claims {
    /// Bytes by unit.
    bytes: BTreeMap<String, u64>,
    /// Class of the volumes; `None` for that of the cluster.
    class: Option<String>,
}

impl Claims {
    pub(crate) fn of(site: &SiteSpec, class: Option<String>) -> Self {
        let bytes = site.disks.iter().map(|disk| (disk.unit.clone(), disk.bytes));
        Claims { bytes: bytes.collect(), class }
    }

    /// Returns the claim of a unit; `None` if it has no file system of its own.
    pub(crate) fn of_unit(&self, site: &str, unit: &str) -> Option<PersistentVolumeClaim> {
        let bytes = *self.bytes.get(unit)?;
        Some(PersistentVolumeClaim {
            metadata: ObjectMeta {
                name: Some(names::object(site, unit)),
                labels: Some(names::labels(site)),
                ..ObjectMeta::default()
            },
            spec: Some(PersistentVolumeClaimSpec {
                access_modes: Some(vec!["ReadWriteOnce".to_owned()]),
                storage_class_name: self.class.clone(),
                resources: Some(VolumeResourceRequirements {
                    requests: Some([("storage".to_owned(), quantity::bytes(bytes))].into()),
                    ..VolumeResourceRequirements::default()
                }),
                ..PersistentVolumeClaimSpec::default()
            }),
            ..PersistentVolumeClaim::default()
        })
    }

    pub(crate) fn has(&self, unit: &str) -> bool {
        self.bytes.contains_key(unit)
    }
}

/// Puts the claim of a unit in place of its folder, and adds the volume with the files of the machine.
pub(crate) fn claim_folder(volumes: &mut Vec<Volume>, mounts: &[VolumeMount], folder: &Path, claim: String) {
    let path = folder.to_string_lossy().into_owned();
    let name = mounts.iter().find(|mount| mount.mount_path == path).map(|mount| mount.name.as_str());
    if let Some(volume) = volumes.iter_mut().find(|volume| Some(volume.name.as_str()) == name) {
        let source = PersistentVolumeClaimVolumeSource { claim_name: claim, read_only: Some(false) };
        *volume =
            Volume { name: volume.name.clone(), persistent_volume_claim: Some(source), ..Volume::default() };
    }
    volumes.push(Volume {
        name: FILES.to_owned(),
        host_path: Some(HostPathVolumeSource { type_: Some("Directory".to_owned()), path }),
        ..Volume::default()
    });
}

/// Returns the container that copies the files of the machine, from one without a command of its own.
pub(crate) fn copying(container: Container, folder: &Path) -> Container {
    let words = ["/bin/sh", "-c", COPY, "sh", COPIED_FROM, &folder.to_string_lossy()];
    let from = VolumeMount {
        name: FILES.to_owned(),
        mount_path: COPIED_FROM.to_owned(),
        read_only: Some(true),
        ..VolumeMount::default()
    };
    Container {
        name: names::COPY.to_owned(),
        command: Some(words.map(str::to_owned).to_vec()),
        args: None,
        volume_mounts: Some(container.volume_mounts.into_iter().flatten().chain([from]).collect()),
        ..container
    }
}

#[cfg(test)]
mod tests {
    use barograph_platform::DiskSpec;

    use super::*;

    #[test]
    fn a_unit_with_a_size_has_a_claim_of_the_class() {
        let disks = vec![DiskSpec { unit: "pg".to_owned(), bytes: 64 << 20 }];
        let claims = Claims::of(&SiteSpec { disks, ..SiteSpec::default() }, Some("fast".to_owned()));
        let claim = serde_json::to_value(claims.of_unit("x1", "pg")).unwrap();
        assert_eq!(claim["metadata"]["name"], "bg-x1-pg");
        assert_eq!(claim["spec"]["storageClassName"], "fast");
        assert_eq!(claim["spec"]["resources"]["requests"]["storage"], "67108864");
        assert!(claims.has("pg") && !claims.has("app") && claims.of_unit("x1", "app").is_none());
    }

    #[test]
    fn the_folder_of_a_unit_is_the_claim_and_files_come_from_the_machine() {
        let mount = |name: &str, path: &str| VolumeMount {
            name: name.to_owned(),
            mount_path: path.to_owned(),
            ..VolumeMount::default()
        };
        let volume = |name: &str| Volume { name: name.to_owned(), ..Volume::default() };
        let mut volumes = vec![volume("v0"), volume("v1")];
        let mounts = [mount("v0", "/usr"), mount("v1", "/w/pg")];
        claim_folder(&mut volumes, &mounts, Path::new("/w/pg"), "c".to_owned());
        let claimed: Vec<Option<String>> = volumes
            .iter()
            .map(|volume| volume.persistent_volume_claim.as_ref().map(|claim| claim.claim_name.clone()))
            .collect();
        assert_eq!(claimed, [None, Some("c".to_owned()), None]);
        assert_eq!(volumes[2].host_path.as_ref().unwrap().path, "/w/pg");
        let plain = Container { volume_mounts: Some(mounts.to_vec()), ..Container::default() };
        let copies = copying(plain, Path::new("/w/pg"));
        assert_eq!(copies.command.unwrap()[4..], ["/barograph-files", "/w/pg"]);
        assert_eq!(copies.volume_mounts.unwrap().len(), 3);
    }
}
