//! The headline sentence of every way a search or a fixed load can end.

use barograph_record::{KeptCheck, KeptOp, KeptWindow, Purpose};

use super::*;
use crate::MostUsers;

const APPLICATION: &str = "the auction application (official2)";

fn op(judged_ms: f64) -> KeptOp {
    KeptOp {
        op: "Login".to_owned(),
        count: 1_000,
        failed: 0,
        mix: 1.0,
        mix_required: 1.0,
        mix_tolerance: 0.1,
        p50_ms: 1.0,
        p90_ms: 2.0,
        p99_ms: judged_ms,
        max_ms: judged_ms,
        service_p99_ms: judged_ms,
        judged_ms,
        limit_ms: Some(2_000.0),
        over_limit: 0.0,
        failures_allowed: 0.01,
        judged: true,
        time_ok: judged_ms <= 2_000.0,
        mix_ok: true,
        failures_ok: true,
    }
}

/// A trial with `users`; `broken` are the names of checks that did not hold.
fn trial(users: u32, judged_ms: f64, broken: &[&str]) -> Trial {
    let check = |name: &&str| KeptCheck {
        name: (*name).to_owned(),
        found: "much".to_owned(),
        allowed: "little".to_owned(),
        ok: false,
    };
    let (passed, valid) = (judged_ms <= 2_000.0, broken.is_empty());
    let result = match (valid, passed) {
        (false, _) => KeptResult::Invalid,
        (true, true) => KeptResult::Pass,
        (true, false) => KeptResult::Fail,
    };
    let window = KeptWindow {
        users,
        from_s: 0.0,
        to_s: 45.0,
        throughput: 1.0,
        goodput: 1.0,
        requests_s: 1.0,
        passed,
        valid,
        ops: vec![op(judged_ms)],
        checks: broken.iter().map(check).collect(),
    };
    Trial { n: users, purpose: Purpose::Search, users, result, window }
}

fn answer(capacity: Option<u32>, bounded_by: BoundedBy) -> Answer {
    Answer { capacity, highest_pass: capacity, lowest_fail: None, bounded_by, trials: 4, confirmed: true }
}

fn verdict_on(trials: &[Trial], answer: Answer, data: DataAfter) -> Verdict {
    let trials: Vec<&Trial> = trials.iter().collect();
    let most = MostUsers::OpenFiles { limit: 20_000 };
    of_search(&Case { application: APPLICATION, trials: &trials, data, most }, &answer)
}

fn sentence(trials: &[Trial], answer: Answer) -> String {
    verdict_on(trials, answer, DataAfter::Right).sentence
}

#[test]
fn a_capacity_says_how_sure_it_is_and_what_kept_it_from_being_higher() {
    let trials = [trial(11_818, 900.0, &[]), trial(13_000, 12_345.0, &[])];
    let confirmed = answer(Some(11_818), BoundedBy::Fail);
    assert_eq!(
        sentence(&trials, confirmed),
        "This machine holds 11,818 users of the auction application (official2), confirmed by a second window; at \
         13,000 users, Login took 12,345 ms at the judged quantile, allowed are 2,000 ms."
    );
    assert_eq!(
        sentence(&trials[..1], Answer { confirmed: false, ..answer(Some(11_818), BoundedBy::Maximum) }),
        "This machine held 11,818 users of the auction application (official2), passed once and not confirmed by a \
         second window; more was not tried, because the connections of more do not fit into the 20,000 files a process \
         may open."
    );
    let verdict = verdict_on(&trials, confirmed, DataAfter::Right);
    assert_eq!(
        (verdict.capacity, verdict.trial, verdict.passed, verdict.valid),
        (Some(11_818), Some(11_818), true, true)
    );
    assert_eq!(verdict.search.unwrap().bounded_by, "a higher level that failed");
}

#[test]
fn what_could_not_be_believed_is_named_and_not_blamed_on_the_driver() {
    let trials = [trial(1, 900.0, &[]), trial(3_000, 1.0, &["clock", "steady throughput"])];
    assert_eq!(
        sentence(&trials, answer(Some(1), BoundedBy::Disbelief)),
        "This machine holds 1 user of the auction application (official2), confirmed by a second window; 3,000 users \
         could not be judged, because these checks of the measurement did not hold: clock and steady throughput."
    );
}

#[test]
fn when_nothing_could_be_believed_nothing_is_known() {
    let trials = [trial(3_000, 1.0, &["clock"]), trial(2_000, 9_000.0, &["users present"])];
    let verdict = verdict_on(&trials, answer(None, BoundedBy::Budget), DataAfter::Right);
    assert_eq!(
        verdict.sentence,
        "It is not known how many users of the auction application (official2) this machine holds: 2,000 users could \
         not be judged, because this check of the measurement did not hold: users present."
    );
    assert!(!verdict.valid && verdict.capacity.is_none());
}

#[test]
fn without_a_pass_the_lowest_failure_decides() {
    let trials = [trial(3_000, 3_000.0, &[]), trial(100, 2_500.0, &[]), trial(200, 1.0, &["clock"])];
    let minimum = verdict_on(&trials, answer(None, BoundedBy::Minimum), DataAfter::Right);
    assert_eq!(
        minimum.sentence,
        "This machine does not hold 100 users of the auction application (official2), the fewest worth a trial: Login \
         took 2,500 ms at the judged quantile, allowed are 2,000 ms."
    );
    assert_eq!((minimum.trial, minimum.passed, minimum.valid), (Some(100), false, true));
    let budget = sentence(&trials[..1], answer(None, BoundedBy::Budget));
    assert_eq!(
        budget,
        "No number of users of the auction application (official2) that was tried passed; at 3,000 users, Login took \
         3,000 ms at the judged quantile, allowed are 2,000 ms."
    );
    // Below the failure it is open, because nothing there could be believed.
    let open = verdict_on(
        &[trials[0].clone(), trials[2].clone()],
        answer(None, BoundedBy::Disbelief),
        DataAfter::Right,
    );
    assert!(
        open.sentence.ends_with(
            "; 200 users could not be judged, because this check of the measurement did not hold: clock."
        ),
        "{}",
        open.sentence
    );
    assert!(!open.valid);
}

#[test]
fn on_data_that_are_not_right_no_number_is_said_to_hold() {
    let trials = [trial(11_818, 900.0, &[])];
    let wrong = verdict_on(&trials, answer(Some(11_818), BoundedBy::Maximum), DataAfter::Wrong);
    assert_eq!(
        wrong.sentence,
        "It is not known how many users of the auction application (official2) this machine holds, because the data were \
         not right after the run; 11,818 users kept every rule."
    );
    assert_eq!((wrong.capacity, wrong.passed, wrong.valid), (None, true, false));
    let unknown = verdict_on(&trials, answer(None, BoundedBy::Budget), DataAfter::Unknown);
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
        let most = MostUsers::Plan;
        of_fixed(&Case { application: APPLICATION, trials: &trials, data: DataAfter::Right, most })
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
}
