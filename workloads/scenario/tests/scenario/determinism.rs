//! A seed repeats the choices of every user, with any number of workers.

use std::collections::BTreeMap;

use barograph_testkit::Answer;

use crate::rig::{Run, answering};

const TEXT: &str = r#"
    [target]
    headers = { x-user = "{user}" }
    [data.words]
    file = "shop/words.txt"
    pick = "random"
    per = "exchange"
    [values.id]
    kind = "uuid"
    [values.mood]
    kind = "random_int"
    min = 1
    max = 10
    per = "session"
    [values.chosen]
    kind = "pick"
    from = "ids"
    [operations.One]
    [[operations.One.exchanges]]
    path = "/one/{words}/{id}"
    extract.ids = { json = "/*" }
    [operations.Two]
    [[operations.Two.exchanges]]
    path = "/two/{chosen}/{mood}"
    [operations.End]
    [[operations.End.exchanges]]
    path = "/end"
    [behaviours.main]
    first = "One"
    pace = { think = { exponential = { mean = "2 ms", max = "20 ms" } } }
    [behaviours.main.next]
    One = { choose = [{ when = "mood > 5", next = "Two" }, { else = { One = 0.5, Two = 0.5 } }] }
    Two = { One = 0.5, Two = 0.2, End = 0.3 }
    End = "end_session"
"#;

/// The first requests of each user.
fn first_of_each(workers: usize) -> BTreeMap<String, Vec<String>> {
    let target = answering(|_| Answer::new(200, r#"["a", "b", "c", "d", "e"]"#));
    let run = Run { users: 6, workers, ..target.run(TEXT) };
    run.until(|_| {
        let by_user = by_user(&target.asked.lock().unwrap());
        by_user.len() == 6 && by_user.values().all(|paths| paths.len() >= 25)
    })
    .all_good();
    let mut by_user = by_user(&target.asked.lock().unwrap());
    by_user.values_mut().for_each(|paths| paths.truncate(25));
    by_user
}

fn by_user(asked: &[barograph_testkit::Request]) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for request in asked {
        found.entry(request.header("x-user").unwrap().to_owned()).or_default().push(request.path.clone());
    }
    found
}

#[test]
fn the_same_seed_makes_the_same_requests_with_any_number_of_workers() {
    let one = first_of_each(1);
    assert_ne!(one["0"], one["1"], "users differ");
    assert_eq!(one, first_of_each(3));
}
