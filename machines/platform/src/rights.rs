//! Rights of this process.

/// Whether this process is in a user namespace: root in there is not root of the machine, and may create
/// networks and mount some kinds of file systems, but no others, and no control groups.
#[must_use]
pub fn in_user_namespace() -> bool {
    std::fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| !maps_everybody(&map))
}

/// Whether the map is that outside of all namespaces, where every user id maps to itself.
fn maps_everybody(map: &str) -> bool {
    let mut numbers = map.split_ascii_whitespace().map(str::parse::<u64>);
    let first = [numbers.next(), numbers.next(), numbers.next()];
    matches!(first, [Some(Ok(0)), Some(Ok(0)), Some(Ok(4_294_967_295))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_namespace_maps_everybody_to_themselves() {
        assert!(maps_everybody("         0          0 4294967295\n"));
        for map in ["0 65534 1\n", "0 100000 65536\n", "1000 0 1\n", "", "0 0\n", "x y z\n"] {
            assert!(!maps_everybody(map), "{map:?}");
        }
    }
}
