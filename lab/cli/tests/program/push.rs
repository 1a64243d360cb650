//! Users who receive bids from event streams, on the real application.

use barograph_record::Run;

use crate::going::RunningProgram;
use crate::place::{TestFolders, fixed};

/// Counts of an operation over all intervals of a run.
#[derive(Debug, Default)]
struct OperationTotals {
    ended: u64,
    failed: u64,
    requests: u64,
}

fn counted(run: &Run, name: &str) -> OperationTotals {
    let rows = run.intervals().flat_map(|interval| &interval.ops).filter(|row| row.op == name);
    rows.fold(OperationTotals::default(), |sum, row| OperationTotals {
        ended: sum.ended + row.count,
        failed: sum.failed + row.failed,
        requests: sum.requests + row.requests,
    })
}

#[test]
fn followers_hear_of_bids_from_one_stream_each() {
    let place = TestFolders::new();
    // Users join their first auction 20 s into their session and bid from then on.
    let mut sets = fixed(60, 15);
    sets.extend(["load.warm_up_s=25".to_owned(), "profile=official2-push".to_owned()]);
    let ended = RunningProgram::start(place.run(None, &sets)).end();
    let run = place.record();
    assert!(run.complete && run.damage.is_empty(), "{ended:?}");
    assert_eq!(run.expected().unwrap().profile, "official2-push");
    for rule in &run.expected().unwrap().rules {
        assert_eq!(counted(&run, &rule.op).failed, 0, "{}: {ended:?}", rule.op);
    }
    let (joins, waits) = (counted(&run, "JoinAuction"), counted(&run, "GetNextBid"));
    assert!(joins.ended >= 60, "{joins:?}");
    // One stream per join and nothing else, while news arrive from the first bids on.
    assert!((60..=joins.ended).contains(&waits.requests), "{waits:?} after {joins:?}");
    assert!(waits.ended >= 10, "{waits:?}");
    let derived = run.expected().unwrap().derived.unwrap();
    assert!((derived.requests_per_op - 1.41).abs() < 0.01, "{derived:?}");
    place.assert_nothing_left();
}
