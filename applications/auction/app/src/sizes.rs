//! Named sizes of the data, the two factors that make them lighter, and the resulting rows.

use serde::{Deserialize, Serialize};

/// Items of an auction of the past or of the future.
pub const ITEMS_PER_AUCTION: u64 = 10;
/// Range of the items of a current auction; the mean is 15.
pub const ITEMS_PER_CURRENT_AUCTION: std::ops::RangeInclusive<u64> = 10..=20;
/// Bids on every sold item of the past.
pub const BIDS_PER_ITEM: u64 = 20;
/// Users who attended an auction of the past.
pub const ATTENDEES_PER_AUCTION: u64 = 40;
/// Attendance rows of a current auction at history factor 1.
const ATTENDANCE_PER_CURRENT_AUCTION: f64 = 100.0;
/// Pictures of an item of a current auction, each in three sizes. Other items have one, in two sizes.
pub const IMAGES_PER_CURRENT_ITEM: u64 = 4;
/// Days before the present over which auctions of the past are spread.
pub const HISTORY_DAYS: i64 = 730;
/// Days after the present over which auctions of the future are spread.
pub const FUTURE_DAYS: i64 = 182;
/// Accounts beside the numbered users: unsold, guest, admin.
pub const EXTRA_ACCOUNTS: u64 = 3;

/// A named size: the number of concurrent users that the data admit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Its name in plans.
    pub name: &'static str,
    /// The most users that may be simulated at once on data of this size.
    pub max_users: u32,
}

/// All sizes, smallest first. `nano` is for tests; those called `run` are what `barograph run` uses by default, by machine.
pub const ALL: [Size; 14] = [
    Size { name: "nano", max_users: 60 },
    Size { name: "micro", max_users: 3_000 },
    Size { name: "run10k", max_users: 10_000 },
    Size { name: "xsmall", max_users: 12_000 },
    Size { name: "small2", max_users: 16_000 },
    Size { name: "run20k", max_users: 20_000 },
    Size { name: "small3", max_users: 25_000 },
    Size { name: "run30k", max_users: 30_000 },
    Size { name: "run40k", max_users: 40_000 },
    Size { name: "medium", max_users: 40_000 },
    Size { name: "run80k", max_users: 80_000 },
    Size { name: "run160k", max_users: 160_000 },
    Size { name: "run320k", max_users: 320_000 },
    Size { name: "run640k", max_users: 640_000 },
];

impl Size {
    /// Whether it is a size for runs on a machine like this, not a published one.
    #[must_use]
    pub fn is_of_runs(self) -> bool {
        self.name.starts_with("run")
    }

    /// The default factors.
    #[must_use]
    pub fn usual_factors(self) -> Factors {
        if self.is_of_runs() { LIGHT_FACTORS } else { PUBLISHED_FACTORS }
    }
}

/// The size of a name.
#[must_use]
pub fn find(name: &str) -> Option<Size> {
    ALL.into_iter().find(|size| size.name == name)
}

/// A factor outside of its range.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("{name} factor {value} is not above 0 and at most 1")]
pub struct BadFactor {
    /// Name of the factor: `history` or `images`.
    pub name: &'static str,
    /// The value given.
    pub value: f64,
}

/// Factors by which the data are lighter than published; both are above 0 and at most 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawFactors", into = "RawFactors")]
pub struct Factors {
    history: f64,
    images: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFactors {
    history: f64,
    images: f64,
}

impl TryFrom<RawFactors> for Factors {
    type Error = BadFactor;

    fn try_from(raw: RawFactors) -> Result<Self, BadFactor> {
        Self::new(raw.history, raw.images)
    }
}

impl From<Factors> for RawFactors {
    fn from(factors: Factors) -> Self {
        Self { history: factors.history, images: factors.images }
    }
}

/// The factors of the default run: light enough to fill `run40k` in under a minute on two idle cores.
const LIGHT_FACTORS: Factors = Factors { history: 0.1, images: 0.02 };
/// The data as published.
const PUBLISHED_FACTORS: Factors = Factors { history: 1.0, images: 1.0 };

impl Factors {
    /// `history` scales the auctions of the past and of the future and the attendance rows of current auctions;
    /// `images` scales the bytes of pictures (see [`barograph_data::pictures`]). Users and current auctions are
    /// never scaled.
    ///
    /// # Errors
    /// If a factor is outside (0, 1] or not a number.
    pub fn new(history: f64, images: f64) -> Result<Self, BadFactor> {
        for (name, value) in [("history", history), ("images", images)] {
            if !(value > 0.0 && value <= 1.0) {
                return Err(BadFactor { name, value });
            }
        }
        Ok(Self { history, images })
    }

    /// Depth of history as a share of the published one, in (0, 1].
    #[must_use]
    pub fn history(self) -> f64 {
        self.history
    }

