//! Headroom of made-up runs, with figures that can be checked by hand.

use barograph_record::{Entry, Header, ProbeRow, Run, UnitRecord, VERSION};
use serde_json::{Value, json};

use super::*;

/// Entries of `run.jsonl` for a window of 20 s with 1,000 users, and for the verdict on it.
fn entries(verdict: &Value, result: &str) -> Vec<Value> {
    let window = json!({
        "users": 1000, "from_s": 20.0, "to_s": 40.0, "throughput": 300.0, "goodput": 300.0, "requests_s": 600.0,
        "passed": true, "valid": true, "ops": [], "checks": [],
    });
    let resources =
        json!({ "host_cores": 2.0, "host_busy_cores": 1.6, "app_cores": 1.2, "driver_cores": 0.3 });
    let interval = |from_s: f64, busiest_worker: f64| {
        json!({ "kind": "interval", "from_s": from_s, "to_s": from_s + 10.0, "users": 1000, "starts": 1,
            "lag_p50_ms": 0.1, "lag_p99_ms": 0.2, "in_flight": 1.0, "worker_cpu": 0.3,
            "busiest_worker": busiest_worker, "ops": [] })
    };
    let mut answer = json!({
        "kind": "verdict", "capacity": null, "trial": 1, "passed": true, "valid": true, "sentence": "", "exit_code": 0,
        "reasons": [], "resources": {}, "search": null,
    });
    for (key, value) in verdict.as_object().unwrap() {
        answer[key] = value.clone();
    }
    vec![
        json!({ "kind": "decisions", "workers": 2 }),
        json!({ "kind": "load_started", "at_s": 10.0 }),
        interval(10.0, 0.9),
        interval(20.0, 0.2),
        interval(30.0, 0.3),
        json!({ "kind": "trial", "n": 1, "purpose": "fixed", "level": 1000, "result": result, "window": window,
            "resources": resources }),
        answer,
    ]
}

/// One sample; NaN stands for unknown.
fn sample(at_s: f64, subject: &str, bytes: u64, files: u64) -> ProbeRow {
    let subject = subject.to_owned();
    ProbeRow { at_s, subject, rss_bytes: Some(bytes), fds: Some(files), ..ProbeRow::default() }
}

const GIB: u64 = 1 << 30;

fn run(verdict: &Value, result: &str) -> Run {
    let header = Header {
        v: VERSION,
        id: "20301120-184500-0001".to_owned(),
        tool: "barograph 0".to_owned(),
        started_at: "2030-11-20T18:45:00Z".to_owned(),
        command: String::new(),
    };
    let entries = entries(verdict, result);
    let entry = |value: Value| serde_json::from_value::<Entry>(value).unwrap();
    Run {
        dir: "nowhere".into(),
        header: header.clone(),
        entries: std::iter::once(Entry::Header(header)).chain(entries.into_iter().map(entry)).collect(),
        plan: Some("[driver]\nworkers = 0\ncount = 1\n".to_owned()),
        disclosure: Some(
            json!({ "host": { "memory bytes": (8 * GIB).to_string(), "open files limit, soft": "20000" } }),
        ),
        probes: vec![
            // Before the load, hence ignored.
            sample(5.0, "host", 7 * GIB, 0),
            sample(11.0, "host", 2 * GIB, 0),
            sample(11.0, "driver", GIB, 100),
            sample(45.0, "host", 4 * GIB, 0),
            sample(45.0, "driver", GIB, 4_090),
            sample(60.0, "host", 6 * GIB, 0),
        ],
        load: None,
        loads: Vec::new(),
        statistics: Vec::new(),
        complete: true,
        damage: Vec::new(),
    }
}

const RESOURCES: [&str; 4] = [
    "The CPU of the host: 1.60 of 2 cores (application 1.20, driver 0.30), used up at about 1,250 users",
    // 6 GiB for the load, of which 1,000 users took 2.
    "The memory of the host: 4.00 GiB of 8.00 GiB, used up at about 3,000 users",
    "The busiest worker of the driver: 25.0 % of its core, used up at about 4,000 users",
    // Two workers with a table each.
    "The open files of the driver: 4,090 of 40,000, used up at about 10,000 users",
];

#[test]
fn a_fixed_load_has_room_in_users() {
    let found = headroom(&run(&json!({}), "pass")).unwrap();
    assert_eq!(found.title, "Headroom at 1,000 users");
    let mut expected = vec![
        "Next limit: the CPU of the host, at most about 1,250 users (250 more), if nothing else gives way",
        "With twice of it the limit would be about 2,500 users",
    ];
    expected.extend(RESOURCES);
    assert_eq!(found.points, expected);
}

#[test]
fn the_room_of_one_of_several_loads_cannot_be_told() {
    let one = Run { load: Some("one".to_owned()), ..run(&json!({}), "pass") };
    assert!(headroom(&one).is_none());
}

