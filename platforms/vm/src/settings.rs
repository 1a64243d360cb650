//! Options of a site for its virtual machines, and the programs that create them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use barograph_platform::{HostSpec, Limits, MissingRequirement, SiteSpec};

/// Folder of kernels and images shared by runs.
const CACHE: &str = "/var/cache/barograph/vm";

/// Largest size of each host's disk in GiB; only written blocks take space.
const DISK_GIB: u64 = 16;

/// Memory of a host without a limit, in bytes.
const MEMORY: u64 = 1 << 30;

/// Smallest memory of a host in bytes; kernel and agent need about 150 MiB.
const LEAST_MEMORY: u64 = 256 << 20;

/// Longest boot. An emulated guest boots in 4 to 15 s, and two cores may have many to boot.
const BOOT_LIMIT: Duration = Duration::from_secs(120);

/// Parts of the machine's programs that only people and compilers read, which would be most of the image.
const LEFT_OUT: &[&str] = &[
    "/usr/games",
    "/usr/include",
    "/usr/lib/debug",
    "/usr/lib/firmware",
    "/usr/lib/gcc",
    "/usr/lib/google-cloud-sdk",
    "/usr/lib/llvm-*",
    "/usr/lib/modules",
    "/usr/local/go",
    "/usr/local/include",
    "/usr/share/doc",
    "/usr/share/fonts",
    "/usr/share/google-cloud-sdk",
    "/usr/share/help",
    "/usr/share/icons",
    "/usr/share/info",
    "/usr/share/locale",
    "/usr/share/man",
    "/usr/share/vim",
    "/usr/src",
];

/// Executor of the guests' code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accel {
    /// KVM: the processor itself.
    Kvm,
    /// QEMU's emulator: correct, and many times slower.
    Tcg,
}

impl Accel {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Accel::Kvm => "kvm",
            Accel::Tcg => "tcg",
        }
    }
}

/// What starts the guests and carries out operations on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manager {
    /// This program, by QEMU's own control.
    Qemu,
    /// Daemons of libvirt.
    Libvirt,
}

impl Manager {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Manager::Qemu => "qemu",
            Manager::Libvirt => "libvirt",
        }
    }
}

/// Checked options.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) cache: PathBuf,
    pub(crate) disk_gib: u64,
    /// `None`: KVM if a guest of it works, or else TCG.
    pub(crate) accel: Option<Accel>,
    pub(crate) manager: Manager,
    pub(crate) boot_limit: Duration,
    pub(crate) left_out: Vec<PathBuf>,
    /// Kernel modules in addition to those for every guest.
    pub(crate) modules: Vec<String>,
}

