//! Visits through a node of the web tier: the same tables as directly, and no acknowledged order is lost in a crash.

use barograph_model::Outcome;
use barograph_test_services::or_skip;

use super::rig::{Mariadb, Postgres, Product, Rig, digests, run};
use super::visiting::WITHOUT_DATES;
use crate::tests::rig::visit;
use crate::user::Operation;
use crate::web::tests::node::{Node, users_of};

#[test]
fn a_seed_leaves_the_same_tables_through_the_web_on_postgres() {
    a_seed_leaves_the_same_tables_through_the_web::<Postgres>();
}

#[test]
fn a_seed_leaves_the_same_tables_through_the_web_on_mariadb() {
    a_seed_leaves_the_same_tables_through_the_web::<Mariadb>();
}

fn a_seed_leaves_the_same_tables_through_the_web<P: Product>() {
    let Some(mut server) = or_skip(P::start()) else { return };
    let [direct, web] = ["direct", "web"].map(|name| Rig::<P>::new(&server, name, 3));
    let node = Node::start(&web.copy);
    let users = users_of(&[node.address], &web.shared);
    assert_eq!((direct.visit(1, 700), visit(&users, 3, 1, 700)), (0, 0), "{:?}", web.shared.reasons);
    assert_eq!(direct.shared.tally.counted(), web.shared.tally.counted());
    for rig in [&direct, &web] {
        run(&rig.copy, WITHOUT_DATES);
    }
    assert_eq!(digests(&direct.copy), digests(&web.copy));
    assert_eq!(visit(&users, 4, 6, 200), 0, "{:?}", web.shared.reasons);
    assert_eq!(web.wrong(), Vec::<String>::new());
    // The server dies while requests are in flight.
    let dying = std::thread::scope(|scope| {
        let visits = scope.spawn(|| visit(&users_of(&[node.address], &web.shared), 5, 6, 2_000));
        let before = web.shared.tally.counted().committed.orders;
        while web.shared.tally.counted().committed.orders < before + 50 && !visits.is_finished() {
            std::thread::yield_now();
        }
        server.kill();
        visits.join().unwrap()
    });
    assert!(dying > 0);
    let reasons = web.shared.reasons.lock().unwrap();
    assert!(
        reasons
            .of(Operation::Purchase.op())
            .iter()
            .any(|reason| { reason.outcome == Outcome::Refused && reason.why.starts_with("status 503") }),
        "{reasons:?}"
    );
    server.restart();
    assert_eq!(web.wrong(), Vec::<String>::new());
}