#[test]
fn use_does_not_grow_with_the_load_where_the_target_is_of_the_driver() {
    let at = |is_of_driver: bool| {
        let about = json!({ "kind": "target", "url": "cpu://localhost", "is_of_driver": is_of_driver });
        let claim = json!({ "kind": "kept", "level": 1000, "windows": null });
        headroom(&run(&json!({ "answer": { "claim": claim, "about": about } }), "pass"))
    };
    assert!(at(true).is_none());
    assert!(at(false).is_some());
}

#[test]
fn a_search_says_whether_that_ended_it() {
    let search = |capacity: u32, at_least: bool| {
        let search = json!({ "highest_pass": capacity, "lowest_fail": null, "bounded_by": "", "at_least": at_least,
            "trials": 9, "confirmed": true });
        headroom(&run(&json!({ "capacity": capacity, "search": search }), "pass")).unwrap().points
    };
    let explained = "At the capacity of 1,200 users 96.0 % of it is used, which explains where it ends";
    assert_eq!(search(1_200, false)[2], explained);
    let hidden = &search(1_010, false)[2];
    assert_eq!(
        hidden,
        "At the capacity of 1,010 users only 80.8 % of it is used: what ends it is not measured here"
    );
    assert_eq!(search(1_200, true)[2], RESOURCES[0], "nothing ended it");
}

#[test]
fn a_limit_of_a_part_sets_what_comes_next() {
    let mut limited = run(&json!({}), "pass");
    let part = |name: &str, tier: &str, cpus: Option<f64>| {
        json!({ "name": name, "tier": tier, "service": "s", "version": "1", "host": "here", "url": "x://", "uses": [],
            "node": tier == "application",
            "start_s": 1.0, "cpus": cpus, "memory_bytes": null })
    };
    let topology = json!({
        "kind": "topology", "platform": "p", "abilities": ["processes"], "facts": [], "front": "node-1", "open_s": 0.0, "ready_s": 1.0,
        "parts": [part("node-1", "application", None), part("sql", "relational", Some(0.5))],
    });
    limited.entries.push(serde_json::from_value(topology).unwrap());
    for at_s in [35.0, 45.0] {
        limited.probes.push(ProbeRow { cpu_user_cores: Some(0.25), ..sample(at_s, "sql", GIB, 10) });
        limited.probes.push(sample(at_s, "node-1", GIB, at_s as u64 * 100));
    }
    let points = headroom(&limited).unwrap().points;
    assert_eq!(points[1], "With twice of it the limit would be about 2,000 users, set by the CPU of sql");
    let sql = "The CPU of sql: 0.25 of 0.5 cores, used up at about 2,000 users";
    let files = "The open files of node-1: 4,500 of 20,000, used up at about 16,500 users";
    assert!(points.contains(&sql.to_owned()) && points.contains(&files.to_owned()), "{points:?}");
    // 0.25 cores over 300 operations/s; half a core gives as much 600 times a second.
    assert_eq!(bounds_of(&limited)[1], ["The CPU of sql", "833 µs of a core", "600", "2,000"]);
}

/// The rows of the table of bounds.
fn bounds_of(run: &Run) -> Vec<Vec<String>> {
    headroom(run).unwrap().bounds.unwrap().table.rows
}

/// The same run, changed in its window and in what was in flight.
fn changed(change: fn(&mut Trial), in_flight: f64) -> Run {
    let mut run = run(&json!({}), "pass");
    for entry in &mut run.entries {
        match entry {
            Entry::Trial(trial) => change(trial),
            Entry::Interval(row) => row.in_flight = in_flight,
            _ => {}
        }
    }
    run
}

#[test]
fn what_operations_need_bounds_the_throughput_and_the_users() {
    let bounds = headroom(&run(&json!({}), "pass")).unwrap().bounds.unwrap();
    let points = [
        // 1.6 cores over 300 operations/s; two cores give as much 375 times a second.
        "Saturates at 375 operations/s at most: 5.33 ms of a core per operation (the CPU of the host)",
        "Demand is measured, as use over throughput; that it stays so, up to 1.25 times the load, is assumed",
        "A knee is at its lower end if response times were all waiting, at its upper end if they held none",
    ];
    assert_eq!(bounds.points, points);
    let head = ["Resource", "Demand per operation", "Operations/s, at most", "Users at the knee"];
    assert_eq!(bounds.table.head, head);
    // With one operation in flight, hardly any waited. Memory and files have no bounds.
    let rows = [
        ["The CPU of the host", "5.33 ms of a core", "375", "1,250"],
        ["The busiest worker of the driver", "833 µs of a core", "1,200", "4,000"],
    ];
    assert_eq!(bounds.table.rows, rows);
}

