//! Against tables computed by hand and by counting all signs.

use proptest::prelude::*;

use super::*;

/// Differences 1..n, those with sizes in `negative` negated.
fn ranks(n: u32, negative: &[u32]) -> Vec<f64> {
    (1..=n).map(|i| if negative.contains(&i) { -f64::from(i) } else { f64::from(i) }).collect()
}

/// Largest rank sum that is significant at 5 % two-sided, as printed in every table; the probability is the number of
/// subsets of 1..n with at most that sum, counted by hand, over 2^n, twice.
#[test]
fn critical_values_for_few_pairs() {
    for (n, negative, subsets) in
        [(6, &[][..], 1.0), (7, &[2][..], 3.0), (8, &[3][..], 5.0), (9, &[5][..], 10.0), (10, &[8][..], 25.0)]
    {
        let found = signed_rank(&ranks(n, negative));
        let p = 2.0 * subsets / 2f64.powi(n as i32);
        assert!((found.p - p).abs() < 1e-12, "n = {n}: {} is not {p}", found.p);
        assert!(found.p <= 0.05, "n = {n}");
        // One more, and it is not.
        let sum: u32 = negative.iter().sum();
        assert!(signed_rank(&ranks(n, &[sum + 1])).p > 0.05, "n = {n}");
    }
}

#[test]
fn five_pairs_cannot_be_significant() {
    assert!((signed_rank(&ranks(5, &[])).p - 0.0625).abs() < 1e-12);
    let walsh = walsh_averages(&ranks(5, &[]));
    assert_eq!(interval(&walsh, 5, Confidence::P95), None);
    assert_eq!(interval(&walsh, 5, Confidence::P90), Some((1.0, 5.0)));
    assert_eq!(interval(&walsh_averages(&ranks(4, &[])), 4, Confidence::P90), None);
}

/// Places of the textbooks' table for the sign test at 5 %.
#[test]
fn the_interval_of_a_median_is_that_of_the_sign_test() {
    let place = |n: usize| {
        let sorted: Vec<f64> = (1..=n).map(|value| value as f64).collect();
        let (low, high) = median_interval(&sorted)?;
        assert_eq!(low + high, n as f64 + 1.0, "as far from either end");
        Some(low)
    };
    assert_eq!([0, 1, 5].map(place), [None; 3]);
    let places = [6, 8, 9, 11, 12, 15, 17, 18, 20, 25, 30, 40].map(|n| place(n).unwrap());
    assert_eq!(places, [1.0, 1.0, 2.0, 2.0, 3.0, 4.0, 5.0, 5.0, 6.0, 8.0, 10.0, 14.0]);
    assert_eq!(
        (coins(COINS), normal_coins(COINS as f64)),
        (469, 469),
        "both forms agree where one takes over"
    );
    assert_eq!(place(10_000), Some(4_902.0));
}

/// Six pairs: the 95 % interval is from the smallest to the largest. Ten: the ninth Walsh average from either end
/// (the critical value is 8), of 1, 1.5, 2, 2, 2.5, 2.5, 3, 3, 3, ...
#[test]
fn intervals_are_the_walsh_averages_of_the_tables() {
    let six = [0.3, -0.1, 0.2, 0.9, 0.4, 0.5];
    assert_eq!(interval(&walsh_averages(&six), 6, Confidence::P95), Some((-0.1, 0.9)));
    let ten = walsh_averages(&ranks(10, &[]));
    assert_eq!(ten[..9], [1.0, 1.5, 2.0, 2.0, 2.5, 2.5, 3.0, 3.0, 3.0]);
    assert_eq!(interval(&ten, 10, Confidence::P95), Some((3.0, 8.0)));
    let places: Vec<_> = [6, 7, 8, 9, 10, 20, 25].map(|n| place(n, Confidence::P95).unwrap()).to_vec();
    assert_eq!(places, [1, 3, 4, 6, 9, 53, 90]);
}

#[test]
fn ties_share_their_rank_and_zeros_are_left_out() {
    let found = signed_rank(&[1.0, -1.0, 2.0, 0.0, 3.0]);
    assert_eq!((found.used, found.positive, found.negative), (4, 8.5, 1.5));
    // Of the 16 ways to sign 1.5, 1.5, 3, 4 the negative ones are at most 1.5 in three: none, and either tie alone.
    assert!((found.p - 2.0 * 3.0 / 16.0).abs() < 1e-12, "{found:?}");
    let nothing = signed_rank(&[0.0; 7]);
    assert_eq!((nothing.used, nothing.p), (0, 1.0));
    assert_eq!(signed_rank(&[]).p, 1.0);
}

