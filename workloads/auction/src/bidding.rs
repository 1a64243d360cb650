//! Decision to bid, choice of the auction, and amount.

use barograph_auction_api::Cents;
use barograph_engine::Stream;
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, Normal};

use crate::state::{FollowedAuction, Session};

/// Probability of a bid in an auction that qualifies, per opportunity.
const PROBABILITY: f64 = 0.1;

/// Highest bid.
const CEILING_CENTS: Cents = 100_000;

/// Least credit for a bid, as a multiple of the current amount.
const HEADROOM: f64 = 1.06;

/// Mean increase, relative to the current amount.
const INCREASE_MEAN: f64 = 0.02;
/// Standard deviation of the increase, relative to the current amount.
const INCREASE_SD: f64 = 0.02;
/// Bounds of the increase, relative to the current amount.
const INCREASE_RANGE: (f64, f64) = (0.005, 0.06);

/// The first followed auction, in random order, in which this user bids. The amount is decided when the bid
/// is placed, a cycle later, from the state seen by then: see [`amount`].
pub(crate) fn decide(session: &Session, rng: &mut Stream) -> Option<i64> {
    let mut followed = session.followed.clone();
    followed.shuffle(rng);
    followed.iter().find(|f| qualifies(f, session, rng)).map(|f| f.auction)
}

fn qualifies(f: &FollowedAuction, session: &Session, rng: &mut Stream) -> bool {
    f.open()
        && f.seen.bidder_id.0 != session.account
        && rng.random_bool(PROBABILITY)
        && affordable(f.seen.amount_cents, session.credit_cents)
}

/// Whether there is room above the current amount, in whole units of money.
fn affordable(current: Cents, credit: Cents) -> bool {
    let wanted = (current as f64 / 100.0 * HEADROOM).round() as Cents * 100;
    wanted < credit && wanted < CEILING_CENTS
}

/// The amount of a bid above `current`.
pub(crate) fn amount(current: Cents, credit: Cents, rng: &mut Stream) -> Cents {
    let normal = Normal::new(INCREASE_MEAN, INCREASE_SD).expect("a positive standard deviation");
    let increase = normal.sample(rng).clamp(INCREASE_RANGE.0, INCREASE_RANGE.1);
    let raised = (current as f64 * (1.0 + increase)).round() as Cents;
    raised.max(current + 1).min(credit).min(CEILING_CENTS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use barograph_engine::stream;

    #[test]
    fn nobody_bids_near_the_ceiling_or_beyond_the_purse() {
        assert!(affordable(94_000, 1_000_000));
        assert!(!affordable(94_340, 1_000_000));
        assert!(!affordable(50_000, 53_000));
    }

    #[test]
    fn increases_stay_in_their_range_and_have_their_mean() {
        let mut rng = stream(1, 2, 3);
        let raises: Vec<f64> =
            (0..20_000).map(|_| amount(50_000, 1_000_000, &mut rng) as f64 / 50_000.0 - 1.0).collect();
        let mean = raises.iter().sum::<f64>() / raises.len() as f64;
        // 2 % clipped to 0.5 .. 6 % has a mean of 2.245 %.
        assert!((mean - 0.02245).abs() < 0.0005, "mean {mean}");
        assert!(raises.iter().all(|r| (0.0049..=0.0601).contains(r)));
        assert_eq!(amount(10, 1_000_000, &mut rng), 11);
        assert_eq!(
            amount(99_900, 1_000_000, &mut stream(1, 1, 1)).max(99_901),
            amount(99_900, 1_000_000, &mut stream(1, 1, 1))
        );
    }
}
