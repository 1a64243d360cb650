//! Requirements of virtual machines on this machine, and facts for the record.

use std::time::Duration;

use barograph_cgroup::Hierarchies;
use barograph_platform::{Facts, HostSpec, MissingRequirement, SiteSpec};
use barograph_platform_process::Local;
use barograph_virtual_network::lacking;

use crate::accel::{known, kvm_opens};
use crate::emulator::QEMU;
use crate::kernel::Kernel;
use crate::libvirt;
use crate::settings::{Accel, Manager, Settings, find_program, memory_mib, of_emulator, processors};

/// QEMU's server of shared folders, at its path in Debian 12.
pub(crate) const FOLDER_SERVER: &str = "/usr/lib/qemu/virtiofsd";

/// Programs, and their packages in Debian and Ubuntu.
const PROGRAMS: &[(&str, &str)] = &[
    (QEMU, "qemu-system-x86"),
    ("qemu-img", "qemu-utils"),
    ("mke2fs", "e2fsprogs"),
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
];

/// Programs that download the guests' kernel.
const FETCHERS: &[&str] = &["apt-get", "apt-cache", "dpkg-deb"];

/// Checks the requirements without creating anything.
pub(crate) fn look(site: &SiteSpec) -> Result<Facts, Vec<MissingRequirement>> {
    let mut missing = Vec::new();
    let settings = Settings::of(site).map_err(|wrong| missing.push(wrong)).ok();
    let manages = settings.as_ref().is_some_and(|settings| settings.manager == Manager::Libvirt);
    for (program, package) in PROGRAMS {
        if find_program(program).is_none() {
            missing.push(MissingRequirement {
                what: format!("program `{program}` is not there"),
                hint: format!("apt-get install -y --no-install-recommends {package}"),
            });
        }
    }
    if manages {
        missing.extend(libvirt::missing());
        if let Err(why) = Hierarchies::find() {
            missing.push(MissingRequirement {
                what: format!(
                    "the processes of libvirt can be found and ended only in control groups: {why}"
                ),
                hint: "mount control groups, or set deploy.vm_manager = \"qemu\"".to_owned(),
            });
        }
    }
    if !site.writable.is_empty() && !std::path::Path::new(FOLDER_SERVER).is_file() {
        missing.push(MissingRequirement {
            what: format!("program `{FOLDER_SERVER}` is not there, and the site has writable folders"),
            hint: "apt-get install -y --no-install-recommends qemu-system-common".to_owned(),
        });
    }
    if !rustix::process::geteuid().is_root() {
        missing.push(MissingRequirement {
            what: "network devices of virtual machines and images with their owners need root".to_owned(),
            hint: "run barograph as root".to_owned(),
        });
    }
    let delays = site.hosts.iter().any(|host| host.link.delay > Duration::ZERO || host.link.loss > 0.0);
    missing.extend(lacking(delays, true));
    let emulator = |host: &HostSpec| HostSpec { limits: of_emulator(host), ..host.clone() };
    let hosts = site.hosts.iter().map(emulator).collect();
    let here = SiteSpec { hosts, disks: Vec::new(), ..site.clone() };
    let mut facts = Local::look(&here).unwrap_or_else(|mut more| {
        missing.append(&mut more);
        Facts::new()
    });
    if let Some(settings) = &settings {
        facts.extend(look_at_kernel(settings, &mut missing));
    }
    if missing.is_empty() { Ok(described(site, facts)) } else { Err(missing) }
}

fn look_at_kernel(settings: &Settings, missing: &mut Vec<MissingRequirement>) -> Facts {
    let kernel = Kernel::cached(&settings.cache);
    if kernel.is_none() && FETCHERS.iter().any(|program| find_program(program).is_none()) {
        missing.push(MissingRequirement {
            what: format!("no kernel for guests is in `{}`", settings.cache.join("kernel").display()),
            hint: "unpack a linux-image-*-cloud-amd64 and busybox-static of Debian there with dpkg-deb -x"
                .to_owned(),
        });
    }
    if settings.accel == Some(Accel::Kvm) && !kvm_opens() {
        missing.push(MissingRequirement {
            what: "/dev/kvm cannot be opened".to_owned(),
            hint: "switch on virtualisation in the firmware or the outer machine, or set deploy.vm_accel = \"tcg\""
                .to_owned(),
        });
    }
    let accel = match settings.accel.or_else(|| known(&settings.cache)) {
        Some(accel) => accel.name().to_owned(),
        None if kvm_opens() => {
            "kvm if a guest speaks, else tcg; tried once by each run until one does".to_owned()
        }
        None => Accel::Tcg.name().to_owned(),
    };
    let version = kernel.map_or_else(|| "fetched at the first start".to_owned(), |kernel| kernel.version);
    let mut facts = accel_facts(&accel);
    facts.push(("guest kernel".to_owned(), version));
    facts
}

/// Returns the facts about the accelerator for the record.
pub(crate) fn accel_facts(accel: &str) -> Facts {
    let mut facts = vec![("accel".to_owned(), accel.to_owned())];
    if accel == Accel::Tcg.name() {
        facts.push((
            "emulated".to_owned(),
            "the guests' processor is translated by QEMU: figures are functional, not performance".to_owned(),
        ));
    }
    facts
}

fn described(site: &SiteSpec, facts: Facts) -> Facts {
    let mut all = vec![
        ("platform".to_owned(), "vm".to_owned()),
        (
            "isolation".to_owned(),
            "each host is a virtual machine with its own kernel; programs are this machine's, by image"
                .to_owned(),
        ),
    ];
    for host in &site.hosts {
        let mut size = format!("{} processors, {} MiB", processors(host), memory_mib(host));
        if !host.limits.cpu_set.is_empty() {
            let cores: Vec<String> = host.limits.cpu_set.iter().map(ToString::to_string).collect();
            size.push_str(&format!(", its emulator on cores {}", cores.join(",")));
        }
        all.push((format!("host {}", host.name), size));
    }
    let new = |(name, _): &(String, String)| !["platform", "isolation"].contains(&name.as_str());
    all.extend(facts.into_iter().filter(new));
    all
}
