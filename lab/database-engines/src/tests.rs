//! Databases of real servers: filled, found again, copied, refused.

mod service;

#[test]
fn no_anomaly_is_seen_on_sqlite_and_nothing_stays() {
    let folder = tempfile::TempDir::new().unwrap();
    let url = format!("sqlite://{}", folder.path().join("f.db").display());
    let found = crate::anomalies(&url, crate::ISOLATIONS[0]).unwrap();
    assert!(found.len() == 5 && found.iter().all(|(_, is_seen)| !is_seen), "{found:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    std::fs::write(folder.path().join("f.db.probe"), "a letter").unwrap();
    assert!(crate::anomalies(&url, crate::ISOLATIONS[0]).is_err());
    assert!(crate::anomalies("redis://h", crate::ISOLATIONS[0]).is_err());
}
