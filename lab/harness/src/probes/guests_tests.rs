//! Guests with given answers, and the resulting rows.

use std::time::Duration;

use barograph_platform::UnitCounters;

use super::*;

/// A site with one guest that gives the set answers.
struct OneGuest {
    says: std::sync::Mutex<Vec<Option<GuestCounters>>>,
}

impl barograph_platform::Guests for OneGuest {
    fn hosts(&self) -> Vec<String> {
        vec!["db".to_owned()]
    }

    fn counters<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Result<GuestCounters, Fault>> {
        let said = self.says.lock().unwrap().remove(0);
        let silent =
            || Fault::Site { act: format!("ask host `{host}`"), source: "it does not answer".into() };
        Box::pin(std::future::ready(said.ok_or_else(silent)))
    }
}

/// Counters of a guest with one core: busy a quarter of the time, its unit half of that.
fn after(seconds: u64) -> GuestCounters {
    let pair = |(name, text): (&str, String)| (name.to_owned(), text);
    let ticks = seconds * 100;
    let unit = [("cpu.stat", format!("usage_usec {}\nuser_usec 0\nsystem_usec 0\n", seconds * 125_000))];
    GuestCounters {
        at: Duration::from_secs(seconds),
        hz: 100,
        disks: vec!["vda".to_owned()],
        files: [
            ("stat", format!("cpu  {0} 0 0 {1} 0 0 0 {2} 0 0\ncpu0 0 0\n", ticks / 4, ticks / 2, ticks / 4)),
            ("meminfo", "MemTotal: 1000 kB\nMemAvailable: 400 kB\nCached: 300 kB\n".to_owned()),
            (
                "net/dev",
                format!("a\nb\n lo: 9 9 0 0 0 0 0 0 9 9 0 0\neth0: {seconds} 1 0 0 0 0 0 0 0 0 0 0\n"),
            ),
            ("pressure/cpu", format!("some avg10=20.00 avg60=0 avg300=0 total={}\n", seconds * 200_000)),
        ]
        .map(pair)
        .to_vec(),
        agent: Duration::from_millis(seconds * 10),
        units: vec![UnitCounters { unit: "postgres".to_owned(), files: unit.map(pair).to_vec() }],
    }
}

fn guests(one: &OneGuest) -> Guests<'_> {
    Guests { seam: Some(one), ..Guests::new(None) }
}

#[tokio::test]
async fn what_a_guest_counts_becomes_rows_of_it_and_its_units() {
    let one = OneGuest { says: vec![Some(after(10)), Some(after(14))].into() };
    let mut guests = guests(&one);
    guests.ask(Nanos::from_secs(1));
    // Its question is still open, so no new one is sent.
    guests.ask(Nanos::from_secs(8));
    assert_eq!(guests.asking.len(), 1);
    let first = guests.answer().await;
    assert_eq!(guests.rows(first, Nanos::from_secs(1)), (Vec::new(), None), "one sample is no rate");
    guests.ask(Nanos::from_secs(9));
    assert_eq!(guests.asking.len(), 0, "it was asked a moment ago");
    guests.ask(Nanos::from_secs(20));
    let second = guests.answer().await;
    let (rows, note) = guests.rows(second, Nanos::from_secs(22));
    assert_eq!(note, None);
    let [guest, agent, unit] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!((guest.subject.as_str(), guest.at_s), ("guest-db", 21.0));
    assert_eq!((guest.cpu_user_cores, guest.cpu_idle_cores), (Some(0.25), Some(0.5)));
    assert_eq!((guest.steal_share, guest.psi_cpu), (Some(0.25), Some(20.0)));
    assert_eq!((guest.rss_bytes, guest.page_cache_bytes), (Some(600 << 10), Some(300 << 10)));
    assert_eq!((guest.net_rx_bytes_s, guest.psi_io), (Some(1.0), None), "what it does not say is not known");
    assert_eq!((agent.subject.as_str(), agent.cores()), ("guest-db/agent", Some(0.01)));
    assert_eq!((unit.subject.as_str(), unit.cores()), ("guest-db/postgres", Some(0.125)));
}

#[tokio::test]
async fn a_guest_that_says_nothing_is_told_of_once_and_asked_again() {
    let broken = GuestCounters { files: Vec::new(), ..after(1) };
    let one = OneGuest { says: vec![None, Some(broken), Some(after(20)), Some(after(30))].into() };
    let mut guests = guests(&one);
    let mut notes = Vec::new();
    let mut rows = Vec::new();
    for at in [10, 20, 30, 40] {
        guests.ask(Nanos::from_secs(at));
        let told = guests.answer().await;
        let (more, note) = guests.rows(told, Nanos::from_secs(at));
        rows.extend(more);
        notes.extend(note);
    }
    assert_eq!(
        rows.iter().map(|row| row.subject.as_str()).collect::<Vec<_>>(),
        ["guest-db", "guest-db/agent", "guest-db/postgres"]
    );
    let [note] = notes.as_slice() else { panic!("{notes:?}") };
    assert!(
        note.starts_with("guest db does not say what it uses") && note.contains("ask host `db`"),
        "{note}"
    );
}
