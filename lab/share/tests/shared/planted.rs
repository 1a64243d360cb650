//! Private data are found anywhere in a record, and ordinary lines give no findings.

use std::path::Path;

use barograph_share::{Machine, PatternKind, inspect, members};
use proptest::prelude::*;

use crate::run;

fn machine() -> Machine {
    Machine {
        host: "bench7.example.org".to_owned(),
        user: "mallory".to_owned(),
        folders: vec!["/work".to_owned(), "/var/lib/jenkins".to_owned()],
    }
}

/// Texts with their kinds.
const PLANTED: [(PatternKind, &str); 20] = [
    (PatternKind::Path, "/home/mallory/bench/plan.toml"),
    (PatternKind::Path, "/work/main/target"),
    (PatternKind::Path, "/var/lib/jenkins/x"),
    (PatternKind::Path, "file:///tmp/a/b"),
    (PatternKind::Host, "bench7"),
    (PatternKind::Host, "rabbit@bench7.example.org"),
    (PatternKind::User, "mallory"),
    (PatternKind::Password, "postgres://me:s3cret@db/auction"),
    (PatternKind::Password, "PGPASSWORD=hunter22"),
    (PatternKind::Password, "\"password\": \"hunter22\""),
    (PatternKind::Password, "default_pass = hunter22"),
    (PatternKind::Password, "client-secret: hunter22"),
    (PatternKind::Token, "Authorization: Bearer abcdefghijklmnop"),
    (PatternKind::Token, "authorization=Basic bWU6cGFzcw=="),
    (PatternKind::Token, "Cookie: session=abcdef"),
    (PatternKind::Token, "api_key=0123456789"),
    (PatternKind::Token, "ghp_0123456789012345678901234567890123456789"),
    (PatternKind::Token, "AKIAABCDEFGHIJKLMNOP"),
    (PatternKind::Token, "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl"),
    (PatternKind::Key, "-----BEGIN RSA PRIVATE KEY-----"),
];

/// Usual lines of records.
const ORDINARY: [&str; 16] = [
    "{\"kind\":\"phase_started\",\"phase\":\"check\",\"at_s\":0.0002}",
    "{\"op\":\"Login\",\"about\":\"sign in and keep the token\",\"quantile\":0.99}",
    "dir = \"data\"",
    "url = \"redis://me:***@127.0.0.1:6379\"",
    "  \"passwords\": \"argon2id, 64 KiB, 1 pass, 1 lane\",",
    "password_encryption = scram-sha-256",
    "authorization: ***",
    "proxy_pass http://application;",
    "server_tokens off;",
    "GET /api/home/tmp/x HTTP/1.1",
    "include /etc/nginx/mime.types; pid /run/nginx.pid; /usr/bin/epmd",
    "body = { user = \"{user}\", password = \"{password}\" }",
    "http://host/home/feed",
    "Tag=Login,1.000,1.000,250,HISTFAAAAEV42pNpmSzMwMDAxQABzFCaEUoz2X+AsIQAMwGgBg==",
    "bench70 xbench7 mallory2 bench7-x",
    "",
];

fn found(root: &Path, files: &[(&str, String)]) -> Vec<(String, usize, PatternKind)> {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    let inspection = inspect(&members(&run(root, &files)).unwrap(), &machine(), &[]).unwrap();
    assert_eq!(inspection.count, inspection.findings.len());
    inspection.findings.into_iter().map(|found| (found.file, found.line, found.kind)).collect()
}

const NAMES: [&str; 4] = ["plan.toml", "run.jsonl", "services/a.log", "loads/shop/run.jsonl"];

fn lines() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(&ORDINARY[..]), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_record_without_anything_has_no_findings(lines in lines()) {
        let place = tempfile::tempdir().unwrap();
        let text = lines.join("\n");
        let files: Vec<(&str, String)> = NAMES.iter().map(|name| (*name, text.clone())).collect();
        prop_assert_eq!(found(place.path(), &files), []);
    }

    #[test]
    fn what_is_planted_is_found_in_its_file_and_line(
        lines in lines(),
        planted in prop::sample::select(&PLANTED[..]),
        file in prop::sample::select(&NAMES[..]),
        at in any::<prop::sample::Index>(),
        around in prop::sample::select(&[(" ", " "), ("\"", "\""), ("x = '", "'"), ("(", ")"), ("<code>", "</code>"), ("", "")][..]),
    ) {
        let place = tempfile::tempdir().unwrap();
        let (kind, text) = planted;
        let mut with_it: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        let at = at.index(lines.len());
        with_it[at] = format!("{}{text}{}", around.0, around.1);
        let texts = NAMES.map(|name| (name, if name == file { with_it.join("\n") } else { lines.join("\n") }));
        let found = found(place.path(), &texts);
        prop_assert!(found.contains(&(file.to_owned(), at + 1, kind)), "{:?}", found);
        prop_assert!(found.iter().all(|(name, line, _)| name == file && *line == at + 1), "{:?}", found);
    }
}

#[test]
fn secrets_are_told_without_their_text_and_others_with_it() {
    let place = tempfile::tempdir().unwrap();
    let text = b"at /work/x\npassword=hunter22\n";
    let members = members(&run(place.path(), &[("run.jsonl", text)])).unwrap();
    let all = inspect(&members, &machine(), &[]).unwrap().findings;
    let texts: Vec<(usize, PatternKind, &str)> =
        all.iter().map(|found| (found.line, found.kind, found.text.as_str())).collect();
    assert_eq!(texts, [(1, PatternKind::Path, "/work/x"), (2, PatternKind::Password, "")]);
    let allowed = inspect(&members, &machine(), &[PatternKind::Path, PatternKind::Password]).unwrap();
    assert_eq!(allowed.count, 0);
}

#[test]
fn names_that_are_ordinary_words_are_not_looked_for() {
    let place = tempfile::tempdir().unwrap();
    let members = members(&run(place.path(), &[("run.jsonl", b"vm of root at localhost\n")])).unwrap();
    let machine = Machine { host: "vm".to_owned(), user: "root".to_owned(), folders: Vec::new() };
    assert_eq!(inspect(&members, &machine, &[]).unwrap().count, 0);
}
