//! Choice of hierarchies, and writes to those of version 2.

use std::fs;

use tempfile::TempDir;

use super::*;
use crate::{Group, Limits};

/// A folder with the files of the kernel, as not every machine has a hierarchy of version 2 with controllers.
/// It shows the writes; the kernel's acceptance must be tested on a machine that has one.
fn folder(place: &Path, files: &[(&str, &str)]) {
    fs::create_dir_all(place).unwrap();
    for (name, text) in files {
        fs::write(place.join(name), text).unwrap();
    }
}

fn mounted(place: &Path, own: Option<&str>) -> HierarchyMount {
    HierarchyMount {
        version: Version::Two,
        controllers: Vec::new(),
        mount: place.to_owned(),
        own: own.map(|own| place.join(own)),
    }
}

const ROOT: &[(&str, &str)] = &[
    ("cgroup.procs", "1\n"),
    ("cgroup.controllers", "cpuset cpu io memory hugetlb pids\n"),
    ("cgroup.subtree_control", "cpu\n"),
];

fn read(place: &Path) -> String {
    fs::read_to_string(place).unwrap()
}

#[test]
fn the_root_passes_all_controllers_on() {
    let dir = TempDir::new().unwrap();
    folder(dir.path(), ROOT);
    let hierarchies = Hierarchies::among(&[mounted(dir.path(), Some("user/session"))]).unwrap();
    let [one] = hierarchies.list() else { panic!("{hierarchies:?}") };
    assert_eq!((one.version, one.base.as_path()), (Version::Two, dir.path()));
    assert!(hierarchies.can(Controller::Cpu) && hierarchies.can(Controller::Memory));
    assert!(!hierarchies.can(Controller::Freezer), "version 2 freezes without one");
    let said = hierarchies.describe();
    let expected = format!("version 2 at {} (cpuset, cpu, io, memory, pids)", dir.path().display());
    assert_eq!(said, expected);
}

#[test]
fn a_delegated_group_with_processes_gives_only_what_it_passes_on_already() {
    let dir = TempDir::new().unwrap();
    // No writable `cgroup.procs` at the top: it belongs to another user.
    let ours = dir.path().join("user/ours");
    let files = [
        ("cgroup.type", "domain\n"),
        ("cgroup.procs", "77\n"),
        ("cgroup.controllers", "cpu memory\n"),
        ("cgroup.subtree_control", "memory\n"),
    ];
    folder(&ours, &files);
    folder(&ours.join("service"), &[("cgroup.procs", "78\n")]);
    let place = [mounted(dir.path(), Some("user/ours/service"))];
    let hierarchies = Hierarchies::among(&place).unwrap();
    assert_eq!(hierarchies.list()[0].base, ours, "the highest that may be written");
    assert!(hierarchies.can(Controller::Memory) && !hierarchies.can(Controller::Cpu));
    fs::write(ours.join("cgroup.procs"), "").unwrap();
    assert!(Hierarchies::among(&place).unwrap().can(Controller::Cpu), "nobody is in the way now");
}

#[test]
fn what_cannot_be_used_says_why() {
    assert_eq!(Hierarchies::among(&[]), Err(UnavailableReason::NotMounted));
    let dir = TempDir::new().unwrap();
    let why = Hierarchies::among(&[mounted(dir.path(), None)]).unwrap_err();
    assert_eq!(why, UnavailableReason::NotWritable { mount: dir.path().to_owned() });
    assert!(why.to_string().contains("systemd-run --user --scope -p Delegate=yes"), "{why}");
}

#[test]
fn version_2_is_told_its_limits_in_its_own_words() {
    let dir = TempDir::new().unwrap();
    folder(dir.path(), ROOT);
    let hierarchies = Hierarchies::among(&[mounted(dir.path(), None)]).unwrap();
    let hierarchy = &hierarchies.list()[0];
    let group = dir.path().join("barograph.x");
    hierarchy.pass_on(&group).unwrap();
    assert!(read(&dir.path().join("cgroup.subtree_control")).starts_with('+'), "what was off is switched on");
    folder(&group, &[("cpu.max", ""), ("cpuset.cpus", ""), ("memory.max", ""), ("memory.swap.max", "")]);
    let write = |limits: &Limits| {
        for controller in &hierarchy.controllers {
            crate::limits::write_version_2(&group, *controller, limits).unwrap();
        }
    };
    write(&Limits {
        cpus: Some(0.3),
        cpu_set: vec![0, 2],
        memory_bytes: Some(64 << 20),
        ..Limits::default()
    });
    assert!(read(&group.join("cpu.max")).starts_with("30000 100000"));
    assert_eq!(read(&group.join("cpuset.cpus")), "0,2\n");
    assert!(read(&group.join("memory.max")).starts_with("67108864"));
    assert!(read(&group.join("memory.swap.max")).starts_with('0'));
    for file in ["cpu.max", "cpuset.cpus", "memory.max", "memory.swap.max"] {
        fs::write(group.join(file), "").unwrap();
    }
    write(&Limits::default());
    assert_eq!(read(&group.join("cpu.max")), "max 100000");
    assert_eq!(read(&group.join("cpuset.cpus")), "\n");
    assert_eq!(
        (read(&group.join("memory.max")), read(&group.join("memory.swap.max"))),
        ("max".into(), "max".into())
    );
}

/// Plain files accept any value; a folder in place of a file makes the write fail.
#[test]
fn memory_of_version_1_that_is_refused_in_part_is_as_it_was() {
    let dir = TempDir::new().unwrap();
    let group = dir.path();
    let write = |mib: u64| {
        let limits = Limits { memory_bytes: Some(mib << 20), ..Limits::default() };
        crate::limits::write_version_1(group, Controller::Memory, &limits)
    };
    fs::write(group.join("memory.limit_in_bytes"), "9999999999\n").unwrap();
    write(64).unwrap();
    assert!(read(&group.join("memory.limit_in_bytes")).starts_with("67108864"), "without accounts of swap");
    fs::write(group.join("memory.limit_in_bytes"), "9999999999\n").unwrap();
    fs::create_dir(group.join("memory.memsw.limit_in_bytes")).unwrap();
    let error = write(32).unwrap_err();
    assert!(error.to_string().contains("memory.memsw.limit_in_bytes"), "{error}");
    assert_eq!(read(&group.join("memory.limit_in_bytes")).trim(), "9999999999");
}

#[test]
fn limits_that_cannot_be_are_refused_before_anything_is_made() {
    let dir = TempDir::new().unwrap();
    let files =
        [("cgroup.procs", ""), ("cgroup.controllers", "memory\n"), ("cgroup.subtree_control", "memory\n")];
    folder(dir.path(), &files);
    let hierarchies = Hierarchies::among(&[mounted(dir.path(), None)]).unwrap();
    let limits = Limits { cpus: Some(1.0), ..Limits::default() };
    let error = Group::create(&hierarchies, "barograph.x", &limits).unwrap_err();
    assert!(error.to_string().starts_with("limit CPU time"), "{error}");
    assert!(!dir.path().join("barograph.x").exists());
    for cpus in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let limits = Limits { cpus: Some(cpus), ..Limits::default() };
        let error = crate::limits::write_version_2(dir.path(), Controller::Cpu, &limits).unwrap_err();
        assert!(matches!(error, Error::BadLimit { .. }), "{error}");
    }
}
