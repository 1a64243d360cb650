//! Kubernetes for tests, and the server of metrics that its autoscaler needs, built from their Go modules and kept
//! outside of the repository: it takes minutes, and the programs have half a gigabyte.

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

/// The server of metrics.
const METRICS: &str = "metrics-server";

/// Its version: the newest whose module has the generated description of its API.
const METRICS_VERSION: &str = "v0.7.2";

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

/// Description of a module without anything.
const EMPTY_MODULE: &str = "module build\n\ngo 1.24.0\n";

/// Time limit of the build of a program in seconds; the first takes ten minutes on two cores.
const LIMIT_S: &str = "3600";

/// Tests that need Kubernetes.
const TESTS: &str = "the tests of the Kubernetes platform";

/// Tests that also need the server of metrics.
const METRICS_TESTS: &str = "the tests of a cluster's autoscaler";

/// The folders of the programs, in the user's cache.
struct Folders {
    kubernetes: PathBuf,
    metrics: PathBuf,
}

impl Folders {
    /// `None` for a user without a home.
    fn of_user() -> Option<Self> {
        Some(Folders {
            kubernetes: go::kept(&format!("kubernetes-{VERSION}"))?,
            metrics: go::kept(&format!("{METRICS}-{METRICS_VERSION}"))?,
        })
    }

    /// Programs of Kubernetes that are missing.
    fn missing(&self) -> Vec<&'static str> {
        PROGRAMS.into_iter().chain([PAUSE]).filter(|name| !self.kubernetes.join(name).is_file()).collect()
    }

    fn has_metrics(&self) -> bool {
        self.metrics.join(METRICS).is_file()
    }
}

/// Says that programs are missing, if they are.
pub(crate) fn say_if_missing() {
    let folders = Folders::of_user();
    let has = |of: fn(&Folders) -> bool| folders.as_ref().is_some_and(of);
    let (kubernetes, metrics) = (has(|folders| folders.missing().is_empty()), has(Folders::has_metrics));
    let (tests, needed) = match (kubernetes, metrics) {
        (true, true) => return,
        (true, false) => (METRICS_TESTS, format!("{METRICS} {METRICS_VERSION}")),
        (false, _) => (TESTS, format!("Kubernetes {VERSION}")),
    };
    say(&format!(
        "skipped: {tests} need {needed}; with Go 1.24 or newer on the path, `cargo xtask tools --kubernetes` builds it \
         in about ten minutes, once"
    ));
}

/// Builds the missing programs. Returns the number still missing, after a message.
pub(crate) fn build_missing() -> u32 {
    let Some(folders) = Folders::of_user() else {
        say(&format!("skipped: {TESTS} need a folder for Kubernetes, and this user has no home"));
        return 1;
    };
    let missing = folders.missing();
    let mut left = 0;
    if !missing.is_empty() {
        say(&format!("building Kubernetes {VERSION} for {TESTS} in {}, once", folders.kubernetes.display()));
        if let Err(error) = build(&folders.kubernetes, &missing) {
            say(&format!("skipped: {TESTS} need Kubernetes {VERSION} ({error:#})"));
            left += u32::try_from(folders.missing().len()).expect("the list is short");
        }
    }
    if !folders.has_metrics() {
        say(&format!("building {METRICS} {METRICS_VERSION} for {METRICS_TESTS}, once"));
        if let Err(error) = build_metrics(&folders.metrics) {
            say(&format!("skipped: {METRICS_TESTS} need {METRICS} {METRICS_VERSION} ({error:#})"));
            left += 1;
        }
    }
    left
}

/// Builds programs, each of which appears in the folder when it is whole.
fn build(to: &Path, programs: &[&str]) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    let folder = tempfile::Builder::new().prefix(".building-").tempdir_in(to)?;
    let module = folder.path().join("build");
    fs::create_dir(&module)?;
    fs::write(module.join("go.mod"), EMPTY_MODULE)?;
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

/// Builds the server of metrics.
fn build_metrics(to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    let folder = tempfile::Builder::new().prefix(".building-").tempdir_in(to)?;
    let module = folder.path().join("build");
    fs::create_dir(&module)?;
    fs::write(module.join("go.mod"), EMPTY_MODULE)?;
    let build = Build { limit_s: LIMIT_S, environment: &[("CGO_ENABLED", "0")] };
    let package = format!("sigs.k8s.io/{METRICS}/cmd/{METRICS}");
    // Not `go install`: that needs a list of all versions, which not every proxy provides.
    build.go(&module, &["get", &format!("{package}@{METRICS_VERSION}")])?;
    let made = folder.path().join(METRICS);
    let out = made.to_string_lossy();
    build.go(&module, &["build", "-trimpath", "-ldflags", "-s -w", "-o", &out, &package])?;
    fs::rename(&made, to.join(METRICS)).context("move the program to its place")
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
