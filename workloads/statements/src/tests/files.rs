//! Files that are read, and files that are refused.

use barograph_database::{Access, Contents as _};
use barograph_model::words::in_one_line;

use crate::contents::FileContents;
use crate::read::read;
use crate::script::Script;

/// The folder of the files that come with the program.
pub(super) const SCENARIOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/sql");

const TABLE: &str = "[[tables]]\nname = \"t\"\nrows = 3\nkey = 1\n\
    columns = [{ name = \"id\", type = \"integer\", row = 1 }, { name = \"v\", type = \"text\", like = \"##\" }]\n";

const VALUES: &str = "[[values]]\nname = \"id\"\nfrom = \"t\"\n[[values]]\nname = \"v\"\neach = \"statement\"\nleast = 1\nmost = 9\n";

const TRANSACTION: &str = "[[transactions]]\nname = \"Move\"\naccess = \"read\"\nlimit_ms = 20\n\
    [[transactions.statements]]\nsql = \"SELECT v FROM t WHERE id = :id\"\nkeep = \"old\"\n\
    [[transactions.statements]]\nsql = \"UPDATE t SET v = :old + :v WHERE id = :id\"\ntimes = 3\nmariadb = \"UPDATE t SET v = :v\"\n";

fn read_well(text: &str) -> Script {
    read("folder/bank.toml", text).unwrap_or_else(|why| panic!("{why}"))
}

#[test]
fn statements_get_places_slots_and_draws() {
    let script = read_well(&[TABLE, VALUES, TRANSACTION].concat());
    assert_eq!((script.name.as_str(), script.slots, script.values.len()), ("bank", 3, 2));
    let [first, second] = &script.statements[..] else { panic!("{script:?}") };
    assert_eq!((first.postgres.sql.as_str(), &first.kept[..]), ("SELECT v FROM t WHERE id = $1", &[2][..]));
    assert_eq!(second.postgres.sql, "UPDATE t SET v = $1 + $2 WHERE id = $3");
    assert_eq!((&second.postgres.slots[..], &second.anew[..], second.times), (&[2, 1, 0][..], &[1][..], 3));
    assert_eq!(
        (second.sqlite.sql.as_str(), second.mariadb.sql.as_str()),
        ("UPDATE t SET v = ? + ? WHERE id = ?", "UPDATE t SET v = ?")
    );
    let [transaction] = &script.transactions[..] else { panic!("{script:?}") };
    assert_eq!(
        (transaction.access, transaction.has_begin, &transaction.drawn[..]),
        (Access::Read, true, &[0][..])
    );
    assert_eq!(transaction.rules.limit.map(|limit| limit.as_secs_f64()), Some(0.02));
}

