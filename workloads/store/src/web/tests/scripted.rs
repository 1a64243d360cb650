//! Answers of a server that is wrong, each an outcome with a reason.

use std::sync::Arc;

use barograph_engine::{OpContext, User as _, UserFactory as _};
use barograph_model::{Outcome, UserId};
use barograph_reactor::block_on;
use barograph_testkit::{Act, Answer, Server, always};
use barograph_workload::Reasons;

use super::node::users_of;
use crate::generate::Generator;
use crate::input::{Habits, Inputs};
use crate::tables::Size;
use crate::tests::rig::HABITS;
use crate::user::{LoadState, Operation};

/// Outcome and reason of an operation that gets an answer, and the orders that are in doubt after it.
fn ended(operation: Operation, act: Act, habits: Habits) -> (Outcome, String, i64) {
    let server = Server::start(always(act)).unwrap();
    let inputs = Inputs::new(Generator::new(Size::new(1), 1), habits);
    let shared = Arc::new(LoadState { inputs, tally: Arc::default(), reasons: Reasons::shared() });
    let user = users_of(&[server.addr()], &shared).user(UserId(0));
    let acted = block_on(async { user.act(operation.op(), &mut OpContext::for_test()).await });
    let why = shared.reasons.lock().unwrap().of(operation.op()).first().map(|reason| reason.why.clone());
    let counted = shared.tally.counted();
    assert_eq!(counted.committed.orders, 0);
    (acted.unwrap(), why.unwrap_or_default(), counted.in_doubt.orders)
}

fn page(end: &str, rows: &str) -> Act {
    Answer::new(200, format!("{{\"end\":{end},\"retries\":[0,0,0],\"rows\":[{rows}]}}")).into()
}

const SOLD: &str = r#"{"order":{"lines":1,"units":1,"cents":1,"restocks":0}}"#;

#[test]
fn purchases_with_wrong_answers_fail_by_name() {
    let status = |status, why: &str| Answer::new(status, why).into();
    let cut = Act::CloseMid(Answer::new(200, "{\"end\":\"shortage\",\"retries\":[0,0,0],\"rows\":[]}"));
    let (refused, wrong, broken) = (Outcome::Refused, Outcome::WrongAnswer, Outcome::Broken);
    for (act, outcome, why, in_doubt) in [
        (
            status(409, "met other transactions 10 times"),
            refused,
            "status 409: met other transactions 10 times",
            0,
        ),
        (status(429, ""), refused, "status 429: ", 0),
        (status(502, "<html>\nBad Gateway"), refused, "status 502: <html>", 1),
        (status(302, ""), refused, "status 302: ", 1),
        (status(201, SOLD), refused, "status 201: ", 1),
        (cut, broken, "connection broke", 1),
        (Act::Refuse, broken, "connection broke", 1),
        (Act::Garbage(b"220 ready\r\n".to_vec()), wrong, "answer is not HTTP", 1),
        (status(200, "{}"), wrong, "an answer in another form", 1),
        (status(200, "{\"end\":\"shor"), wrong, "an answer in another form", 1),
        (page(SOLD, ""), wrong, "sums of an order that are not those of its lines", 1),
        (page("\"shortage\"", ""), wrong, "no stock of a product that is restocked", 1),
        (page("{\"login\":3}", ""), wrong, "the answer to another request", 1),
    ] {
        let (acted, said, doubt) = ended(Operation::Purchase, act.clone(), HABITS);
        assert!(
            (acted, doubt) == (outcome, in_doubt) && said.starts_with(why),
            "{act:?}: {acted:?} {said} {doubt}"
        );
    }
}

#[test]
fn counts_that_do_not_fit_fail_searches_and_logins() {
    let search = r#""7; some title; some actor; 1; 2""#;
    for (operation, act, why) in [
        (
            Operation::BrowseByActor,
            page("{\"search\":2}", search),
            "another number of rows than the answer says",
        ),
        (Operation::BrowseByActor, page("{\"search\":0}", ""), "no product with words that one has"),
        (Operation::BrowseByCategory, page("{\"search\":0}", ""), "no special offer of a category"),
        (
            Operation::BrowseByCategory,
            page("{\"search\":10}", &[search; 10].join(",")),
            "more products than asked for",
        ),
        (Operation::Login, page("{\"login\":null}", ""), "no customer with this name and password"),
        (Operation::Login, page("{\"search\":0}", ""), "the answer to another request"),
    ] {
        let (acted, said, _) = ended(operation, act, HABITS);
        assert_eq!((acted, &*said), (Outcome::WrongAnswer, why), "{operation:?}");
    }
}