    /// Bytes of pictures as a share of the published ones, in (0, 1].
    #[must_use]
    pub fn images(self) -> f64 {
        self.images
    }
}

/// The rows of a size and its factors. Items of current auctions are drawn at random: see
/// [`ITEMS_PER_CURRENT_AUCTION`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Numbered users, with ids from 1.
    pub users: u64,
    /// Current auctions.
    pub current_auctions: u64,
    /// Attendance rows of each current auction.
    pub attendance_per_current_auction: u64,
    /// Auctions of the past.
    pub history_auctions: u64,
    /// Auctions of the future.
    pub future_auctions: u64,
}

impl Counts {
    /// The published ratios times the history factor where it applies, at least 1 of everything.
    #[must_use]
    pub fn of(size: Size, factors: Factors) -> Self {
        let m = f64::from(size.max_users);
        let scaled = |rows: f64| (rows * factors.history).round().max(1.0) as u64;
        let history = 2.5 * m;
        let future = history * FUTURE_DAYS as f64 / HISTORY_DAYS as f64;
        Self {
            users: u64::from(size.max_users) * 5,
            current_auctions: u64::from(size.max_users.div_ceil(15).next_multiple_of(2).max(4)),
            attendance_per_current_auction: scaled(ATTENDANCE_PER_CURRENT_AUCTION),
            history_auctions: scaled(history),
            future_auctions: scaled(future),
        }
    }

    /// Items of past auctions, each of them sold: also the number of purchases.
    #[must_use]
    pub fn history_items(&self) -> u64 {
        self.history_auctions * ITEMS_PER_AUCTION
    }

    /// Bids on items of past auctions.
    #[must_use]
    pub fn history_bids(&self) -> u64 {
        self.history_items() * BIDS_PER_ITEM
    }

    /// Attendance rows of past auctions.
    #[must_use]
    pub fn history_attendance(&self) -> u64 {
        self.history_auctions * ATTENDEES_PER_AUCTION
    }

    /// Items of future auctions.
    #[must_use]
    pub fn future_items(&self) -> u64 {
        self.future_auctions * ITEMS_PER_AUCTION
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_agree_with_the_published_table() {
        // name, users, history auctions, items, bids, attendance, future auctions, current auctions
        let table = [
            ("micro", 15_000, 7_500, 75_000, 1_500_000, 300_000, 1_870, 200),
            ("xsmall", 60_000, 30_000, 300_000, 6_000_000, 1_200_000, 7_479, 800),
            ("small2", 80_000, 40_000, 400_000, 8_000_000, 1_600_000, 9_973, 1_068),
            ("small3", 125_000, 62_500, 625_000, 12_500_000, 2_500_000, 15_582, 1_668),
            ("medium", 200_000, 100_000, 1_000_000, 20_000_000, 4_000_000, 24_932, 2_668),
        ];
        for (name, users, auctions, items, bids, attendance, future, current) in table {
            let counts = Counts::of(find(name).unwrap(), PUBLISHED_FACTORS);
            assert_eq!(counts.users, users, "{name}");
            assert_eq!(counts.history_auctions, auctions, "{name}");
            assert_eq!(counts.history_items(), items, "{name}");
            assert_eq!(counts.history_bids(), bids, "{name}");
            assert_eq!(counts.history_attendance(), attendance, "{name}");
            assert_eq!(counts.future_auctions, future, "{name}");
            assert_eq!(counts.current_auctions, current, "{name}");
            assert_eq!(counts.attendance_per_current_auction, 100, "{name}");
            assert_eq!(counts.history_items() / counts.users, 5, "{name}: purchases per user");
        }
    }

    #[test]
    fn the_history_factor_leaves_users_and_current_auctions_alone() {
        let size = find("run30k").unwrap();
        let counts = Counts::of(size, Factors::new(0.01, 1.0).unwrap());
        assert_eq!((counts.users, counts.current_auctions), (150_000, 2_000));
        assert_eq!((counts.history_auctions, counts.future_auctions), (750, 187));
        assert_eq!(counts.attendance_per_current_auction, 1);
        let least = Counts::of(ALL[0], Factors::new(1e-9, 1.0).unwrap());
        assert_eq!((least.history_auctions, least.future_auctions, least.current_auctions), (1, 1, 4));
    }

    #[test]
    fn factors_outside_their_range_do_not_construct() {
        for bad in [0.0, -0.5, 1.01, f64::NAN, f64::INFINITY] {
            assert_eq!(Factors::new(bad, 1.0).unwrap_err().name, "history");
            assert_eq!(Factors::new(1.0, bad).unwrap_err().name, "images");
        }
        assert!(serde_json::from_str::<Factors>(r#"{"history":2.0,"images":1.0}"#).is_err());
    }

    #[test]
    fn names_find_their_sizes() {
        for size in ALL {
            assert_eq!(find(size.name), Some(size));
        }
        assert_eq!(find("huge"), None);
    }
}
