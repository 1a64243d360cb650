//! Mail that is read, beside imaptest at the same Dovecot.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use barograph_test_services::Service;

use super::{BYTES, LONGEST_S, pinned_program};
use crate::contest::process::{self, ProgramResult};
use crate::contest::programs;
use crate::micro::{Case, Contender, FINE, OURS, json, need_good, number};

/// The compared tool.
pub(super) const IMAPTEST: &str = "imaptest";

/// The server of these cases, with which their names begin.
pub(super) const DOVECOT: &str = "Dovecot";

/// How imaptest is had.
pub(super) const INSTALL: &str = "built from github.com/dovecot/imaptest at 924f619 with dovecot-dev, in a folder of BAROGRAPH_BENCH_TOOLS";

/// Mailboxes, and mails of each; a third of them are in INBOX.
const MAILBOXES: u32 = 101;
const MESSAGES: u32 = 150;

/// Numbers of sessions.
const SESSIONS: [u32; 3] = [1, 16, 100];

/// Its name for the state in which it fetches one mail or its header, as it heads the column of totals.
const FETCH: &str = "Fet2";

/// The words of this product for a number of sessions.
fn our_words(dovecot: &Service, sessions: u32, length: &str) -> Vec<String> {
    programs::words(&format!(
        "mail lmtp://127.0.0.1:{} --imap imap://127.0.0.1:{} --read --mailboxes {MAILBOXES} --messages {MESSAGES} \
         --bytes {BYTES} -c {sessions} {length} --warm-up 0s --workers 1 -q --json",
        dovecot.port(),
        dovecot.named_port("imap"),
    ))
}

fn their_words(imap: u16, sessions: u32, seconds: u64) -> Vec<String> {
    programs::words(&format!(
        "host=127.0.0.1 port={imap} user=u%d@barograph.test pass=barograph users=0-{} clients={sessions} secs={seconds} \
         seed=1 no_tracking no_pipelining - select=100 fetch2=100,100",
        MAILBOXES - 1
    ))
}

/// Fills the mailboxes that both read.
pub(super) fn fill(ours: &Path, dovecot: &Service, folder: &Path) -> anyhow::Result<()> {
    let filling = pinned_program(ours, our_words(dovecot, 1, "-n 1"), FINE);
    let used = process::run(&filling, LONGEST_S, folder).context("fill the mailboxes of Dovecot")?;
    need_good(&json(&used)?)
}

/// The cases, for a program of ours and imaptest, if it is there.
pub(super) fn cases(
    (ours, imaptest): (&PathBuf, Option<&PathBuf>),
    dovecot: &Service,
    seconds: u64,
) -> Vec<Case> {
    let case = |sessions: u32| {
        let pinned = pinned_program(ours, our_words(dovecot, sessions, &format!("-d {seconds}s")), FINE);
        let own = Contender { name: OURS, pinned, seconds: seconds + LONGEST_S, read: Box::new(read_ours) };
        let theirs = imaptest.map(|program| Contender {
            name: IMAPTEST,
            pinned: pinned_program(program, their_words(dovecot.named_port("imap"), sessions, seconds), &[0]),
            seconds,
            read: Box::new(move |used| read_theirs(used, seconds)),
        });
        let several = if sessions == 1 { "session" } else { "sessions" };
        Case {
            name: format!("{DOVECOT}, {sessions} reading {several}"),
            contenders: std::iter::once(own).chain(theirs).collect(),
            wanted: &[],
        }
    };
    SESSIONS.map(case).into()
}

/// The figures of this product, whose process also reads all mail before and after the load.
fn read_ours(used: &ProgramResult) -> anyhow::Result<Vec<Option<f64>>> {
    let json = json(used)?;
    need_good(&json)?;
    let of = |key: &str| number(&json, key).with_context(|| format!("no number at {key}"));
    Ok(vec![Some(of("/requests_per_s")?), Some(of("/cpu_us_per_request")?), Some(of("/p95_ms")?), None])
}

/// The figures of imaptest: the last line of its output counts the commands of each state.
fn read_theirs(used: &ProgramResult, seconds: u64) -> anyhow::Result<Vec<Option<f64>>> {
    let totals = used.stdout.split_once("Totals:").context("it shows no totals")?.1;
    let mut lines = totals.lines().filter(|line| !line.trim().is_empty());
    let at = lines.next().and_then(|head| head.split_whitespace().position(|name| name == FETCH));
    let counts = lines.next_back().map(|line| line.split_whitespace().map(str::parse::<f64>));
    let fetched = at.zip(counts).and_then(|(at, mut counts)| counts.nth(at)?.ok());
    let fetched = fetched.context("its totals have no fetches")?;
    ensure!(fetched > 0.0, "it fetched nothing");
    Ok(vec![Some(fetched / seconds as f64), Some(used.cpu_s * 1e6 / fetched), None, None])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_of_imaptest_are_read_by_their_column() {
        let stdout = "Logi Sele Fet2 Logo\n100% 100% 100% 0%\n 16 16 900 0 16/16\n\nTotals:\nLogi Sele Fet2 Logo \n100% 100% 100% \n  16   16 4000    0 \n";
        let used = ProgramResult { stdout: stdout.to_owned(), cpu_s: 0.2, peak_rss_mib: 9.0, elapsed_s: 5.1 };
        assert_eq!(read_theirs(&used, 5).unwrap(), [Some(800.0), Some(50.0), None, None]);
        for broken in ["", "Totals:\nLogi Sele\n1 2\n", "Totals:\nFet2\n0\n"] {
            let used = ProgramResult { stdout: broken.to_owned(), ..used };
            assert!(read_theirs(&used, 5).is_err(), "{broken:?}");
        }
    }
}
