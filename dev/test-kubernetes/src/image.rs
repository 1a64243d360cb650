//! An image with one small program, for the pods that hold namespaces and for tests.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use serde_json::json;
use sha2::{Digest, Sha256};
use tar::{Builder, Header};

/// Its name. No registry has it: it is on the nodes.
pub const IMAGE: &str = "barograph.test/pause:1";

/// Writes an archive with the image, as container runtimes import it.
pub(crate) fn write(program: &Path, to: &Path) -> io::Result<()> {
    let mut layer = Builder::new(Vec::new());
    add(&mut layer, "pause", &fs::read(program)?, 0o755)?;
    let layer = layer.into_inner()?;
    let digest: String = Sha256::digest(&layer).iter().map(|byte| format!("{byte:02x}")).collect();
    let config = json!({
        "architecture": architecture(),
        "os": "linux",
        "config": { "Entrypoint": ["/pause"] },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{digest}")] },
    });
    let manifest = json!([{ "Config": "config.json", "RepoTags": [IMAGE], "Layers": ["layer.tar"] }]);
    let mut archive = Builder::new(File::create(to)?);
    add(&mut archive, "layer.tar", &layer, 0o644)?;
    add(&mut archive, "config.json", config.to_string().as_bytes(), 0o644)?;
    add(&mut archive, "manifest.json", manifest.to_string().as_bytes(), 0o644)?;
    archive.into_inner()?.sync_all()
}

fn add(archive: &mut Builder<impl io::Write>, name: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(mode);
    header.set_cksum();
    archive.append_data(&mut header, name, bytes)
}

/// The name of this machine's architecture in images.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