#[test]
fn a_knee_is_as_open_as_response_times_leave_it() {
    let knees = |in_flight: f64| -> Vec<String> {
        bounds_of(&changed(|_| {}, in_flight)).into_iter().map(|row| row[3].clone()).collect()
    };
    // 900 users think, so each for 3 s: 3 s / (0.8 / 300) + 1 is 1,126, and 3 s / (0.25 / 300) + 1 is 3,601.
    assert_eq!(knees(100.0), ["1,130 to 1,250", "3,600 to 4,000"]);
    // Users of the auction wait for bids in parallel with other operations.
    assert_eq!(knees(1_300.0), ["at most 1,250", "at most 4,000"]);
    assert_eq!(knees(f64::NAN), ["at most 1,250", "at most 4,000"]);
}

#[test]
fn bounds_of_an_open_loop_have_no_users_and_nothing_done_has_no_bounds() {
    let open = changed(|trial| trial.unit = UnitRecord::StartsPerSecond, 100.0);
    let bounds = headroom(&open).unwrap().bounds.unwrap();
    assert_eq!(bounds.points.len(), 2);
    assert_eq!(bounds.table.head.len(), 3);
    assert_eq!(bounds.table.rows[0], ["The CPU of the host", "5.33 ms of a core", "375"]);
    let nothing = changed(|trial| trial.window.throughput = 0.0, 1.0);
    let unknown = changed(|trial| trial.window.throughput = f64::NAN, 1.0);
    assert!(headroom(&nothing).unwrap().bounds.is_none() && headroom(&unknown).unwrap().bounds.is_none());
}

#[test]
fn what_an_emulator_holds_is_not_the_memory_of_its_guest() {
    let has_memory_of_sql = |abilities: serde_json::Value| {
        let mut limited = run(&json!({}), "pass");
        let topology = json!({
            "kind": "topology", "platform": "p", "abilities": abilities, "facts": [], "front": "sql", "open_s": 0.0, "ready_s": 1.0,
            "parts": [{ "name": "sql", "tier": "relational", "service": "s", "version": "1", "host": "sql", "url": "x://",
                "uses": [], "start_s": 1.0, "cpus": null, "memory_bytes": GIB }],
        });
        limited.entries.push(serde_json::from_value(topology).unwrap());
        limited.probes.extend([sample(11.0, "sql", GIB / 2, 10), sample(45.0, "sql", GIB / 4 * 3, 10)]);
        let points = headroom(&limited).unwrap().points;
        points.contains(&"The memory of sql: 768 MiB of 1.00 GiB, used up at about 2,000 users".to_owned())
    };
    assert!(has_memory_of_sql(json!(["processes"])) && has_memory_of_sql(json!([])));
    assert!(!has_memory_of_sql(json!(["hosts", "machines"])));
    assert!(!has_memory_of_sql(json!(null)), "an older record does not say");
}

#[test]
fn a_link_with_a_speed_counts_in_its_fuller_direction() {
    let mut linked = run(&json!({}), "pass");
    linked.plan = Some("[deploy]\nlink_mbit = 100\n".to_owned());
    let topology = json!({
        "kind": "topology", "platform": "p", "facts": [], "front": "web", "open_s": 0.0, "ready_s": 1.0,
        "parts": [{ "name": "web", "tier": "web", "service": "nginx", "version": "1", "host": "web", "url": "http://x",
            "uses": [], "start_s": 1.0, "cpus": null, "memory_bytes": null }],
    });
    linked.entries.push(serde_json::from_value(topology).unwrap());
    let (rx, tx) = (Some(1e6), Some(10e6));
    linked.probes.push(ProbeRow { net_rx_bytes_s: rx, net_tx_bytes_s: tx, ..sample(45.0, "web", GIB, 10) });
    let points = headroom(&linked).unwrap().points;
    let network = "The network of web: 80.0 of 100 Mbit/s, used up at about 1,250 users";
    assert!(points.contains(&network.to_owned()), "{points:?}");
    // 10 MB/s over 300 operations/s.
    let bounds = bounds_of(&linked);
    let network = ["The network of web", "32.6 KiB", "375", "1,250"];
    assert!(bounds.iter().any(|row| *row == network), "{bounds:?}");
}

#[test]
fn what_was_measured_far_below_is_a_guess_and_what_failed_says_nothing() {
    let mut idle = run(&json!({}), "pass");
    for entry in &mut idle.entries {
        if let Entry::Trial(trial) = entry {
            trial.resources.host_busy_cores = Some(0.02);
        }
    }
    let points = headroom(&idle).unwrap().points;
    assert_eq!(
        points[1],
        "With twice of it the limit would be about 4,000 users, set by the busiest worker of the driver"
    );
    let guess = "That is far above the load that was measured, and no more than a guess";
    assert!(
        !points.contains(&guess.to_owned()),
        "the memory of the host ends it at three times the load: {points:?}"
    );
    idle.probes.clear();
    assert!(headroom(&idle).unwrap().points.contains(&guess.to_owned()));
    assert!(
        headroom(&run(&json!({}), "fail")).is_none()
            && headroom(&run(&json!({ "valid": false }), "pass")).is_none()
    );
}
