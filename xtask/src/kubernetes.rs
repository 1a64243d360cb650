//! Kubernetes for tests, built from its Go modules and kept outside of the repository: it takes minutes, and
//! the programs have half a gigabyte.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use crate::go::{self, Build};
use crate::say::say;

/// The Go module.
const MODULE: &str = "k8s.io/kubernetes";

/// The version: of the older ones, modules are missing in the public proxy.
const VERSION: &str = "v1.33.4";

/// Version of the modules that are published from the folder `staging` of the first one.
const STAGING_VERSION: &str = "v0.33.4";

/// The programs, in the order of their build: the first has most of the packages.
const PROGRAMS: [&str; 6] =
    ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl"];

/// The program in the image of pods that hold namespaces; the tests use it as any image.
const PAUSE: &str = "pause";

/// Its source: it waits for a signal to end.
const PAUSE_SOURCE: &str = r#"package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGINT, syscall.SIGTERM)
	<-end
}
"#;

/// Time limit of the build of a program in seconds; the first takes ten minutes on two cores.
const LIMIT_S: &str = "3600";

/// Tests that need it.
const TESTS: &str = "the tests of the Kubernetes platform";

/// Returns the folder of the programs, in the user's cache; `None` for a user without a home.
fn folder() -> Option<PathBuf> {
    go::kept(&format!("kubernetes-{VERSION}"))
}

/// Says that the programs are missing, if they are.
pub(crate) fn say_if_missing() {
    let missing = folder().is_none_or(|folder| !missing_in(&folder).is_empty());
    if missing {
        say(&format!(
            "skipped: {TESTS} need Kubernetes {VERSION}; with Go 1.24 or newer on the path, `cargo xtask tools \
             --kubernetes` builds it in about ten minutes, once"
        ));
    }
}

/// Builds the missing programs. Returns the number still missing, after a message.
pub(crate) fn build_missing() -> u32 {
    let Some(folder) = folder() else {
        say(&format!("skipped: {TESTS} need a folder for Kubernetes, and this user has no home"));
        return 1;
    };
    let missing = missing_in(&folder);
    if missing.is_empty() {
        return 0;
    }
    say(&format!("building Kubernetes {VERSION} for {TESTS} in {}, once", folder.display()));
    match build(&folder, &missing) {
        Ok(()) => 0,
        Err(error) => {
            say(&format!("skipped: {TESTS} need Kubernetes {VERSION} ({error:#})"));
            u32::try_from(missing_in(&folder).len()).expect("the list is short")
        }
    }
}

fn missing_in(folder: &Path) -> Vec<&'static str> {
    PROGRAMS.into_iter().chain([PAUSE]).filter(|name| !folder.join(name).is_file()).collect()
}

/// Builds programs, each of which appears in the folder when it is whole.
fn build(to: &Path, programs: &[&str]) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    let folder = tempfile::Builder::new().prefix(".building-").tempdir_in(to)?;
    let module = folder.path().join("build");
    fs::create_dir(&module)?;
    fs::write(module.join("go.mod"), "module build\n\ngo 1.24.0\n")?;
    let original = go::description(&module, MODULE, VERSION)?;
    fs::write(module.join("go.mod"), module_file(&original)?)?;
    for name in programs {
        let made = folder.path().join(name);
        let package = match *name {
            PAUSE => {
                let source = module.join(PAUSE);
                fs::create_dir(&source)?;
                fs::write(source.join("main.go"), PAUSE_SOURCE)?;
                format!("./{PAUSE}")
            }
            name => format!("{MODULE}/cmd/{name}"),
        };
        say(&format!("building {name}"));
        let build = Build { limit_s: LIMIT_S, environment: &[("CGO_ENABLED", "0")] };
        let out = made.to_string_lossy();
        build.go(&module, &["build", "-trimpath", "-ldflags", &link_flags(), "-o", &out, &package])?;
        fs::rename(&made, to.join(name)).with_context(|| format!("move {name} to its place"))?;
    }
    Ok(())
}

/// Returns a module that has the programs: each module that is published from a folder of the original one is
/// taken in its published version.
fn module_file(original: &str) -> anyhow::Result<String> {
    let staged: Vec<&str> = original
        .lines()
        .filter_map(|line| line.trim().split_once(" => ./staging/").map(|(name, _)| name))
        .collect();
    ensure!(!staged.is_empty(), "the description of the module names no other modules");
    let mut text =
        format!("module build\n\ngo 1.24.0\n\ngodebug default=go1.24\n\nrequire {MODULE} {VERSION}\n");
    for name in staged {
        text.push_str(&format!("\nreplace {name} => {name} {STAGING_VERSION}\n"));
    }
    Ok(text)
}

/// Without symbols, and with the version that servers and clients compare.
fn link_flags() -> String {
    let version = |package: &str| format!("-X {package}.gitVersion={VERSION}");
    let number = "-X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=33";
    let [server, client] = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"].map(version);
    format!("-s -w {server} {client} {number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn staged_modules_are_taken_in_their_published_version() {
        let original = "module k8s.io/kubernetes\n\nrequire (\n\tk8s.io/api v0.0.0\n\tk8s.io/klog/v2 v2.130.1\n)\n\n\
                        replace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n\tk8s.io/mount-utils => \
                        ./staging/src/k8s.io/mount-utils\n)\n";
        let made = module_file(original).unwrap();
        let replaced: Vec<&str> = made.lines().filter(|line| line.starts_with("replace")).collect();
        assert_eq!(
            replaced,
            [
                "replace k8s.io/api => k8s.io/api v0.33.4",
                "replace k8s.io/mount-utils => k8s.io/mount-utils v0.33.4"
            ]
        );
        assert!(made.contains("require k8s.io/kubernetes v1.33.4\n"));
        assert!(module_file("module x\n").is_err());
    }
}