#[test]
fn mistakes_are_refused_with_their_place_and_what_is_allowed() {
    let whole = |from: &str, to: &str| [TABLE, VALUES, TRANSACTION].concat().replace(from, to);
    for (text, place, words) in [
        (String::new(), "bank.toml", "a list of tables with `name` and `statements`"),
        (whole("rows = 3", "row = 3"), "bank.toml:3", "did you mean `tables[0].rows`?"),
        (whole("name = \"t\"", "name = \"T x\""), "bank.toml:2", "a letter and up to 58 more letters"),
        (whole("key = 1", "key = 3"), "bank.toml:4", "the number of leading columns"),
        (
            whole("type = \"text\"", "type = \"money\""),
            "bank.toml:5",
            "one of integer, bigint, numbered, text, long text",
        ),
        (
            whole("like = \"##\"", "like = \"##\", text = \"x\""),
            "bank.toml:",
            "one of `row`, `from`, `text`, `like`",
        ),
        (whole("from = \"t\"", "from = \"u\""), "bank.toml:8", "one of t"),
        (whole("most = 9", "most = 0.5"), "bank.toml:13", "whole numbers, with `least` at most `most`"),
        (whole("most = 9", "most = 9\nexponent = 1.5"), "bank.toml:14", "only with popularity = \"zipf\""),
        (
            whole("name = \"Move\"", "name = \"move it\""),
            "bank.toml:15",
            "a capital and up to 23 more letters",
        ),
        (whole(":old", ":older"), "bank.toml:22", "names of [[values]]"),
        (whole("limit_ms = 20", "begin = false"), "bank.toml:", "without `begin` exactly one, executed once"),
        (whole("times = 3", "times = 0"), "bank.toml:23", "a whole number from 1 to 10000"),
        (whole("times = 3", "rows = \"some\""), "bank.toml:23", "a whole number in quotes"),
        (whole("times = 3", "rows = \"2-1\""), "bank.toml:23", "or a range of them"),
        (
            format!("{}[[checks]]\nrule = \"r\"\nsql = \"s\"\ncounts = \"Lost\"\n", whole("", "")),
            "bank.toml:28",
            "one of Move",
        ),
        (format!("{TABLE}{}", whole("", "")), "bank.toml:7", "a name that is used once"),
        (whole("name = \"v\", type", "name = \"id\", type"), "bank.toml:5", "a name that is used once"),
        (whole("name = \"v\"\neach", "name = \"id\"\neach"), "bank.toml:10", "a name that is used once"),
        (format!("{}{TRANSACTION}", whole("", "")), "bank.toml:26", "a name that is used once"),
        (
            whole("keep = \"old\"", "keep = \"id\""),
            "bank.toml:20",
            "`transactions[0].statements[0].keep` = \"id\"",
        ),
        (
            whole("keep = \"old\"", "keep = \"old, old\""),
            "bank.toml:20",
            "names that no value of [[values]] has, each once",
        ),
        (
            whole("mariadb = \"UPDATE t SET v = :v\"", "mariadb = \"UPDATE t SET v = :w\""),
            "bank.toml:24",
            "`transactions[0].statements[1].mariadb` = :w",
        ),
        (whole("like = \"##\"", "like = \"##\", row = 2"), "bank.toml:5", "row and like"),
        (whole("[[values]]\n", "[[values\n"), "bank.toml:6", "a TOML document"),
    ] {
        let refused = read("folder/bank.toml", &text).map(drop).unwrap_err();
        let text = in_one_line(&refused);
        assert!(text.contains(words) && text.contains(place), "{words} at {place}: {text}");
    }
}

#[test]
fn rows_depend_on_seed_and_scale_only() {
    let script = std::sync::Arc::new(read_well(&[TABLE, VALUES, TRANSACTION].concat()));
    let rows = |seed, scale| {
        let contents = FileContents { script: std::sync::Arc::clone(&script), scale, seed, is_filled: true };
        let mut all = Vec::new();
        for piece in contents.pieces() {
            assert!(contents.piece(piece, &mut |batch| {
                all.extend(batch.values);
                true
            }));
        }
        assert_eq!(contents.expected_rows(contents.tables()[0]), all.len() as u64 / 2);
        (contents.stamp(), all)
    };
    let (stamp, some) = rows(1, 2_000);
    assert_eq!((rows(1, 2_000), some.len()), ((stamp.clone(), some.clone()), 12_000));
    let (other_stamp, other) = rows(2, 2_000);
    assert!(stamp != other_stamp && some != other && stamp != rows(1, 1).0);
    let unfilled = FileContents { script, scale: 1, seed: 1, is_filled: false };
    assert!(unfilled.tables().is_empty());
}

#[test]
fn files_that_come_with_the_program_can_be_read() {
    let mut seen = 0;
    for file in std::fs::read_dir(SCENARIOS).unwrap() {
        let path = file.unwrap().path();
        let script = read(&path.display().to_string(), &std::fs::read_to_string(&path).unwrap());
        let script = script.unwrap_or_else(|why| panic!("{why}"));
        assert!(!script.tables.is_empty() && script.transactions.len() == 1, "{}", path.display());
        seen += 1;
    }
    assert_eq!(seen, 5);
}
