//! Checks that a site could be opened and a unit started, without creating anything.

use std::path::{Path, PathBuf};

use barograph_cgroup::{Controller, Hierarchies};
use barograph_platform::{
    Capability, Facts, Limits, MissingRequirement, Readiness, SiteSpec, Unit, User, in_user_namespace,
};
use rustix::fs::{Access, access};
use rustix::process::geteuid;
use rustix::thread::CapabilitySet;

use crate::containment::{Containment, OPTION};
use crate::disks::FileSystemKind;

/// Folders of the programs that precede a unit.
const FOLDERS: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Checks a site of the process platform: its hosts are the machine itself, so they cannot have links.
pub(crate) fn of_site(spec: &SiteSpec) -> Result<Facts, Vec<MissingRequirement>> {
    let mut missing = Vec::new();
    for host in spec.hosts.iter().filter(|host| !host.link.is_plain()) {
        missing.push(MissingRequirement {
            what: format!(
                "host `{}` wants a link of its own, and child processes share this machine's",
                host.name
            ),
            hint: "use platform `namespace`, or leave the link out".to_owned(),
        });
    }
    let full = std::fs::read_dir(&spec.folder).is_ok_and(|mut entries| entries.next().is_some());
    if full {
        missing.push(MissingRequirement {
            what: format!("the site's folder `{}` is not empty", spec.folder.display()),
            hint: "remove what is in it, or name another".to_owned(),
        });
    }
    let mut facts = vec![("platform".to_owned(), "process".to_owned())];
    match of_local(spec) {
        Ok(more) => facts.extend(more),
        Err(more) => missing.extend(more),
    }
    if missing.is_empty() { Ok(facts) } else { Err(missing) }
}

/// Checks the requirements of any site on this machine.
pub(crate) fn of_local(spec: &SiteSpec) -> Result<Facts, Vec<MissingRequirement>> {
    let mut missing = Vec::new();
    if let Some(value) = spec.option(OPTION)
        && !["control-group", "namespace", "mark"].contains(&value)
    {
        let hint = "set it to control-group, namespace or mark, or leave it out".to_owned();
        missing.push(MissingRequirement { what: format!("option `{OPTION}` cannot be `{value}`"), hint });
    }
    let hold = Containment::choose(spec);
    if let Some(wanted) = spec.option(OPTION)
        && wanted != hold.name()
        && missing.is_empty()
    {
        missing.push(cannot_hold(wanted));
    }
    for host in &spec.hosts {
        if let Err(more) = limits(&format!("host `{}`", host.name), &host.limits, &hold) {
            missing.push(more);
        }
    }
    let mut disks = Facts::new();
    if !spec.disks.is_empty() {
        match FileSystemKind::choose(spec) {
            Ok(kind) => disks.push(("file systems of units".to_owned(), of_disks(kind, spec))),
            Err(more) => missing.push(more),
        }
    }
    if missing.is_empty() { Ok(facts(&hold, spec).into_iter().chain(disks).collect()) } else { Err(missing) }
}

/// Describes the kind of file system, and the size for each unit.
fn of_disks(kind: FileSystemKind, spec: &SiteSpec) -> String {
    let each = spec.disks.iter().map(|disk| format!("{} {} MiB", disk.unit, disk.bytes >> 20));
    format!("{}: {}", kind.describe(), each.collect::<Vec<_>>().join(", "))
}

fn cannot_hold(wanted: &str) -> MissingRequirement {
    let (what, hint) = match Hierarchies::find() {
        Err(why) if wanted == "control-group" => (why.to_string(), "see the message".to_owned()),
        _ => (
            "no namespaces of processes for this user".to_owned(),
            "run as root, or `sysctl -w user.max_user_namespaces=10000`".to_owned(),
        ),
    };
    MissingRequirement { what: format!("units cannot be held together by `{wanted}`: {what}"), hint }
}

