//! Selection of tests: by package, group, and words in their names.

use super::group::Group;
use super::job::Job;

/// The wanted tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    /// `None` for all packages.
    pub(crate) packages: Option<Vec<String>>,
    /// Empty for all groups.
    pub(crate) groups: Vec<Group>,
    /// A part of package, target and name; empty for all.
    pub(crate) filter: String,
}

impl Selection {
    pub(crate) fn wants(&self, job: &Job) -> bool {
        let package = self.packages.as_ref().is_none_or(|names| names.contains(&job.binary.package));
        let group = self.groups.is_empty() || self.groups.contains(&job.group);
        package && group && job.key().contains(&self.filter)
    }

    /// Whether a test target can hold a wanted test: one named after a costlier group holds no quick one.
    pub(crate) fn may_be_in(&self, target: &str) -> bool {
        self.groups != [Group::Quick] || Group::of(Some(target), "") == Group::Quick
    }

    /// The groups as words for people.
    pub(crate) fn groups_text(&self) -> String {
        let groups = if self.groups.is_empty() { &Group::ALL[..] } else { &self.groups };
        groups.iter().map(|group| group.name()).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::super::job::tests::job;
    use super::*;

    #[test]
    fn packages_groups_and_filter_all_count() {
        let quick = job("barograph-stats", None, "rank::tests::exact");
        let service = job("barograph-store-sql", Some("service"), "contract::rows");
        assert!(Selection::default().wants(&quick) && Selection::default().wants(&service));
        let groups = Selection { groups: vec![Group::Quick], ..Selection::default() };
        assert!(groups.wants(&quick) && !groups.wants(&service));
        let packages =
            Selection { packages: Some(vec!["barograph-store-sql".to_owned()]), ..Selection::default() };
        assert!(!packages.wants(&quick) && packages.wants(&service));
        let filter = Selection { filter: "service contract".to_owned(), ..Selection::default() };
        assert!(!filter.wants(&quick) && filter.wants(&service));
    }

    #[test]
    fn targets_of_costlier_groups_are_left_out_for_quick_alone() {
        let of = |groups: &[Group]| Selection { groups: groups.to_vec(), ..Selection::default() };
        assert!(!of(&[Group::Quick]).may_be_in("service") && of(&[Group::Quick]).may_be_in("simulated"));
        assert!(of(&[Group::Quick, Group::Service]).may_be_in("service") && of(&[]).may_be_in("program"));
    }
}
