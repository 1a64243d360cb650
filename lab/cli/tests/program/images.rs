//! Files of a container image with the parts of a plan.

use std::fs::{self, File};
use std::path::Path;

use tar::Archive;

use crate::deployments::{like, plan, possible};
use crate::going::{ProgramOutput, RunningProgram};
use crate::place::{SIZE, TestFolders};

fn images(place: &TestFolders, sets: &[String], more: &[&str]) -> ProgramOutput {
    let plan = plan("auction.toml");
    let mut command = place.program(&["images", plan.to_str().unwrap()]);
    for set in SIZE.iter().copied().chain(sets.iter().map(String::as_str)) {
        command.args(["--set", set]);
    }
    command.args(more);
    RunningProgram::start(command).end()
}

#[test]
fn the_files_of_an_image_have_packages_and_programs() {
    let place = TestFolders::without_data();
    let sets = like("minimal", "process");
    if !possible(&place, &sets) {
        return;
    }
    let made = images(&place, &sets, &["-o", "made", "--base", "debian:12"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(made.out.contains("docker build --file made/Containerfile"), "{made:?}");
    assert!(made.out.contains("--set deploy.like=minimal --set platform=kubernetes"), "{made:?}");
    let again = images(&place, &sets, &["-o", "made", "--base", "debian:12"]);
    assert_eq!((again.code, &again.out), (Some(0), &made.out), "its own files are written again");

    let steps = fs::read_to_string(place.root().join("made/Containerfile")).unwrap();
    assert!(steps.starts_with("FROM debian:12\n"), "{steps}");
    assert!(
        steps.lines().any(|line| line.contains("apt-get install") && line.contains(" postgresql")),
        "{steps}"
    );

    let own = Path::new(env!("CARGO_BIN_EXE_barograph")).canonicalize().unwrap();
    let mut archive = Archive::new(File::open(place.root().join("made/programs.tar")).unwrap());
    let members: Vec<_> = archive
        .entries()
        .unwrap()
        .map(|member| {
            let member = member.unwrap();
            let kind = member.header().entry_type();
            assert!(kind.is_dir() || kind.is_file(), "{kind:?}");
            (Path::new("/").join(member.path().unwrap()), member.header().mode().unwrap(), member.size())
        })
        .collect();
    let found = |path: &Path| members.iter().find(|(name, ..)| name == path).unwrap();
    assert_eq!(found(&own).2, fs::metadata(&own).unwrap().len());
    for folder in own.ancestors().skip(1).filter(|folder| folder.parent().is_some()) {
        assert_eq!(found(folder).1 & 0o555, 0o555, "all users may enter {}", folder.display());
    }
}

#[test]
fn an_image_that_cannot_be_is_refused_before_anything_is_written() {
    let place = TestFolders::without_data();
    let refused = |sets: &[String], more: &[&str], said: &str| {
        let ended = images(&place, sets, more);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.err.contains(said), "{ended:?}");
        assert!(!place.root().join("image").exists());
    };
    refused(&[], &["--base", "debian:latest"], "--base is `debian:latest`");
    fs::create_dir(place.root().join("full")).unwrap();
    fs::write(place.root().join("full/notes"), "kept").unwrap();
    refused(&[], &["--base", "debian:12", "-o", "full"], "`full` has other files, as `notes`");

    let empty = place.root().join("empty");
    fs::create_dir(&empty).unwrap();
    let mut sets = like("minimal", "process");
    sets.push(format!("deploy.relational_programs={}", empty.display()));
    refused(&sets, &["--base", "debian:12"], "has no program");
}
