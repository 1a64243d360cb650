//! The examples in `scenarios/`: they are read, have the expected meaning, and read back from their resolved
//! text.

use std::path::{Path, PathBuf};

use barograph_model::{NextOp, OpId, Pace};
use barograph_scenario::{Action, Chooser, DrawSource, Life, Scenario, Source, read};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn example(name: &str) -> Scenario {
    let path = folder().join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    read(path.to_str().unwrap(), &text, &|p| std::fs::read(p)).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn every_example_reads_back_from_its_resolved_text() {
    let mut count = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".toml") {
            continue;
        }
        let first = example(&name);
        let again = read(&first.name, &first.resolved, &|p| std::fs::read(p));
        assert_eq!(again.unwrap_or_else(|e| panic!("{name}: {e}\n{}", first.resolved)), first, "{name}");
        count += 1;
    }
    assert_eq!(count, 7);
}

#[test]
fn the_smallest_scenario_is_one_operation_repeated_at_once() {
    let s = example("get.toml");
    let main = &s.behaviours.all()[0];
    assert_eq!((main.name, main.first, &main.pace), ("main", OpId(0), &Pace::AtOnce));
    assert_eq!(main.next, [Some(NextOp::Op(OpId(0)))]);
    let exchange = &s.operations[0].groups[0][0];
    assert!(!exchange.reads_body());
    assert!(exchange.check.allows(204) && !exchange.check.allows(304));
    let Action::Request(request) = &exchange.action else { panic!("a request") };
    assert_eq!((request.method, request.target.fixed()), ("GET", Some(&b"/"[..])));
    assert_eq!(s.mix.as_ref().unwrap()[0].get(), 1.0);
    assert_eq!(s.limits()[0].response.unwrap().as_secs_f64(), 0.25);
    assert_eq!(s.most_users(), None);
}

#[test]
fn the_social_site_has_the_mix_of_the_built_in_workload() {
    let s = example("social.toml");
    let names: Vec<&str> = s.op_specs().iter().map(|o| o.name).collect();
    assert_eq!(names, ["Home", "Login", "TagSearch", "Event", "Person", "AddPerson", "AddEvent"]);
    let percent: Vec<String> =
        s.mix.as_ref().unwrap().iter().map(|share| format!("{:.2}", share.get() * 100.0)).collect();
    assert_eq!(percent, ["26.15", "10.22", "33.45", "24.68", "2.61", "0.84", "2.04"]);
    assert_eq!(s.most_users(), Some(400));
}

#[test]
fn the_shop_has_data_draws_choosers_and_groups() {
    let s = example("shop.toml");
    let names: Vec<&str> = s.op_specs().iter().map(|o| o.name).collect();
    assert_eq!(names, ["Login", "Search", "Look", "Fill", "Buy", "Logout"]);
    assert_eq!(s.most_users(), Some(4));
    assert_eq!(s.data[0].cell(3, 1), "with \"quotes\"");
    assert_eq!(s.data[1].cell(2, 0), "garden table");

    // The order number is composed of another value, which is drawn before it.
    let Action::Request(_) = &s.operations[4].groups[0][0].action else { panic!("a request") };
    let draws: Vec<&str> =
        s.operations[4].groups[0][0].draws.iter().map(|d| s.draws[usize::from(d.0)].name).collect();
    assert_eq!(draws, ["serial", "order"]);

    let search = &s.operations[1].groups;
    assert_eq!((search.len(), search[0].len(), search[1].len()), (2, 1, 1));
    let each = search[1][0].for_each.as_ref().unwrap();
    assert_eq!((each.at_most, each.item.life), (5, Life::Operation));

    let Some(NextOp::Choose { chooser, branches }) = &s.behaviours.all()[0].next[2] else {
        panic!("a choice")
    };
    assert!(matches!(&branches[1], NextOp::Vector(v) if v.entries().len() == 3));
    let Chooser::When { conditions, .. } = &s.choosers[usize::from(chooser.0)] else { panic!("conditions") };
    assert_eq!(conditions.len(), 1);
    assert_eq!(s.mix, None);
    assert!(matches!(s.names["accounts.password"], Source::Column { column: 1, .. }));
    assert!(s.draws.iter().any(|d| d.name == "accounts" && matches!(d.what, DrawSource::Row(..))));
}

#[test]
fn followers_share_and_keep_apart() {
    let s = example("follow.toml");
    assert_eq!(s.behaviours.all()[1].name, "follow");
    let start = s.operations[1].beside.start.as_ref().unwrap();
    assert_eq!((start.behaviour.0, start.at_most), (1, 2));
    let poll = &s.operations[4];
    assert_eq!(poll.groups[0][0].wait.as_ref().unwrap().expired, [408, 504]);
    assert_eq!(poll.groups[0][0].extract[0].place.life, Life::Activity);
    assert_eq!(poll.groups[0][0].extract[0].place, poll.groups[1][0].extract[0].place);
    assert!(poll.beside.end.is_some() && poll.beside.reset.is_some());
    assert_eq!(s.rules[4].limit, None);
    assert!(s.rules[4].judged && !s.rules[3].judged);
}

#[test]
fn streams_are_numbered_by_name() {
    let s = example("events.toml");
    assert_eq!(s.streams, ["prices"]);
    assert!(
        matches!(&s.operations[2].groups[0][0].action, Action::SseNext(_, Some(event)) if &**event == "price")
    );
    let s = example("chat.toml");
    assert!(matches!(&s.operations[0].groups[0][0].action, Action::SocketOpen(_, _, p) if p.len() == 1));
    assert!(matches!(s.operations[1].groups[1][0].action, Action::SocketReceive(_)));
    // Connect, on average twenty echoes, hang up.
    let mix: Vec<f64> = s.mix.unwrap().iter().map(|s| (s.get() * 22.0 * 1e6).round() / 1e6).collect();
    assert_eq!(mix, [1.0, 20.0, 1.0]);
}
