//! Build script: passes the commit of the source to the program, for the disclosure of every run, and
//! generates a test for each shipped plan and study.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

#[path = "src/shipped.rs"]
mod shipped;

fn main() -> Result<(), Box<dyn Error>> {
    let asked = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).current_dir(".").output();
    let commit = asked.ok().filter(|out| out.status.success());
    let commit = commit
        .map_or_else(|| "unknown".to_owned(), |out| String::from_utf8_lossy(&out.stdout).trim().to_owned());
    println!("cargo::rustc-env=BAROGRAPH_COMMIT={commit}");
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/refs/heads");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/shipped.rs");
    tests("plans")?;
    tests("studies")
}

/// Writes `OUT_DIR/FOLDER.rs`: a test for each file of a folder, named after it, that calls `each` with its
/// path.
#[expect(clippy::disallowed_methods, reason = "cargo tells a build script its folder in this way only")]
fn tests(folder: &str) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=../../{folder}");
    let mut text = String::new();
    for path in shipped::files(&Path::new("../..").join(folder))? {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = stem.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        let place = format!("concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/../../{folder}/{stem}.toml\")");
        write!(text, "#[test]\nfn {name}() {{\n    each(std::path::Path::new({place}));\n}}\n\n")?;
    }
    let out = std::env::var_os("OUT_DIR").ok_or("cargo gives a build script its folder")?;
    Ok(std::fs::write(Path::new(&out).join(format!("{folder}.rs")), text)?)
}
