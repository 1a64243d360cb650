//! The groups of tests, by their needs, which their paths contain.

use anyhow::bail;

/// Needs of a test, from the cheapest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Group {
    /// Only this process: pure code, properties, simulated time, servers within the test.
    Quick,
    /// Real third-party services, or the rights of root.
    Service,
    /// The whole program.
    Program,
    /// Guests under emulation.
    Emulated,
}

impl Group {
    /// All groups, the quickest first.
    pub(crate) const ALL: [Group; 4] = [Group::Quick, Group::Service, Group::Program, Group::Emulated];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Group::Quick => "quick",
            Group::Service => "service",
            Group::Program => "program",
            Group::Emulated => "emulated",
        }
    }

    pub(crate) fn read(name: &str) -> anyhow::Result<Self> {
        let Some(group) = Group::ALL.into_iter().find(|group| group.name() == name) else {
            bail!("`{name}` is no group of tests; allowed: quick, service, program, emulated");
        };
        Ok(group)
    }

    /// The group of a test: the costliest that its segments name. An integration test's first segment is its
    /// target; of a unit test only the segments below `tests` count, since modules of the product may have
    /// such names, too.
    pub(crate) fn of(target: Option<&str>, test: &str) -> Self {
        let segments = test.split("::").collect::<Vec<_>>();
        let from = if target.is_some() { Some(0) } else { segments.iter().position(|s| *s == "tests") };
        let named = target.into_iter().chain(segments[from.unwrap_or(segments.len())..].iter().copied());
        named.filter_map(|segment| Group::read(segment).ok()).max().unwrap_or(Group::Quick)
    }

    /// Load of a test, in eighths of a core: by the processor time in `times.json`, beside others. Guests
    /// take more than a core at times, and two such tests at once would starve each other on two cores.
    pub(crate) fn eighths(self) -> usize {
        match self {
            Group::Emulated => 9,
            Group::Quick => 5,
            Group::Service | Group::Program => 1,
        }
    }

    /// Whether its tests wait most of their time: six sevenths of it, by the processor time in `times.json`.
    pub(crate) fn waits(self) -> bool {
        matches!(self, Group::Service | Group::Program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_costliest_name_on_the_path_decides() {
        let integration = |target, test| Group::of(Some(target), test);
        assert_eq!(integration("simulated", "closed::exact"), Group::Quick);
        assert_eq!(integration("service", "contract::rows"), Group::Service);
        assert_eq!(integration("program", "deployments::emulated::in_guests"), Group::Emulated);
        assert_eq!(Group::of(None, "run::tests::loads::a_search"), Group::Quick);
        assert_eq!(Group::of(None, "tests::service::stopped::a_pool"), Group::Service);
    }

    #[test]
    fn modules_of_the_product_and_parts_of_names_decide_nothing() {
        assert_eq!(Group::of(None, "program::tests::a_path"), Group::Quick);
        assert_eq!(Group::of(None, "service::reads"), Group::Quick);
        assert_eq!(Group::of(Some("services"), "programs::emulated_ones"), Group::Quick);
    }

    #[test]
    fn groups_are_read_by_name() {
        for group in Group::ALL {
            assert_eq!(Group::read(group.name()).unwrap(), group);
        }
        assert!(Group::read("slow").unwrap_err().to_string().contains("allowed: quick, service"));
    }
}
