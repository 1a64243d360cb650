//! The live screen on a real terminal: it is taken over, keys reach the load, and it is restored.

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

use crate::going::until;
use crate::http::site;
use crate::place::TestFolders;

/// A child that does not outlive its test.
struct Terminal(Child);

impl Drop for Terminal {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "a skipped test says why")]
fn keys_change_and_end_the_load_and_the_terminal_is_given_back() {
    if Command::new("script").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("skipped: no `script` on the PATH to make a terminal with (apt-get install bsdutils)");
        return;
    }
    let (place, site) = (TestFolders::without_data(), site());
    let program = env!("CARGO_BIN_EXE_barograph");
    let url = site.url("/delay/5");
    let line = format!("stty cols 100 rows 30; exec {program} http {url} -c 20 -d 120s --keep-record kept");
    let mut command = Command::new("script");
    command
        .args(["-q", "-e", "-c", &line, "/dev/null"])
        .current_dir(place.root())
        .env("TERM", "xterm-256color");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut terminal = Terminal(command.spawn().unwrap());
    let mut shown = terminal.0.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        shown.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let mut keys = terminal.0.stdin.take().unwrap();
    // The record shows the events; the screen writes only changes.
    let says = |words: &str| {
        let record = || {
            let run = fs::read_dir(place.root().join("kept")).ok()?.next()?.ok()?.path();
            fs::read_to_string(run.join("run.jsonl")).ok()
        };
        until(words, || record().filter(|text| text.contains(words)));
    };
    says("\"kind\":\"phase_started\",\"phase\":\"hold\"");
    keys.write_all(b"+").unwrap();
    says("\"kind\":\"control\"");
    says("\"level\":22");
    keys.write_all(b"q").unwrap();
    let status = until("the end of the program", || terminal.0.try_wait().unwrap());
    let shown = reader.join().unwrap();
    // The level changed in its only window, so its figures cover more than one load.
    assert_eq!(status.code(), Some(9), "{shown}");
    let run = fs::read_dir(place.root().join("kept")).unwrap().next().unwrap().unwrap().path();
    let run = barograph_record::Run::open(&run).unwrap();
    assert!(run.trials().next().unwrap().window.seconds() < 60.0, "the key has ended it");
    let (before, after) = shown.split_once("\x1b[?1049l").expect("the other screen is left");
    assert!(before.contains("\x1b[?1049h") && before.contains("stop and conclude"), "{before}");
    assert!(after.contains("response time") && after.contains("changed by hand"), "{after}");
    assert!(
        after.contains("a control command changes the load to 22 users"),
        "lines that stay are said again: {after}"
    );
}
