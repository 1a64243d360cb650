//! The container image: an OCI archive from plain bytes, reproducible for a program, without an engine.
//!
//! It holds the static program and initial plans and scenarios, and no other file of any system.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tar::{EntryType, Header};

use super::sha256;

/// The working folder in the image.
const PLACE: &str = "bench";

/// Name and version as engines show them.
const NAME: &str = concat!("docker.io/library/barograph:", env!("CARGO_PKG_VERSION"));

/// The archive of an image with the program and these files.
pub(super) fn archive(program: &[u8], shipped: &[(String, Vec<u8>)]) -> anyhow::Result<Vec<u8>> {
    let layer = layer(program, shipped)?;
    let config = json!({
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "Entrypoint": ["/barograph"],
            "Cmd": ["--help"],
            "WorkingDir": format!("/{PLACE}"),
            "Labels": { "org.opencontainers.image.version": env!("CARGO_PKG_VERSION") },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", sha256(&layer))] },
    });
    let config = config.to_string().into_bytes();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": described("application/vnd.oci.image.config.v1+json", &config),
        "layers": [described("application/vnd.oci.image.layer.v1.tar", &layer)],
    });
    let manifest = manifest.to_string().into_bytes();
    let mut of_index = described("application/vnd.oci.image.manifest.v1+json", &manifest);
    of_index["annotations"] = json!({
        "io.containerd.image.name": NAME,
        "org.opencontainers.image.ref.name": env!("CARGO_PKG_VERSION"),
    });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [of_index],
    });
    let layout = json!({ "imageLayoutVersion": "1.0.0" });
    let mut tar = tar::Builder::new(Vec::new());
    folders(&mut tar, &[("blobs", 0o755), ("blobs/sha256", 0o755)])?;
    for blob in [&config, &manifest, &layer] {
        file(&mut tar, &format!("blobs/sha256/{}", sha256(blob)), 0o644, blob)?;
    }
    file(&mut tar, "index.json", 0o644, index.to_string().as_bytes())?;
    file(&mut tar, "oci-layout", 0o644, layout.to_string().as_bytes())?;
    tar.into_inner().context("end the archive of the image")
}

/// The only layer.
fn layer(program: &[u8], shipped: &[(String, Vec<u8>)]) -> anyhow::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    file(&mut tar, "barograph", 0o755, program)?;
    // It may run as any user: records and temporary files need a writable folder.
    folders(&mut tar, &[("tmp", 0o1777), (PLACE, 0o1777)])?;
    let mut made = BTreeSet::new();
    for (name, bytes) in shipped {
        for folder in name.match_indices('/').map(|(at, _)| &name[..at]) {
            if made.insert(folder) {
                folders(&mut tar, &[(&format!("{PLACE}/{folder}"), 0o755)])?;
            }
        }
        file(&mut tar, &format!("{PLACE}/{name}"), 0o644, bytes)?;
    }
    tar.into_inner().context("end the layer of the image")
}

fn described(media_type: &str, bytes: &[u8]) -> Value {
    json!({ "mediaType": media_type, "digest": format!("sha256:{}", sha256(bytes)), "size": bytes.len() })
}

fn folders(tar: &mut tar::Builder<Vec<u8>>, all: &[(&str, u32)]) -> anyhow::Result<()> {
    all.iter().try_for_each(|(name, mode)| add(tar, &format!("{name}/"), (EntryType::Directory, *mode), &[]))
}

fn file(tar: &mut tar::Builder<Vec<u8>>, name: &str, mode: u32, bytes: &[u8]) -> anyhow::Result<()> {
    add(tar, name, (EntryType::Regular, mode), bytes)
}

/// Adds a member without times and owners.
fn add(
    tar: &mut tar::Builder<Vec<u8>>,
    name: &str,
    (kind, mode): (EntryType, u32),
    bytes: &[u8],
) -> anyhow::Result<()> {
    let mut header = Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(bytes.len() as u64);
    header.set_path(name)?;
    header.set_cksum();
    tar.append(&header, bytes).with_context(|| format!("add {name} to the image"))
}

/// Unpacks the layer of an image into a folder, like an engine before it starts a container.
pub(super) fn unpack(archive: &[u8], into: &Path) -> anyhow::Result<()> {
    let mut blobs = BTreeMap::new();
    for member in tar::Archive::new(archive).entries()? {
        let mut member = member?;
        let name = member.path()?.to_string_lossy().into_owned();
        let mut bytes = Vec::new();
        member.read_to_end(&mut bytes)?;
        blobs.insert(name, bytes);
    }
    let blob = |name: &str| blobs.get(name).with_context(|| format!("find {name} in the image"));
    let of = |described: &Value| -> anyhow::Result<&Vec<u8>> {
        let digest = described["digest"].as_str().context("find a digest")?;
        let digest = digest.strip_prefix("sha256:").context("read a digest")?;
        let bytes = blob(&format!("blobs/sha256/{digest}"))?;
        ensure!(sha256(bytes) == digest, "the blob {digest} is another");
        Ok(bytes)
    };
    let index: Value = serde_json::from_slice(blob("index.json")?)?;
    let manifest: Value = serde_json::from_slice(of(&index["manifests"][0])?)?;
    of(&manifest["config"])?;
    tar::Archive::new(of(&manifest["layers"][0])?.as_slice()).unpack(into).context("unpack the layer")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn an_image_holds_the_program_and_the_files_and_is_the_same_again() {
        let shipped =
            [("plans/a.toml".to_owned(), b"x = 1".to_vec()), ("plans/b.toml".to_owned(), Vec::new())];
        let image = archive(b"program", &shipped).unwrap();
        assert_eq!(archive(b"program", &shipped).unwrap(), image);
        let folder = tempfile::tempdir().unwrap();
        unpack(&image, folder.path()).unwrap();
        let at = |name: &str| folder.path().join(name);
        assert_eq!(std::fs::read(at("barograph")).unwrap(), b"program");
        assert_eq!(std::fs::metadata(at("barograph")).unwrap().permissions().mode() & 0o7777, 0o755);
        assert_eq!(std::fs::read(at("bench/plans/a.toml")).unwrap(), b"x = 1");
        assert!(at("tmp").is_dir());
    }

    #[test]
    fn a_blob_that_was_changed_is_refused() {
        let mut image = archive(b"program", &[]).unwrap();
        let at = image.windows(7).position(|bytes| bytes == b"program").unwrap();
        image[at] = b'P';
        let folder = tempfile::tempdir().unwrap();
        assert!(unpack(&image, folder.path()).unwrap_err().to_string().contains("is another"));
    }
}
