//! Names and labels of objects in a cluster.

use std::collections::BTreeMap;

/// Label of every object of a site, with the site as its value.
pub(crate) const SITE: &str = "barograph.org/site";

/// Label of the pods of a host, and selector of its service.
pub(crate) const HOST: &str = "barograph.org/host";

/// Label of a unit's pods.
pub(crate) const UNIT: &str = "barograph.org/unit";

/// Label of pods that are kept apart from each other.
pub(crate) const GROUP: &str = "barograph.org/group";

/// Its value.
pub(crate) const APART: &str = "apart";

/// Who manages the objects, as a label and as the owner of fields.
pub(crate) const MANAGER: &str = "barograph";

/// Container of a unit in its pod.
pub(crate) const CONTAINER: &str = "unit";

/// Container that copies the files of a unit to its volume.
pub(crate) const COPY: &str = "copy";

/// Longest name of an object; services take no longer ones.
const LONGEST: usize = 63;

/// Returns the namespace of a site.
pub(crate) fn namespace(site: &str) -> String {
    format!("barograph-{site}")
}

/// Returns the name of a site's object for a host, a unit or a tier, also in a namespace that several sites share.
pub(crate) fn object(site: &str, of: &str) -> String {
    plain(&format!("bg-{site}-{of}"))
}

/// Returns the pod of a unit. A pod's name is not used again within a site: `number` counts its pods.
pub(crate) fn pod(site: &str, unit: &str, number: u64) -> String {
    plain(&format!("bg-{site}-{unit}-{number}"))
}

/// Returns the container of one step before a unit's start, counted from 1.
pub(crate) fn step(number: usize) -> String {
    format!("step-{number}")
}

/// Returns the number of a step from its container's name; 0 for the copy of files before the steps.
pub(crate) fn step_of(container: &str) -> usize {
    container.strip_prefix("step-").and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// Returns the labels of a site's objects.
pub(crate) fn labels(site: &str) -> BTreeMap<String, String> {
    let all = [("app.kubernetes.io/managed-by", MANAGER), (SITE, site)];
    all.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// Returns the selector of a site's objects.
pub(crate) fn selector(site: &str) -> String {
    format!("{SITE}={site}")
}

/// Returns the selector of a unit's pods.
pub(crate) fn selector_of_unit(site: &str, unit: &str) -> String {
    format!("{SITE}={site},{UNIT}={}", value(unit))
}

/// Returns the value of a label: labels take fewer characters than names of units have.
pub(crate) fn value(name: &str) -> String {
    plain(name)
}

/// Replaces characters that names cannot have. A hash of the original name keeps changed names distinct.
fn plain(name: &str) -> String {
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let ends_well = name.ends_with(|c: char| c.is_ascii_alphanumeric());
    if name.chars().all(fine) && name.len() <= LONGEST && ends_well {
        return name.to_owned();
    }
    let number = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let kept: String =
        name.to_ascii_lowercase().chars().take(LONGEST - 9).map(|c| if fine(c) { c } else { '-' }).collect();
    format!("{kept}-{:08x}", number & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_a_cluster_and_stay_different() {
        assert_eq!(pod("x1", "app-1", 2), "bg-x1-app-1-2");
        assert_eq!(object("x1", "app-1"), "bg-x1-app-1");
        let (one, two) = (pod("x", "a b", 0), pod("x", "A_b", 0));
        assert_ne!(one, two);
        assert!(one.starts_with("bg-x-a-b-0-") && two.starts_with("bg-x-a-b-0-"), "{one} {two}");
        let long = pod("x", &"u".repeat(200), 0);
        assert!(long.len() <= LONGEST, "{long}");
        assert_eq!(value("load-1"), "load-1");
        assert_ne!(value("ends-"), "ends-");
    }

    #[test]
    fn a_site_is_selected_by_its_label() {
        assert_eq!(selector("x1"), "barograph.org/site=x1");
        assert_eq!(labels("x1")[SITE], "x1");
        assert_eq!(selector_of_unit("x1", "app-1"), "barograph.org/site=x1,barograph.org/unit=app-1");
    }
}
