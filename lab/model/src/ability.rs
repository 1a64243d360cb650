//! Abilities of platforms as data: known before a site is open, and without naming a platform.

/// Ability that not every kind of platform has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// Hosts have networks of their own, with all ports free. Without it all hosts are this machine.
    Hosts,
    /// Parts are processes under the kernel and the limits of this machine.
    Processes,
    /// Parts are containers of an engine of this machine.
    Containers,
    /// Parts are pods of a cluster.
    Pods,
    /// Hosts are virtual machines of a given size: limits of a host are that size.
    Machines,
    /// A driver on a host of its own is as fast as one in this process.
    Drivers,
    /// Links of hosts can be limited, slow, lossy or cut.
    Links,
    /// Offloads of the link ends of hosts can be set.
    Offloads,
    /// Parts can have file systems of their own.
    Disks,
    /// What parts read from the disks of this machine and write to them can be limited.
    DiskRates,
    /// Hosts can pass addresses to each other.
    VirtualAddresses,
    /// Hosts can be moved, cloned and restored while they run.
    Moves,
    /// An autoscaler of the platform can say how many parts of a tier should run.
    Autoscaler,
}

impl Ability {
    /// Returns the name in records and lists.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Ability::Hosts => "hosts",
            Ability::Processes => "processes",
            Ability::Containers => "containers",
            Ability::Pods => "pods",
            Ability::Machines => "machines",
            Ability::Drivers => "drivers",
            Ability::Links => "links",
            Ability::Offloads => "offloads",
            Ability::Disks => "disks",
            Ability::DiskRates => "rates of disks",
            Ability::VirtualAddresses => "virtual addresses",
            Ability::Moves => "moves",
            Ability::Autoscaler => "autoscaler",
        }
    }

    /// Returns the words after "a platform": `whose hosts are virtual machines`.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Ability::Hosts => "whose hosts have networks of their own",
            Ability::Processes => "whose parts are processes of this machine",
            Ability::Containers => "whose parts are containers of an engine of this machine",
            Ability::Pods => "whose parts are pods of a cluster",
            Ability::Machines => "whose hosts are virtual machines",
            Ability::Drivers => "with room for drivers on hosts of their own",
            Ability::Links => "whose links can be limited, slow, lossy and cut",
            Ability::Offloads => "whose link ends have offloads that can be set",
            Ability::Disks => "whose parts can have file systems of their own",
            Ability::DiskRates => "whose parts can have a limited rate of disks",
            Ability::VirtualAddresses => "whose hosts can hand addresses to each other",
            Ability::Moves => "whose hosts can be moved, cloned and taken back while they run",
            Ability::Autoscaler => "with an autoscaler",
        }
    }
}

/// A kind of platform, by its name in plans and its abilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlatformKind {
    /// Name in plans and records.
    pub name: &'static str,
    /// Abilities of the platform.
    pub abilities: &'static [Ability],
}

impl PlatformKind {
    /// Whether it has the ability.
    #[must_use]
    pub fn has(&self, ability: Ability) -> bool {
        self.abilities.contains(&ability)
    }
}
