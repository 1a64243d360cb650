//! Answers of messages in any order, cut anywhere: the call ends, and a connection is usable after good ends only.

use barograph_postgres::{Fault, Param};
use proptest::collection::vec;
use proptest::prelude::*;

use super::messages::{all, bound, complete, description, error, message, ready, row, welcome};
use super::on_worker;
use super::peer::Peer;

/// A message that a server may send, or one that none may.
fn any_message() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(bound()),
        Just(row(&[&[0; 8]])),
        Just(row(&[])),
        Just(complete("SELECT 1")),
        Just(ready()),
        Just(error("ERROR", "40001")),
        Just(error("FATAL", "57P01")),
        Just(message(b'N', b"VNOTICE\0C00000\0\0")),
        Just(message(b'I', b"")),
        Just(message(b'G', b"\0\0\0")),
        Just(description(&[23], &[20])),
        (any::<u8>(), vec(any::<u8>(), 0..12)).prop_map(|(tag, body)| message(tag, &body)),
        vec(any::<u8>(), 1..12),
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
        let begin = if good { vec![bound(), row(&[&[0; 8]]), complete("SELECT 1")] } else { Vec::new() };
        let mut answer = all(&[begin, messages].concat());
        answer.truncate(cut.index(answer.len() + 1));
        let peer = Peer::start(vec![welcome(), all(&[description(&[23], &[20]), ready()]), answer]);
        on_worker(async {
            let mut session = peer.session().await;
            let statement = session.prepare("SELECT $1::int::bigint").await.unwrap();
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