#[test]
fn the_estimate_is_the_median_of_the_walsh_averages() {
    // 0, 1, 5: averages 0, 0.5, 1, 2.5, 3, 5.
    assert_eq!(walsh_averages(&[5.0, 0.0, 1.0]), [0.0, 0.5, 1.0, 2.5, 3.0, 5.0]);
    assert_eq!(median_of_sorted(&walsh_averages(&[5.0, 0.0, 1.0])), 1.75);
    assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
    assert!(median(&[]).is_nan());
}

/// At the end of counting the normal form takes over: at forty differences it agrees with counting.
#[test]
fn the_normal_form_continues_the_exact_one() {
    let values: Vec<f64> = (1..=40).map(|i| f64::from(if i % 3 == 0 { -i } else { i })).collect();
    let negative: usize = (1..=40).filter(|i| i % 3 == 0).sum();
    let ranks: Vec<usize> = (1..=40).collect();
    let counted = 2.0 * ways_to_sum(&ranks, negative).iter().sum::<f64>() / 2f64.powi(40);
    let taken = signed_rank(&values).p;
    assert!((taken / counted - 1.0).abs() < 0.02, "{taken} beside {counted}");
}

proptest! {
    /// The distribution is that of all ways to give signs, with ties and without.
    #[test]
    fn every_way_to_give_signs_is_counted(sizes in prop::collection::vec(1i32..6, 1..11), signs: u32) {
        let of = |signs: u32| -> Vec<f64> {
            sizes.iter().enumerate().map(|(i, s)| f64::from(if signs >> i & 1 == 1 { *s } else { -*s })).collect()
        };
        let least = |signs: u32| { let s = signed_rank(&of(signs)); s.positive.min(s.negative) };
        let ours = least(signs);
        let all = 1u32 << sizes.len();
        let as_small = (0..all).filter(|way| least(*way) <= ours + 1e-9).count() as f64;
        // If both tails meet in the middle they overlap, and their sum is cut at one.
        let expected = (as_small / f64::from(all)).min(1.0);
        let found = signed_rank(&of(signs)).p;
        prop_assert!((found - expected).abs() < 1e-9 || found == 1.0 && expected > 0.8, "{} {}", found, expected);
    }

    /// The interval holds zero exactly when the test does not reject, without ties and zeros.
    #[test]
    fn the_interval_is_the_test_turned_round(values in prop::collection::vec(-3.0f64..5.0, 6..35)) {
        let (low, high) = interval(&walsh_averages(&values), values.len(), Confidence::P95).unwrap();
        let p = signed_rank(&values).p;
        // At the edge itself the normal form rounds; elsewhere they agree.
        prop_assume!((p - 0.05).abs() > 0.004);
        prop_assert_eq!(low <= 0.0 && 0.0 <= high, p > 0.05);
    }

    #[test]
    fn turning_all_signs_turns_everything(values in prop::collection::vec(-3.0f64..5.0, 6..40)) {
        let turned: Vec<f64> = values.iter().map(|v| -v).collect();
        let (here, there) = (walsh_averages(&values), walsh_averages(&turned));
        prop_assert!((median_of_sorted(&here) + median_of_sorted(&there)).abs() < 1e-12);
        let (low, high) = interval(&here, values.len(), Confidence::P95).unwrap();
        let (turned_low, turned_high) = interval(&there, values.len(), Confidence::P95).unwrap();
        prop_assert!((low + turned_high).abs() < 1e-12 && (high + turned_low).abs() < 1e-12);
        prop_assert_eq!(signed_rank(&values).p, signed_rank(&turned).p);
    }

    /// Ranks ignore the distance of an outlier.
    #[test]
    fn stretching_sizes_does_not_move_the_test(values in prop::collection::vec(-3.0f64..5.0, 6..40)) {
        let stretched: Vec<f64> = values.iter().map(|v| v.signum() * (v.abs().exp() - 1.0)).collect();
        prop_assert!((signed_rank(&values).p - signed_rank(&stretched).p).abs() < 1e-12);
    }
}
