//! Operations through nodes on a SQLite file.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use barograph_database::measures::WRITES;
use barograph_database::sqlite::address;
use barograph_engine::{BlockingFactory as _, BlockingUser as _, OpContext, User as _, UserFactory as _};
use barograph_model::{ChooserId, OpId, Outcome, UserId};
use barograph_reactor::block_on;

use super::node::{Node, users_of};
use crate::measures::{ORDERS, RESTOCKS, SHORTAGES, TITLE_HITS};
use crate::tests::rig::{HABITS, Rig, digests, visit};
use crate::user::Operation;

fn node(rig: &Rig) -> Node {
    Node::start(&address(&rig.copy))
}

fn counts(context: &OpContext) -> [u64; 5] {
    [WRITES, ORDERS, SHORTAGES, RESTOCKS, TITLE_HITS].map(|counter| context.added(counter))
}

#[test]
fn a_seed_leaves_the_same_tables_and_counts_directly_and_through_the_web() {
    let [direct, web] = [0, 1].map(|_| Rig::of(3, HABITS));
    let node = node(&web);
    let (mut one, mut other) = (OpContext::for_test(), OpContext::for_test());
    let mut user = direct.users().user(UserId(0));
    for _ in 0..700 {
        let op = user.choose(ChooserId(0), &mut one);
        assert_eq!(user.act(OpId(op as u8), &mut one), Outcome::Good);
    }
    let user = users_of(&[node.address], &web.shared).user(UserId(0));
    block_on(async {
        for _ in 0..700 {
            let op = user.choose(ChooserId(0), &mut other);
            assert_eq!(user.act(OpId(op as u8), &mut other).await, Outcome::Good);
        }
    })
    .unwrap();
    assert_eq!((counts(&one), direct.shared.tally.counted()), (counts(&other), web.shared.tally.counted()));
    for rig in [&direct, &web] {
        let without_dates = "UPDATE orders SET o_date = 0; UPDATE reorder SET r_date = 0";
        rig.connection().execute_batch(without_dates).unwrap();
    }
    assert_eq!(digests(&direct.copy), digests(&web.copy));
    assert_eq!(web.wrong(), Vec::<String>::new());
}

#[test]
fn users_of_two_nodes_leave_a_consistent_database() {
    let rig = Rig::new();
    let nodes = [node(&rig), node(&rig)];
    let users = users_of(&nodes.each_ref().map(|node| node.address), &rig.shared);
    assert_eq!(visit(&users, 1, 6, 200), 0, "{:?}", rig.shared.reasons.lock().unwrap());
    assert_eq!(rig.wrong(), Vec::<String>::new());
    assert!(rig.shared.tally.counted().committed.orders > 150);
}

/// Status and body of an answer.
fn asked(node: &Node, request: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(node.address).unwrap();
    let length = body.len();
    write!(
        stream,
        "{request} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), body.to_owned())
}

#[test]
fn a_node_answers_in_a_known_form_and_refuses_other_requests() {
    let rig = Rig::new();
    let (node, generator) = (node(&rig), rig.target.contents());
    let [first, second, _] = generator.title(7).map(|word| word.to_string());
    let login = |name: &str| format!("{{\"name\":\"{name}\",\"password\":\"{}\"}}", generator.password(7));
    let (status, page) = asked(&node, "POST /login", &login("user7"));
    assert!(status == 200 && page.starts_with(r#"{"end":{"login":7},"retries":[0,0,0],"rows":["#), "{page}");
    let rejected = r#"{"end":{"login":null},"retries":[0,0,0],"rows":[]}"#;
    assert_eq!(asked(&node, "POST /login", &login("user8")), (200, rejected.to_owned()));
    let (status, page) = asked(&node, &format!("GET /products?title={first}+{second}&most=9"), "");
    assert!(status == 200 && page.contains(&format!("7; {first} {second} ")), "{page}");
    let cents = 2 * generator.price(7);
    let order = r#"{"customer":3,"lines":[{"product":7,"quantity":2}]}"#;
    let sold = format!(
        r#"{{"end":{{"order":{{"lines":1,"units":2,"cents":{cents},"restocks":0}}}},"retries":[0,0,0],"rows":[]}}"#
    );
    rig.connection().execute_batch("UPDATE inventory SET i_stock = 9 WHERE i_product = 7").unwrap();
    assert_eq!(asked(&node, "POST /orders", order), (200, sold));
    let short = r#"{"customer":3,"lines":[{"product":100,"quantity":1}]}"#;
    let shortage = r#"{"end":"shortage","retries":[0,0,0],"rows":[]}"#;
    assert_eq!(asked(&node, "POST /orders", short), (200, shortage.to_owned()));
    for (request, body, status) in [
        ("POST /orders", r#"{"customer":3,"lines":[]}"#, 400),
        ("POST /orders", r#"{"customer":3,"lines":[{"product":7,"quantity":0}]}"#, 400),
        ("POST /orders", r#"{"customer":3,"lines":[{"product":9999,"quantity":1}]}"#, 404),
        ("POST /orders", "{", 400),
        ("POST /customers", "[1,2]", 400),
        ("GET /products?most=3", "", 400),
        ("GET /products?title=one&most=3", "", 400),
        ("GET /products?actor=a+b)&most=3", "", 400),
        ("GET /orders", "", 405),
        ("GET /nowhere", "", 404),
        ("GET /health", "", 200),
    ] {
        assert_eq!(asked(&node, request, body).0, status, "{request} {body}");
    }
}

#[test]
fn a_database_that_is_gone_leaves_commits_in_doubt() {
    let rig = Rig::new();
    std::fs::remove_file(&rig.copy).unwrap();
    let node = node(&rig);
    let user = users_of(&[node.address], &rig.shared).user(UserId(0));
    block_on(async {
        assert_eq!(user.act(Operation::Purchase.op(), &mut OpContext::for_test()).await, Outcome::Refused);
    })
    .unwrap();
    let why = rig.shared.reasons.lock().unwrap().of(Operation::Purchase.op())[0].why.clone();
    assert!(why.starts_with("status 503: open"), "{why}");
    let counted = rig.shared.tally.counted();
    assert_eq!((counted.committed.orders, counted.in_doubt.orders), (0, 1));
}
