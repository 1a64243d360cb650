//! The report of a real run in a real browser: it opens from the disk without errors.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::going::RunningProgram;
use crate::place::{TestFolders, fixed};

#[test]
fn the_report_of_a_run_opens_in_a_browser() {
    let place = TestFolders::new();
    let ran = RunningProgram::start(place.run(None, &fixed(30, 5))).end();
    assert!(matches!(ran.code, Some(0 | 4 | 9)), "{ran:?}");
    let run = place.record();
    opens_in_a_browser(&place, &run.dir.join("report.html"), &as_shown(&run.verdict().unwrap().sentence));
}

/// A sentence as a page shows it: the claim as the headline, and the rest below it, without its first letter,
/// which is a capital there.
pub(crate) fn as_shown(sentence: &str) -> Vec<&str> {
    let Some(end) = [". ", "; ", ": "].iter().filter_map(|mark| sentence.find(mark)).min() else {
        return vec![sentence];
    };
    let rest = &sentence[end + 2..];
    let first = rest.chars().next().map_or(0, char::len_utf8);
    vec![&sentence[..end], &rest[first..]]
}

/// Opens a page from the disk; it must show all `words` and at least two figures, without errors.
#[expect(clippy::print_stdout, reason = "a skipped test says why")]
pub(crate) fn opens_in_a_browser(place: &TestFolders, page: &Path, words: &[&str]) {
    let starts = |name: &&str| Command::new(name).arg("--version").stdout(Stdio::null()).status().is_ok();
    let Some(browser) = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(starts) else {
        println!("skipped: no chromium on the PATH (apt-get install chromium)");
        return;
    };
    let mut command = Command::new(browser);
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"])
        // Requests of the page to other hosts would fail and appear in the log.
        .args(["--host-resolver-rules=MAP * ~NOTFOUND", "--disable-background-networking"])
        .arg(format!("--user-data-dir={}", place.root().join("profile").display()))
        .arg(format!("file://{}", page.display()));
    let shown = RunningProgram::start(command).end();
    let complaints: Vec<&str> = shown.err.lines().filter(|l| l.contains("CONSOLE")).collect();
    assert_eq!(complaints, Vec::<&str>::new());
    for words in words {
        assert!(shown.out.contains(words), "{words} is not shown");
    }
    assert!(shown.out.matches("<svg").count() >= 2 && shown.out.contains("</html>"));
}
