//! Headline sentences for every end of a search or a fixed load.

use std::sync::LazyLock;

use barograph_model::LoadUnit;
use barograph_record::{CheckRecord, OpRecord, Purpose, SearchBound, UnitRecord, WindowRecord};

use barograph_stats::search::{Confirmation, CrossCheck, Estimate, EvidenceAbove, Repeats};

use super::*;
use crate::LoadLimit;

static DEPLOYED: LazyLock<AboutRecord> = LazyLock::new(|| AboutRecord::Application {
    workload: "auction".to_owned(),
    profile: "official2".to_owned(),
});

fn case<'a>(trials: &'a [&'a Trial], data: Option<DataRecord>, most: LoadLimit) -> Case<'a> {
    Case { about: &DEPLOYED, unit: LoadUnit::Users, trials, data, most, searched_s: None }
}

fn op(judged_ms: f64) -> OpRecord {
    OpRecord {
        op: "Login".to_owned(),
        count: 1_000,
        failed: 0,
        mix: 1.0,
        mix_required: 1.0,
        mix_tolerance: 0.1,
        mix_chance: 0.0,
        mean_ms: 1.5,
        p50_ms: 1.0,
        p90_ms: 2.0,
        p95_ms: judged_ms,
        p99_ms: judged_ms,
        p999_ms: judged_ms,
        max_ms: judged_ms,
        service_mean_ms: 1.5,
        service_p50_ms: 1.0,
        service_p90_ms: 2.0,
        service_p95_ms: judged_ms,
        service_p99_ms: judged_ms,
        service_p999_ms: judged_ms,
        service_max_ms: judged_ms,
        judged_ms,
        limit_ms: Some(2_000.0),
        over_limit: 0.0,
        failures_allowed: 0.01,
        judged: true,
        time_ok: judged_ms <= 2_000.0,
        mix_ok: true,
        failures_ok: true,
        further_ok: true,
    }
}

/// A trial at a level; `broken` are the names of failed checks.
fn trial(level: u32, judged_ms: f64, broken: &[&str]) -> Trial {
    let check = |name: &&str| CheckRecord {
        name: (*name).to_owned(),
        found: "much".to_owned(),
        allowed: "little".to_owned(),
        ..CheckRecord::default()
    };
    let (passed, valid) = (judged_ms <= 2_000.0, broken.is_empty());
    let result = match (valid, passed) {
        (false, _) => ResultRecord::Invalid,
        (true, true) => ResultRecord::Pass,
        (true, false) => ResultRecord::Fail,
    };
    let window = WindowRecord {
        users: level,
        from_s: 0.0,
        to_s: 45.0,
        throughput: 1.0,
        goodput: 1.0,
        requests_s: 1.0,
        starts_s: 1.0,
        late: 0,
        dropped: 0,
        skipped: 0,
        lag_p50_ms: 0.1,
        lag_p99_ms: 0.1,
        passed,
        valid,
        ops: vec![op(judged_ms)],
        checks: broken.iter().map(check).collect(),
        rules: vec![],
        measures: vec![],
    };
    Trial {
        n: level,
        purpose: Purpose::Search,
        unit: UnitRecord::Users,
        level: level.into(),
        result,
        aborted: false,
        operations: None,
        window,
        resources: Resources::default(),
    }
}

fn answer(capacity: Option<u32>, bounded_by: BoundedBy) -> Answer {
    Answer {
        capacity,
        highest_pass: capacity,
        lowest_fail: None,
        bounded_by,
        trials: 4,
        confirmed: true,
        estimate: None,
    }
}

fn verdict_on(trials: &[Trial], answer: &Answer, data: Option<DataRecord>) -> Verdict {
    let trials: Vec<&Trial> = trials.iter().collect();
    let most = LoadLimit::OpenFiles { limit: 20_000 };
    of_search(&case(&trials, data, most), answer)
}

fn sentence(trials: &[Trial], answer: &Answer) -> String {
    verdict_on(trials, answer, None).sentence
}

#[test]
fn a_capacity_says_how_sure_it_is_and_what_kept_it_from_being_higher() {
    let trials = [trial(11_818, 900.0, &[]), trial(13_000, 12_345.0, &[])];
    let confirmed = answer(Some(11_818), BoundedBy::Fail);
    assert_eq!(
        sentence(&trials, &confirmed.clone()),
        "This machine holds 11,818 users of the auction application (official2), confirmed by a second window; at \
         13,000 users, Login took 12,345 ms at the judged quantile, allowed are 2,000 ms. It took 4 trials."
    );
    assert_eq!(
        sentence(&trials[..1], &Answer { confirmed: false, ..answer(Some(11_818), BoundedBy::Maximum) }),
        "This machine held 11,818 users of the auction application (official2), passed once and not confirmed by a \
         second window; more was not tried, because the connections of more do not fit into the 20,000 files a process \
         may open. It took 4 trials."
    );
    let with_one_not_valid: Vec<Trial> =
        trials.iter().cloned().chain([trial(12_500, 9.0, &["clock"])]).collect();
    let all: Vec<&Trial> = with_one_not_valid.iter().collect();
    let timed = Case { searched_s: Some(418.0), ..case(&all, None, LoadLimit::Plan) };
    let timed = of_search(&timed, &confirmed).sentence;
    assert!(timed.ends_with(". It took 4 trials (1 not valid) in 6 min 58 s."), "{timed}");
    let verdict = verdict_on(&trials, &confirmed, None);
    assert_eq!(
        (verdict.capacity, verdict.trial, verdict.passed, verdict.valid),
        (Some(11_818), Some(11_818), true, true)
    );
    let search = verdict.search.unwrap();
    assert_eq!((search.bounded_by, search.at_least), (SearchBound::Fail, false));
    for bound in [BoundedBy::Maximum, BoundedBy::Disbelief] {
        let verdict = verdict_on(&trials, &answer(Some(11_818), bound), None);
        assert!(verdict.search.unwrap().at_least, "{bound:?}");
    }
}

#[test]
fn what_could_not_be_believed_is_named_and_not_blamed_on_the_driver() {
    let trials = [trial(1, 900.0, &[]), trial(3_000, 1.0, &["clock", "steady throughput"])];
    assert_eq!(
        sentence(&trials, &answer(Some(1), BoundedBy::Disbelief)),
        "This machine holds 1 user of the auction application (official2), confirmed by a second window; 3,000 users \
         could not be judged, because these checks of the measurement did not hold: clock and steady throughput. It took 4 \
         trials (1 not valid)."
    );
}

#[test]
fn when_nothing_could_be_believed_nothing_is_known() {
    let trials = [trial(3_000, 1.0, &["clock"]), trial(2_000, 9_000.0, &["users present"])];
    let verdict = verdict_on(&trials, &answer(None, BoundedBy::Budget), None);
    assert_eq!(
        verdict.sentence,
        "It is not known how many users of the auction application (official2) this machine holds: 2,000 users could \
         not be judged, because this check of the measurement did not hold: users present. It took 4 trials (2 not \
         valid)."
    );
    assert!(!verdict.valid && verdict.capacity.is_none());
    assert_eq!(verdict.doubts, ["not valid: users present: much, allowed is little"]);
}

#[test]
fn without_a_pass_the_lowest_failure_decides() {
    let trials = [trial(3_000, 3_000.0, &[]), trial(100, 2_500.0, &[]), trial(200, 1.0, &["clock"])];
    let minimum = verdict_on(&trials, &answer(None, BoundedBy::Minimum), None);
    assert_eq!(
        minimum.sentence,
        "This machine does not hold 100 users of the auction application (official2), the fewest worth a trial: Login \
         took 2,500 ms at the judged quantile, allowed are 2,000 ms. It took 4 trials (1 not valid)."
    );
    assert_eq!((minimum.trial, minimum.passed, minimum.valid), (Some(100), false, true));
    let budget = sentence(&trials[..1], &answer(None, BoundedBy::Budget));
    assert_eq!(
        budget,
        "No number of users of the auction application (official2) that was tried passed; at 3,000 users, Login took \
         3,000 ms at the judged quantile, allowed are 2,000 ms. It took 4 trials."
    );
    // The range below the failure is open, because no window there was valid.
    let open = verdict_on(&[trials[0].clone(), trials[2].clone()], &answer(None, BoundedBy::Disbelief), None);
    assert!(
        open.sentence.ends_with(
            "; 200 users could not be judged, because this check of the measurement did not hold: clock. It took 4 trials (1 \
             not valid)."
        ),
        "{}",
        open.sentence
    );
    assert!(!open.valid);
    assert_eq!(open.doubts, ["not valid: clock: much, allowed is little"]);
}

#[test]
fn on_data_that_are_not_right_no_number_is_said_to_hold() {
    let trials = [trial(11_818, 900.0, &[])];
    let wrong = verdict_on(&trials, &answer(Some(11_818), BoundedBy::Maximum), Some(DataRecord::Wrong));
    assert_eq!(
        wrong.sentence,
        "It is not known how many users of the auction application (official2) this machine holds, because the data were \
         not right after the run; 11,818 users kept every rule."
    );
    assert_eq!((wrong.capacity, wrong.passed, wrong.valid), (None, true, false));
    let unknown = verdict_on(&trials, &answer(None, BoundedBy::Budget), Some(DataRecord::Unchecked));
    assert!(
        unknown.sentence.ends_with("because the data could not be checked after the run."),
        "{}",
        unknown.sentence
    );
}

#[test]
fn a_fixed_load_rests_on_its_worst_window() {
    let verdict = |trials: &[Trial]| {
        let trials: Vec<&Trial> = trials.iter().collect();
        of_windows(&case(&trials, None, LoadLimit::Plan))
    };
    let good = verdict(&[trial(1_000, 5.0, &[])]);
    assert_eq!(good.sentence, "1,000 users of the auction application (official2) kept every rule.");
    assert!(good.passed && good.valid && good.search.is_none());
    let bad = verdict(&[trial(1_000, 2_001.0, &[]), trial(1_000, 5.0, &[])]);
    assert_eq!(
        bad.sentence,
        "1,000 users of the auction application (official2) did not keep the rules: Login took 2,001 ms at the judged \
         quantile, allowed are 2,000 ms."
    );
    assert!(!bad.passed && bad.valid);
    let unknown = verdict(&[trial(1, 5.0, &["clock"])]);
    assert_eq!(
        unknown.sentence,
        "1 user of the auction application (official2) cannot be judged, because this check of the measurement did not \
         hold: clock."
    );
    assert!(unknown.passed && !unknown.valid);
    let clock = "not valid: clock: much, allowed is little";
    assert_eq!(unknown.doubts, [clock]);
    // A broken rule is a reason and not a doubt; a failed check is a doubt anywhere.
    let both = verdict(&[trial(1_000, 2_001.0, &[]), trial(1_000, 5.0, &["clock"])]);
    assert!(both.reasons[0].starts_with("Login took") && both.reasons.len() == 1, "{:?}", both.reasons);
    assert_eq!((both.valid, both.doubts), (false, vec![clock.to_owned()]));
    assert!(bad.doubts.is_empty());
}

/// Trials at rates, on a target that existed already.
fn at_rates(trials: &[Trial], purpose: Purpose, answer: Option<Answer>) -> String {
    let trials: Vec<Trial> =
        trials.iter().map(|t| Trial { unit: UnitRecord::StartsPerSecond, purpose, ..t.clone() }).collect();
    let trials: Vec<&Trial> = trials.iter().collect();
    let about = AboutRecord::Target { url: "http://127.0.0.1:8080/".to_owned(), is_of_driver: false };
    let case = Case {
        about: &about,
        unit: LoadUnit::PerSecond,
        trials: &trials,
        data: None,
        most: LoadLimit::LeftOpen,
        searched_s: None,
    };
    match answer {
        Some(answer) => of_search(&case, &answer).sentence,
        None => of_windows(&case).sentence,
    }
}

#[test]
fn a_rate_is_said_in_starts_per_second_and_of_the_target() {
    let trials = [trial(12_300, 900.0, &[]), trial(13_000, 2_345.0, &[])];
    let search = |answer| at_rates(&trials, Purpose::Search, Some(answer));
    assert_eq!(
        search(answer(Some(12_300), BoundedBy::Fail)),
        "The target holds 12,300 starts/s at http://127.0.0.1:8080/, confirmed by a second window; at 13,000 starts/s, \
         Login took 2,345 ms at the judged quantile, allowed are 2,000 ms. It took 4 trials."
    );
    assert!(search(answer(Some(12_300), BoundedBy::Maximum)).ends_with(
        "; more was not tried, because the plan sets no maximum and a search looks no further by itself. It took 4 trials."
    ));
    assert!(search(answer(None, BoundedBy::Minimum)).starts_with(
        "The target does not hold 13,000 starts/s at http://127.0.0.1:8080/, the lowest rate worth a trial: Login"
    ));
    assert_eq!(
        at_rates(
            &[trial(5, 1.0, &["driver bound"])],
            Purpose::Search,
            Some(answer(None, BoundedBy::Disbelief))
        ),
        "It is not known how many starts/s at http://127.0.0.1:8080/ the target holds: 5 starts/s could not be judged, \
         because this check of the measurement did not hold: driver bound. It took 4 trials (1 not valid)."
    );
}

#[test]
fn a_path_rests_on_its_worst_hold() {
    let path = |trials: &[Trial]| {
        let numbered = trials.iter().zip(1..).map(|(t, n)| Trial { n, ..t.clone() });
        at_rates(&numbered.collect::<Vec<_>>(), Purpose::Path, None)
    };
    let good = [trial(500, 9.0, &[]), trial(2_000, 9.0, &[]), trial(500, 9.0, &[])];
    assert_eq!(
        path(&good),
        "A path of 3 holds up to 2,000 starts/s at http://127.0.0.1:8080/ kept every rule."
    );
    assert_eq!(
        path(&[good[0].clone(), trial(2_000, 3_000.0, &[])]),
        "2,000 starts/s at http://127.0.0.1:8080/ did not keep the rules: Login took 3,000 ms at the judged quantile, \
         allowed are 2,000 ms (hold 2 of 2)."
    );
}

#[test]
fn a_fixed_load_names_the_worst_two_and_counts_the_rest() {
    let mut bad = trial(1_000, 2_001.0, &[]);
    for (name, judged_ms) in [("Slow", 9_000.0), ("Slower", 12_345.0), ("Late", 2_100.0)] {
        bad.window.ops.push(OpRecord { op: name.to_owned(), ..op(judged_ms) });
    }
    let trials = [&bad];
    let verdict = of_windows(&case(&trials, None, LoadLimit::Plan));
    assert_eq!(
        verdict.sentence,
        "1,000 users of the auction application (official2) did not keep the rules: Slower took 12,345 ms at the judged \
         quantile, allowed are 2,000 ms; Slow took 9,000 ms at the judged quantile, allowed are 2,000 ms; and 2 more."
    );
    assert_eq!(verdict.reasons.len(), 4, "the verdict lists them all");
}

#[test]
fn a_load_of_which_every_operation_failed_says_so_where_no_rule_does() {
    let mut bad = trial(1_000, 5.0, &[]);
    (bad.result, bad.window.passed) = (ResultRecord::Fail, false);
    let op = &mut bad.window.ops[0];
    (op.failed, op.judged) = (op.count, false);
    let verdict = of_windows(&case(&[&bad], None, LoadLimit::Plan));
    assert_eq!(
        (verdict.passed, verdict.reasons.as_slice()),
        (false, &["every operation failed".to_owned()][..])
    );
    let op = &mut bad.window.ops[0];
    (op.judged, op.failures_ok) = (true, false);
    let verdict = of_windows(&case(&[&bad], None, LoadLimit::Plan));
    assert!(
        verdict.reasons.len() == 1 && verdict.reasons[0].starts_with("Login failed in 100.00 % of"),
        "{verdict:?}"
    );
}

#[test]
fn a_missed_share_says_whether_tolerance_or_chance_was_allowed() {
    let mut bad = trial(1_000, 5.0, &[]);
    let op = &mut bad.window.ops[0];
    (op.mix, op.mix_required, op.mix_ok) = (0.75, 0.4, false);
    bad.result = ResultRecord::Fail;
    let said = |bad: &Trial| of_windows(&case(&[bad], None, LoadLimit::Plan)).reasons;
    assert_eq!(said(&bad), ["Login was 75.00 % of the mix, required are 40.00 % within 10 %"]);
    bad.window.ops[0].mix_chance = 0.1;
    assert_eq!(
        said(&bad),
        ["Login was 75.00 % of the mix, required are 40.00 % within 25 %, which chance makes in so few"]
    );
}

#[test]
fn short_times_keep_their_digits() {
    let mut quick = trial(1_000, 5.0, &[]);
    (quick.window.ops[0].judged_ms, quick.window.ops[0].limit_ms) = (0.254, Some(0.25));
    (quick.window.ops[0].time_ok, quick.result) = (false, ResultRecord::Fail);
    let trials = [&quick];
    let sentence = of_windows(&case(&trials, None, LoadLimit::Plan)).sentence;
    assert!(
        sentence.ends_with("Login took 0.254 ms at the judged quantile, allowed are 0.25 ms."),
        "{sentence}"
    );
}

fn estimate() -> Estimate {
    Estimate {
        capacity: 11_818.4,
        low: 11_512.2,
        high: 12_101.7,
        safe: 11_500,
        beyond: 0.0,
        softness: 0.01,
        spurious: 0.03,
        curve: vec![],
        valid: 29,
        invalid: 1,
        confirmation: Some(Confirmation {
            level: 11_500,
            passed: 6,
            trials: 6,
            at_least: 0.6069,
            complete: true,
        }),
        above: Some(EvidenceAbove { level: 12_150, failed: 2, trials: 2, below: 0.7763, complete: true }),
        cross_check: None,
        repeats: None,
    }
}

fn by_posterior(trials: &[Trial], bounded_by: BoundedBy, estimate: Estimate) -> Verdict {
    let trials: Vec<&Trial> = trials.iter().collect();
    let most = LoadLimit::OpenFiles { limit: 20_000 };
    let case = Case { searched_s: Some(260.0), ..case(&trials, None, most) };
    let capacity = answer(Some(11_818), bounded_by);
    of_search(&case, &Answer { trials: 30, estimate: Some(Box::new(estimate)), ..capacity })
}

#[test]
fn a_capacity_by_posterior_has_its_interval_and_its_guarantee() {
    let mut trials = [
        trial(9_000, 2_100.0, &[]),
        trial(11_500, 900.0, &[]),
        trial(11_900, 1_900.0, &[]),
        trial(12_150, 2_345.0, &[]),
    ];
    trials[3].resources = Resources {
        host_cores: Some(2.0),
        host_busy_cores: Some(1.85),
        app_cores: Some(1.2),
        driver_cores: Some(0.5),
        ..Resources::default()
    };
    let verdict = by_posterior(&trials, BoundedBy::Fail, estimate());
    assert_eq!(
        verdict.sentence,
        "The capacity of this machine is 11,818 users of the auction application (official2). The 95 % interval is 11,512 to \
         12,102 users, from 30 trials (1 not valid) in 4 min 20 s; at 12,150 users, Login took 2,345 ms at the judged \
         quantile, allowed are 2,000 ms, with 1.85 of 2 cores busy (application 1.20, driver 0.50). At 11,500 users, 6 of 6 valid trials passed: the pass probability is at least 0.60 \
         with 95 % confidence; at 12,150 users it is below 0.78."
    );
    assert_eq!(
        (verdict.capacity, verdict.trial),
        (Some(11_818), Some(11_500)),
        "it rests on the level that was confirmed"
    );
    let kept = verdict.search.unwrap();
    assert_eq!((kept.seconds, kept.aborted, kept.estimate.unwrap().safe), (Some(260.0), 0, 11_500));
}

#[test]
fn what_was_not_confirmed_and_what_makes_doubt_is_said() {
    let trials = [trial(11_500, 900.0, &[]), trial(12_150, 2_345.0, &[])];
    let few = Confirmation { passed: 2, trials: 2, at_least: 0.2236, complete: false, level: 11_500 };
    let cross_check =
        CrossCheck { capacity: 14_000.0, low: 13_500.0, high: 14_500.0, trials: 8, disagrees: true };
    let repeats = Repeats { trials: 3, passed: 0, expected: 2.7, p: 0.001, drifted: true };
    let doubtful = Estimate {
        confirmation: Some(few),
        above: None,
        cross_check: Some(cross_check),
        repeats: Some(repeats),
        ..estimate()
    };
    let verdict = by_posterior(&trials, BoundedBy::Budget, doubtful);
    assert!(
        verdict.sentence.ends_with(
            " At 11,500 users, 2 of 2 valid trials passed: the pass probability is at least 0.22 with 95 % confidence, which is \
             not enough to call it confirmed."
        ),
        "{}",
        verdict.sentence
    );
    assert_eq!(
        verdict.reasons,
        [
            "warning: response times say 14,000 users (95 % interval 13,500 to 14,500), passes and fails 11,512 to 12,102; the \
             rules may be broken by something else than load",
            "warning: the target changed during the search: of 3 trials that should have passed 0 did, expected were 2.7 (p = \
             0.0010)"
        ]
    );
    let none =
        by_posterior(&trials, BoundedBy::Budget, Estimate { confirmation: None, above: None, ..estimate() });
    assert!(none.sentence.ends_with(". No trial was left to confirm it."), "{}", none.sentence);
}

#[test]
fn what_passed_below_a_level_that_could_not_be_judged_is_not_called_the_capacity() {
    let trials = [trial(11_818, 900.0, &[]), trial(12_150, 900.0, &["clock"])];
    let verdict = by_posterior(&trials, BoundedBy::Disbelief, estimate());
    assert!(
        verdict.sentence.starts_with(
            "This machine held 11,818 users of the auction application (official2). The 95 % interval of the capacity is \
             11,512 to 12,102 users, from 30 trials (1 not valid) in 4 min 20 s; 12,150 users could not be judged, because"
        ),
        "{}",
        verdict.sentence
    );
}

/// An upper end beyond the levels tried would be that of the prior.
#[test]
fn a_capacity_that_may_be_above_all_that_was_allowed_has_no_upper_end() {
    let trials = [trial(11_500, 900.0, &[]), trial(12_000, 2_345.0, &[])];
    for bound in [BoundedBy::Budget, BoundedBy::Fail] {
        let open = |beyond| Estimate { high: 14_900.0, beyond, above: None, ..estimate() };
        let is_bound = |beyond| by_posterior(&trials, bound, open(beyond)).search.unwrap().at_least;
        assert!(!is_bound(0.26) && is_bound(0.51), "more likely than not it is above");
        let said = by_posterior(&trials, bound, open(0.26)).sentence;
        assert!(
            said.contains(
                "The capacity is at least 11,512 users with 97.5 % certainty, and it may be above all that was allowed \
                 (probability 26 %), from 30 trials"
            ) && !said.contains("14,900"),
            "{said}"
        );
    }
    let closed = by_posterior(&trials, BoundedBy::Budget, Estimate { beyond: 0.025, ..estimate() }).sentence;
    assert!(closed.contains("The 95 % interval is 11,512 to 12,102 users"), "{closed}");
}

#[test]
fn at_the_maximum_the_interval_is_one_sided() {
    let most = Estimate { low: 11_900.0, beyond: 0.99, above: None, ..estimate() };
    let verdict = by_posterior(&[trial(11_818, 900.0, &[])], BoundedBy::Maximum, most);
    assert!(
        verdict.sentence.starts_with(
            "This machine holds 11,818 users of the auction application (official2). The capacity is at least 11,818 users \
             with 97.5 % certainty, from 30 trials (1 not valid) in 4 min 20 s; more was not tried, because the connections of more"
        ),
        "{}",
        verdict.sentence
    );
}
