//! The report in a real browser: it opens from the disk, builds the whole page and logs no errors.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::synthetic::{self, Extent};
use barograph_record::Run;
use barograph_report::render_html;

/// Far above the second or two that a browser needs, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Chromium by any of its names, if it is installed.
fn chromium() -> Option<&'static str> {
    let starts = |name: &&str| Command::new(name).arg("--version").stdout(Stdio::null()).status().is_ok();
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(starts)
}

/// The page as built by the browser, and the browser's log.
fn open(browser: &str, page: &Path, scratch: &Path) -> (String, String) {
    let log = scratch.join("browser.log");
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"])
        // External requests of the page would fail and appear in the log.
        .args(["--host-resolver-rules=MAP * ~NOTFOUND", "--disable-background-networking"])
        .arg(format!("--user-data-dir={}", scratch.join("profile").display()))
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let (send, receive) = mpsc::sync_channel(1);
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        let done = out.read_to_string(&mut text).map(|_| text);
        send.send(done).unwrap();
    });
    let answer = receive.recv_timeout(PATIENCE);
    if answer.is_err() {
        child.kill().unwrap();
    }
    child.wait().unwrap();
    reader.join().unwrap();
    (answer.expect("the browser answers in time").unwrap(), fs::read_to_string(log).unwrap())
}

#[test]
#[expect(clippy::print_stdout, reason = "a skipped test says why")]
fn the_report_opens_in_a_browser_without_complaint() {
    let Some(browser) = chromium() else {
        println!("skipped: no chromium on the PATH (apt-get install chromium)");
        return;
    };
    let root = tempfile::tempdir().unwrap();
    for extent in [Extent::Killed, Extent::Whole] {
        let place = root.path().join(format!("{extent:?}"));
        let run = Run::open(&synthetic::write(&place, extent).unwrap()).unwrap();
        let html = render_html(&run).unwrap();
        let page = place.join("report.html");
        fs::write(&page, &html).unwrap();
        let (built, log) = open(browser, &page, root.path());
        let complaints: Vec<&str> = log.lines().filter(|l| l.contains("CONSOLE")).collect();
        assert_eq!(complaints, Vec::<&str>::new());
        // A browser that corrects broken markup would add or drop elements.
        for tag in ["<svg", "<table", "<section", "<details", "<tr", "<td", "<path", "<dd"] {
            assert_eq!(built.matches(tag).count(), html.matches(tag).count(), "{tag} {extent:?}");
        }
    }
}
