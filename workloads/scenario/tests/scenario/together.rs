//! Exchanges side by side, and repetitions over a list.

use std::time::Duration;

use barograph_model::Outcome;
use barograph_testkit::{Act, Answer, ListenOptions, Request, Server, Site, SiteProtocols};

use crate::rig::{Run, answering};

#[test]
fn neighbours_and_repetitions_run_side_by_side() {
    let site = Site::start(ListenOptions::v4(), SiteProtocols::Http1).unwrap();
    let text = r#"
        [operations.Get]
        [[operations.Get.exchanges]]
        path = "/echo"
        method = "POST"
        body = "[1, 2, 3]"
        extract.ids = { json = "/*" }
        [[operations.Get.exchanges]]
        parallel = true
        for_each = { list = "ids", as = "id" }
        path = "/delay/{id}00"
        [[operations.Get.exchanges]]
        parallel = true
        path = "/delay/250"
        "#;
    // All four of an operation are on their way before the first is answered, unless the machine stands still
    // between.
    let run = Run::at(text, &site.url(""));
    let ended = run.until(|ended| ended.count("Get") >= 2 && site.most_at_once() >= 4);
    ended.all_good();
    assert_eq!(site.most_at_once(), 4);
    assert!(ended.requests("Get") >= 5 * ended.count("Get"));
}

#[test]
fn each_answer_is_judged_with_its_own_item_and_kept_in_order() {
    // The later an item stands in the list, the sooner it is answered.
    let target = answering(|request| match request.path.rsplit('/').next().unwrap() {
        "start" => Answer::new(200, r#"["3", "2", "skip", "1"]"#),
        "end" => Answer::new(200, ""),
        id => {
            let wait = Duration::from_millis(30 * id.parse::<u64>().unwrap());
            Answer::new(200, format!("this is {id}")).after(wait)
        }
    });
    let run = target.run(
        r#"
        [operations.Get]
        [[operations.Get.exchanges]]
        path = "/start"
        extract.ids = { json = "/*" }
        [[operations.Get.exchanges]]
        parallel = true
        for_each = { list = "ids", as = "id", at_most = 4 }
        when = "id != 'skip'"
        path = "/items/{id}"
        check = { contains = "this is {id}" }
        extract.last = { regex = "this is (.)", group = 1 }
        [[operations.Get.exchanges]]
        path = "/{last}/end"
        "#,
    );
    run.until_done("Get", 1).all_good();
    let paths = target.paths();
    let mut asked = paths[1..4].to_vec();
    asked.sort();
    assert_eq!(asked, ["GET /items/1", "GET /items/2", "GET /items/3"]);
    // The last of the list, not the last answer.
    assert_eq!(paths[4], "GET /1/end");
}

#[test]
fn the_first_bad_one_ends_them_all() {
    let script = |request: &Request| match request.path.as_str() {
        "/never" => Act::Stall,
        _ => Act::Answer(Answer::new(500, "")),
    };
    let server = Server::start(std::sync::Arc::new(script)).unwrap();
    let text = r#"
        [operations.Get]
        [[operations.Get.exchanges]]
        parallel = true
        path = "/never"
        [[operations.Get.exchanges]]
        parallel = true
        path = "/bad"
        "#;
    let ended = Run::at(text, &server.url("")).until_done("Get", 1);
    assert_eq!(ended.whys("Get"), ["status 500"]);
    assert_eq!(ended.outcome("Get", Outcome::TimedOut), 0);
}

#[test]
fn no_list_is_no_repetition() {
    let target = answering(|_| Answer::new(200, "[]"));
    let run = target.run(
        r#"
        [operations.Get]
        [[operations.Get.exchanges]]
        path = "/"
        extract.ids = { json = "/*", required = false }
        [[operations.Get.exchanges]]
        for_each = { list = "ids", as = "id" }
        path = "/{id}"
        "#,
    );
    let ended = run.until_done("Get", 3);
    ended.all_good();
    assert!(target.paths().iter().all(|path| path == "GET /"));
}
