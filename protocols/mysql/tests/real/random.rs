//! Answers of messages in any order, cut anywhere: the call ends, and a connection is usable after good ends only.

use barograph_mysql::{Fault, Param};
use proptest::collection::vec;
use proptest::prelude::*;

use super::messages::{answer, column, end, end_with, error, head, ok, prepared, row, welcome};
use super::on_worker;
use super::peer::Peer;

/// A message that a server may send, or one that none may.
fn any_message() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(ok(1)),
        Just(row(&[&[0; 8]])),
        Just(row(&[])),
        Just(vec![1]),
        Just(column(8)),
        Just(end()),
        Just(end_with(10)),
        Just(error(1213, "40001")),
        Just(error(1053, "08S01")),
        Just(vec![0xfb, b'f']),
        vec(any::<u8>(), 0..12),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_call_ends_whatever_is_answered(
        messages in vec(any_message(), 0..8),
        good in any::<bool>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let begin = if good { [head(&[8]), vec![row(&[&[0; 8]])]].concat() } else { Vec::new() };
        let mut bytes = answer(&[begin, messages].concat());
        bytes.truncate(cut.index(bytes.len() + 1));
        let [greeting, login] = welcome();
        let peer = Peer::start(vec![greeting, login, prepared(1, &[8]), bytes]);
        on_worker(async {
            let mut session = peer.session().await;
            let statement = session.prepare("SELECT ?").await.unwrap();
            let end = session.execute(statement, &[Param::Int(1)]).await;
            let again = session.execute(statement, &[Param::Int(1)]).await;
            match end {
                Ok(_) | Err(Fault::Server(_)) => assert!(!matches!(again, Ok(_) | Err(Fault::Unusable)), "{again:?}"),
                Err(_) => assert!(matches!(again, Err(Fault::Unusable)), "{again:?}"),
            }
        });
        peer.join();
    }
}
