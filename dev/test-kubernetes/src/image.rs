//! Images for nodes: one with a small program, for the pods that hold namespaces and for tests, and one with a shell.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use sha2::{Digest, Sha256};
use tar::{Builder, Header};

/// Its name. No registry has it: it is on the nodes.
pub const IMAGE: &str = "barograph.test/pause:1";

/// An image with a shell and `cat` of this machine, for pods that see nothing of it.
pub const SHELL_IMAGE: &str = "barograph.test/shell:1";

/// Programs of that image.
const SHELL: [&str; 2] = ["/bin/sh", "/bin/cat"];

/// Writes an archive with the image, as container runtimes import it.
pub(crate) fn write(program: &Path, to: &Path) -> io::Result<()> {
    let files = [("pause".to_owned(), program.to_owned())];
    write_files(IMAGE, &json!({ "Entrypoint": ["/pause"] }), &files, to)
}

/// Writes an archive with the image of a shell.
pub(crate) fn write_shell(to: &Path) -> io::Result<()> {
    let mut paths: BTreeSet<String> = SHELL.map(str::to_owned).into();
    for program in SHELL {
        paths.extend(libraries(program)?);
    }
    let inside = |path: String| (path.trim_start_matches('/').to_owned(), PathBuf::from(path));
    write_files(SHELL_IMAGE, &json!({}), &paths.into_iter().map(inside).collect::<Vec<_>>(), to)
}

/// The libraries that a program is linked with.
fn libraries(program: &str) -> io::Result<Vec<String>> {
    let said = Command::new("ldd").arg(program).output()?;
    let words = String::from_utf8_lossy(&said.stdout).into_owned();
    Ok(words.split_whitespace().filter(|word| word.starts_with('/')).map(str::to_owned).collect())
}

/// Writes an archive with files by their paths in the image.
fn write_files(
    name: &str,
    start: &serde_json::Value,
    files: &[(String, PathBuf)],
    to: &Path,
) -> io::Result<()> {
    let mut layer = Builder::new(Vec::new());
    for (path, file) in files {
        add(&mut layer, path, &fs::read(file)?, 0o755)?;
    }
    let layer = layer.into_inner()?;
    let digest: String = Sha256::digest(&layer).iter().map(|byte| format!("{byte:02x}")).collect();
    let config = json!({
        "architecture": architecture(),
        "os": "linux",
        "config": start,
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{digest}")] },
    });
    let manifest = json!([{ "Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"] }]);
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