impl Settings {
    /// Reads the options `cache`, `disk_gib`, `accel`, `manager`, `boot_seconds`, `leave_out` and `modules`.
    pub(crate) fn of(site: &SiteSpec) -> Result<Settings, MissingRequirement> {
        let words = |name: &str| {
            site.option(name).unwrap_or_default().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        let whole = |name: &str, default: u64| match site.option(name) {
            None => Ok(default),
            Some(text) => text.parse::<u64>().ok().filter(|n| *n > 0).ok_or_else(|| MissingRequirement {
                what: format!("`{text}` is no value of the option `{name}`"),
                hint: format!("give a whole number above 0, as {default}"),
            }),
        };
        let accel = match site.option("accel").unwrap_or("auto") {
            "auto" => None,
            "kvm" => Some(Accel::Kvm),
            "tcg" => Some(Accel::Tcg),
            other => {
                return Err(MissingRequirement {
                    what: format!("`{other}` is no value of the option `accel`"),
                    hint: "give auto, kvm or tcg".to_owned(),
                });
            }
        };
        let manager = match site.option("manager").unwrap_or(Manager::Qemu.name()) {
            "qemu" => Manager::Qemu,
            "libvirt" => Manager::Libvirt,
            other => {
                return Err(MissingRequirement {
                    what: format!("`{other}` is no value of the option `manager`"),
                    hint: "give qemu or libvirt".to_owned(),
                });
            }
        };
        let left_out = LEFT_OUT.iter().map(|&text| text.to_owned()).chain(words("leave_out"));
        Ok(Settings {
            cache: PathBuf::from(site.option("cache").unwrap_or(CACHE)),
            disk_gib: whole("disk_gib", DISK_GIB)?,
            accel,
            manager,
            boot_limit: Duration::from_secs(whole("boot_seconds", BOOT_LIMIT.as_secs())?),
            left_out: left_out.map(PathBuf::from).collect(),
            modules: words("modules"),
        })
    }
}

/// Returns the number of processors of a host, which are whole, as fractions are made by a quota on the
/// emulator. Without a limit, one for each core of the emulator.
pub(crate) fn processors(host: &HostSpec) -> usize {
    let cores = host.limits.cpu_set.len() as f64;
    let cpus = host.limits.cpus.unwrap_or(cores).ceil().clamp(1.0, 64.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and 64")]
    let whole = cpus as usize;
    whole
}

/// Returns the limits of a host's emulator on this machine. Whole processors are limited by their number, and
/// memory is limited by that of the guest, as QEMU itself needs more. Cores of a host are cores of this
/// machine.
pub(crate) fn of_emulator(host: &HostSpec) -> Limits {
    let part = host.limits.cpus.filter(|cpus| cpus.fract() != 0.0);
    Limits { cpus: part, cpu_set: host.limits.cpu_set.clone(), ..Limits::default() }
}

/// Returns the memory of a host, in MiB.
pub(crate) fn memory_mib(host: &HostSpec) -> u64 {
    host.limits.memory_bytes.unwrap_or(MEMORY).max(LEAST_MEMORY).div_ceil(1 << 20)
}

/// Folders of programs in Debian and similar distributions.
const FOLDERS: &[&str] = &["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Returns the path of a program in one of the usual folders.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    FOLDERS.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}

/// Returns the path of a program; if it is missing the bare name, whose start then fails with an error that
/// names it.
pub(crate) fn program(name: &str) -> PathBuf {
    find_program(name).unwrap_or_else(|| Path::new("/usr/bin").join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(options: &[(&str, &str)]) -> SiteSpec {
        let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        SiteSpec { options, ..SiteSpec::default() }
    }

    #[test]
    fn options_are_read_and_nonsense_is_named() {
        let settings =
            Settings::of(&site(&[("accel", "tcg"), ("disk_gib", "3"), ("modules", "veth bridge")]));
        let settings = settings.unwrap();
        assert_eq!((settings.accel, settings.disk_gib), (Some(Accel::Tcg), 3));
        assert_eq!(settings.modules, ["veth", "bridge"]);
        assert_eq!(Settings::of(&site(&[])).unwrap().accel, None);
        for (name, value) in
            [("accel", "hvf"), ("manager", "xen"), ("disk_gib", "0"), ("boot_seconds", "soon")]
        {
            let missing = Settings::of(&site(&[(name, value)])).unwrap_err();
            assert!(missing.to_string().contains(name) && missing.to_string().contains(value), "{missing}");
        }
    }

    #[test]
    fn sizes_are_whole_and_enough() {
        let host = |cpus, memory_bytes| HostSpec {
            limits: Limits { cpus, memory_bytes, ..Limits::default() },
            ..HostSpec::default()
        };
        assert_eq!([processors(&host(None, None)), processors(&host(Some(0.2), None))], [1, 1]);
        assert_eq!([processors(&host(Some(1.5), None)), processors(&host(Some(4.0), None))], [2, 4]);
        let on = |cpus| HostSpec {
            limits: Limits { cpus, cpu_set: vec![1, 2, 5], memory_bytes: Some(1 << 30), disk_bytes_s: None },
            ..HostSpec::default()
        };
        assert_eq!([processors(&on(None)), processors(&on(Some(1.5)))], [3, 2]);
        let cpu_set = vec![1, 2, 5];
        assert_eq!(of_emulator(&on(Some(1.5))), Limits { cpus: Some(1.5), cpu_set, ..Limits::default() });
        assert_eq!(of_emulator(&on(Some(2.0))).cpus, None);
        assert_eq!([memory_mib(&host(None, None)), memory_mib(&host(None, Some(1)))], [1024, 256]);
        assert_eq!(memory_mib(&host(None, Some((768 << 20) + 1))), 769);
    }
}