fn facts(hold: &Containment, spec: &SiteSpec) -> Facts {
    let limited: Vec<&str> =
        spec.hosts.iter().filter(|host| !host.limits.is_none()).map(|host| host.name.as_str()).collect();
    let (together, limits) = match hold {
        Containment::ControlGroup(hierarchies) => {
            let can = |controller, name| hierarchies.can(controller).then_some(name);
            let names: Vec<&str> = [
                can(Controller::Cpu, "CPU time"),
                can(Controller::CpuSet, "cores"),
                can(Controller::Memory, "memory"),
            ]
            .into_iter()
            .flatten()
            .collect();
            (format!("control groups: {}", hierarchies.describe()), names.join(", "))
        }
        Containment::Namespace => ("namespaces of processes".to_owned(), "cores".to_owned()),
        Containment::Mark => ("process groups and a mark in the environment".to_owned(), "cores".to_owned()),
    };
    let limited = if limited.is_empty() { "none".to_owned() } else { limited.join(", ") };
    [
        (
            "isolation",
            "none: units share cores, memory, disk and network with the driver, up to their limits",
        ),
        ("units are held together by", &together),
        ("limits that can be set", &limits),
        ("hosts with limits", &limited),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

/// Checks that these limits can be set.
fn limits(whose: &str, limits: &Limits, hold: &Containment) -> Result<(), MissingRequirement> {
    let Containment::ControlGroup(hierarchies) = hold else { return limits_without_groups(whose, limits) };
    let wanted = [
        (limits.cpus.is_some(), Controller::Cpu, "CPU time", "cpu"),
        (!limits.cpu_set.is_empty(), Controller::CpuSet, "cores", "cpuset"),
        (limits.memory_bytes.is_some(), Controller::Memory, "memory", "memory"),
        (limits.disk_bytes_s.is_some(), Controller::Io, "rate of disks", "io"),
    ];
    match wanted.iter().find(|(wanted, controller, ..)| *wanted && !hierarchies.can(*controller)) {
        Some((_, _, what, name)) => Err(MissingRequirement {
            what: format!("the {what} of {whose} cannot be limited: no controller `{name}` for us"),
            hint: format!("run as root, or `systemd-run --user --scope -p Delegate={name}`"),
        }),
        None => Ok(()),
    }
}

/// Without control groups only cores can be limited.
pub(crate) fn limits_without_groups(whose: &str, limits: &Limits) -> Result<(), MissingRequirement> {
    if limits.cpus.is_some() || limits.memory_bytes.is_some() || limits.disk_bytes_s.is_some() {
        let why = Hierarchies::find().err().map_or("they are switched off".to_owned(), |why| why.to_string());
        return Err(MissingRequirement {
            what: format!(
                "CPU time, memory and disks of {whose} cannot be limited without control groups ({why})"
            ),
            hint: "run as root, or leave the limits out".to_owned(),
        });
    }
    if limits.cpu_set.is_empty() { Ok(()) } else { program_of_system("taskset", "util-linux").map(drop) }
}

/// Returns the path of a program of the system.
pub(crate) fn program_of_system(name: &str, package: &str) -> Result<PathBuf, MissingRequirement> {
    let places = FOLDERS.iter().map(|folder| Path::new(folder).join(name));
    let found = places.into_iter().find(|place| access(place, Access::EXEC_OK).is_ok());
    found.ok_or_else(|| MissingRequirement {
        what: format!("program `{name}` is not there"),
        hint: format!("apt-get install -y {package}"),
    })
}

/// Checks program, folders, limits and user of a unit.
pub(crate) fn of_unit(unit: &Unit, hold: &Containment) -> Result<Facts, MissingRequirement> {
    program(&unit.program)?;
    for step in &unit.prepare {
        program(&step.program)?;
    }
    // The working folder of a unit with files is created.
    let workdir = unit.files.is_empty().then_some(unit.workdir.as_path());
    for folder in [workdir, unit.log.parent()].into_iter().flatten() {
        // A log without a folder is in the current one, which exists.
        if folder != Path::new("") && !folder.is_dir() {
            let what = format!("folder `{}` is not there", folder.display());
            return Err(MissingRequirement { what, hint: "make it first".to_owned() });
        }
    }
    limits(&format!("unit `{}`", unit.name), &unit.limits, hold)?;
    if unit.user == User::NotRoot && geteuid().is_root() {
        program_of_system("unshare", "util-linux")?;
    }
    capabilities(unit)?;
    if matches!(unit.ready, Readiness::Answers { address, .. } if address.port() == 0) {
        let what = format!("unit `{}` is to be asked at port 0", unit.name);
        return Err(MissingRequirement { what, hint: "give it a port".to_owned() });
    }
    Ok(vec![("program".to_owned(), unit.program.display().to_string())])
}

/// Checks that this process has the capabilities of a unit, which inherits them.
fn capabilities(unit: &Unit) -> Result<(), MissingRequirement> {
    let own = rustix::thread::capabilities(None).map_or_else(|_| CapabilitySet::empty(), |own| own.effective);
    let has = |capability: &Capability| match capability {
        // That of a user namespace opens nothing outside of it.
        Capability::DacReadSearch => own.contains(CapabilitySet::DAC_READ_SEARCH) && !in_user_namespace(),
    };
    match unit.capabilities.iter().find(|capability| !has(capability)) {
        Some(missing) => {
            let what = format!("unit `{}` needs CAP_{}", unit.name, missing.name());
            Err(MissingRequirement { what, hint: "run as root".to_owned() })
        }
        None => Ok(()),
    }
}

fn program(program: &Path) -> Result<(), MissingRequirement> {
    let missing = |what: String, hint: String| Err(MissingRequirement { what, hint });
    let name = program.display();
    if !program.is_absolute() {
        return missing(format!("program `{name}` has no absolute path"), "give its whole path".to_owned());
    }
    if !program.is_file() {
        return missing(format!("program `{name}` is not there"), "build or install it".to_owned());
    }
    if access(program, Access::EXEC_OK).is_err() {
        return missing(format!("program `{name}` may not be executed"), format!("chmod +x {name}"));
    }
    Ok(())
}
