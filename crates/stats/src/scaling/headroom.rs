//! How many more users fit, what ends it, and what would end it next.

/// A resource in use at the present load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Use<'n> {
    /// Its name.
    pub name: &'n str,
    /// Share of it in use, 0 to 1.
    pub share: f64,
}

/// How much room there is above the present load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Headroom<'n> {
    /// Users (or whatever the level counts) that still fit; negative when the load is beyond the capacity.
    pub users: f64,
    /// The same as a part of the present load.
    pub share: f64,
    /// The resource that is used most, and its share at the capacity, if shares grow as the load does.
    pub limiting: Option<Use<'n>>,
    /// The one after it, in the same way.
    pub next: Option<Use<'n>>,
    /// The capacity with twice the limiting resource: until that one or the next is used as much as the limiting one is
    /// now. Absent when no resource is known.
    pub doubled: Option<f64>,
}

/// The room between the `present` load and the `capacity`, of which the lower end of its interval is the careful choice.
/// `uses` are shares at the present load. `None` when the present load is not above zero.
///
/// Shares grow with the load by the utilisation law. When the capacity is reached long before any share is near one,
/// no resource named here is what ends it; the shares at the capacity show that.
#[must_use]
pub fn headroom<'n>(present: f64, capacity: f64, uses: &[Use<'n>]) -> Option<Headroom<'n>> {
    if !(present > 0.0 && capacity.is_finite()) {
        return None;
    }
    let growth = capacity / present;
    let mut ordered: Vec<Use<'n>> =
        uses.iter().copied().filter(|u| u.share.is_finite() && u.share > 0.0).collect();
    ordered.sort_by(|a, b| b.share.total_cmp(&a.share));
    let at_capacity = |place: usize| ordered.get(place).map(|u| Use { share: u.share * growth, ..*u });
    let (limiting, next) = (at_capacity(0), at_capacity(1));
    let gain = limiting.map(|first| next.map_or(2.0, |next| (first.share / next.share).min(2.0)));
    Some(Headroom {
        users: capacity - present,
        share: growth - 1.0,
        limiting,
        next,
        doubled: gain.map(|gain| capacity * gain),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_largest_shares_say_what_ends_it() {
        let uses = [
            Use { name: "disk", share: 0.10 },
            Use { name: "application CPU", share: 0.40 },
            Use { name: "database CPU", share: 0.30 },
            Use { name: "unknown", share: f64::NAN },
        ];
        let found = headroom(1_000.0, 2_200.0, &uses).unwrap();
        assert!((found.users - 1_200.0).abs() < 1e-9 && (found.share - 1.2).abs() < 1e-12);
        let (limiting, next) = (found.limiting.unwrap(), found.next.unwrap());
        assert_eq!((limiting.name, next.name), ("application CPU", "database CPU"));
        assert!((limiting.share - 0.88).abs() < 1e-12 && (next.share - 0.66).abs() < 1e-12);
        // The database ends it a third later, before twice the application would.
        assert!((found.doubled.unwrap() - 2_200.0 * 4.0 / 3.0).abs() < 1e-6);
    }

    #[test]
    fn twice_is_the_most_that_doubling_gives() {
        let alone = headroom(100.0, 150.0, &[Use { name: "cpu", share: 0.5 }]).unwrap();
        assert_eq!((alone.next, alone.doubled), (None, Some(300.0)));
        assert_eq!(headroom(100.0, 150.0, &[]).unwrap().doubled, None);
        assert_eq!(headroom(0.0, 150.0, &[]), None);
        assert!(headroom(200.0, 150.0, &[]).unwrap().users < 0.0);
    }
}
