//! Invalid files: each is refused with the line, the key, the allowed values and a remedy, all at once.

use std::io;
use std::path::Path;

use barograph_scenario::read;

/// The files beside the scenarios, in memory.
fn file(path: &Path) -> io::Result<Vec<u8>> {
    let bytes: &[u8] = match path.to_str().expect("paths of these tests are plain") {
        "two.csv" => b"name,password\na,b\n",
        "broken.csv" => b"name,password\na\n",
        "binary" => b"\xff\xfe",
        "lines.txt" => b"a\nb\n",
        "empty.script" => b"",
        "bad.schema.json" => b"{\"type\": 3}",
        _ => return Err(io::Error::from(io::ErrorKind::NotFound)),
    };
    Ok(bytes.to_owned())
}

#[test]
fn every_refusal_names_its_place_and_what_to_do() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/refused");
    let mut names: Vec<String> = std::fs::read_dir(folder.clone())
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    for name in &names {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let refused = read(name, &text, &file).expect_err(name);
        for refusal in &refused.0 {
            assert!(refusal.place.starts_with(&format!("{name}:")), "{refusal}");
            assert!(!refusal.allowed.is_empty() && !refusal.remedy.is_empty(), "{refusal}");
        }
        insta::assert_snapshot!(name.trim_end_matches(".toml"), refused.to_string());
    }
    assert_eq!(names.len(), 14);
}

#[test]
fn a_column_that_a_file_does_not_have_is_told_from_those_that_it_has() {
    let why = |head: &str| {
        let file = |_: &Path| Ok(format!("{head}\n").into_bytes());
        let text = "[data.accounts]\nfile = \"a.csv\"\n[operations.Get]\nexchanges = [{ path = \"/{accounts.name}\" }]\n";
        read("s", text, &file).unwrap_err().0[0].allowed.clone()
    };
    assert_eq!(
        why("name:password\nx:y"),
        "a column of `accounts`, whose head has `name:password`: there is none"
    );
    assert_eq!(
        why("Name,x\n1,2"),
        "a column of `accounts`, whose head has `Name`, `x`: accounts.Name, accounts.x"
    );
}

#[test]
fn a_scenario_is_bounded() {
    let many = |n: usize| {
        let operation = |i: usize| format!("[operations.Op{i}]\nexchanges = [{{ path = \"/\" }}]\n");
        let all: String = (0..n).map(operation).collect();
        format!("{all}[behaviours.main]\nfirst = \"Op0\"\n")
    };
    assert_eq!(read("s", &many(256), &file).unwrap().operations.len(), 256);
    let refused = read("s", &many(257), &file).unwrap_err();
    assert_eq!(refused.0[0].key, "operations.Op256");
    assert_eq!(refused.0[0].allowed, "at most 256 operations");

    let exchanges = "[[operations.Get.exchanges]]\npath = \"/\"\n".repeat(65);
    assert_eq!(read("s", &exchanges, &file).unwrap_err().0[0].key, "operations.Get.exchanges[64]");

    let long = "#".repeat((4 << 20) + 1);
    assert_eq!(read("s", &long, &file).unwrap_err().0[0].value, "4194305 bytes of text");

    let large = |_: &Path| Ok(vec![b'a'; (1 << 20) + 1]);
    let text = "[values.v]\nkind = \"script\"\nscript = \"s\"\nfunction = \"f\"\n[operations.Get]\nexchanges = [{ path = \"/\" }]\n";
    assert_eq!(read("s", text, &large).unwrap_err().0[0].value, "\"s\" (1048577 bytes)");
}
