//! Measurement of the disk below a run's stores, for the disclosure: no other figure shows the cost of
//! commits.

use std::path::Path;

use barograph_probe::Disk;
use serde_json::{Value, json};

/// Measures the disk below `folder`. A failure does not end the run; a faulty disk shows elsewhere.
pub(crate) async fn told(folder: &Path) -> Value {
    let folder = folder.to_owned();
    match tokio::task::spawn_blocking(move || Disk::measure(&folder)).await {
        Ok(Ok(disk)) => words(&disk),
        Ok(Err(why)) => json!({ "not measured": why.to_string() }),
        Err(why) => json!({ "not measured": why.to_string() }),
    }
}

fn words(disk: &Disk) -> Value {
    let ms = |seconds: f64| format!("{:.3} ms", seconds * 1e3);
    json!({
        "file system": disk.file_system.as_deref().unwrap_or("unknown"),
        "8 KiB and fdatasync, median": ms(disk.median()),
        "8 KiB and fdatasync, slowest": ms(disk.slowest()),
        "8 KiB and fdatasync, times": disk.flushes.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flushes_are_told_in_milliseconds() {
        let flushes = vec![0.000_03, 0.001_2, 0.25];
        let told = words(&Disk { file_system: Some("ext4".to_owned()), flushes });
        let expected = json!({
            "file system": "ext4",
            "8 KiB and fdatasync, median": "1.200 ms",
            "8 KiB and fdatasync, slowest": "250.000 ms",
            "8 KiB and fdatasync, times": 3,
        });
        assert_eq!(told, expected);
    }

    #[tokio::test]
    async fn a_folder_that_is_not_there_is_no_reason_to_stop() {
        let told = told(Path::new("/no/such/folder")).await;
        assert!(told["not measured"].as_str().unwrap().contains("No such file"), "{told}");
    }
}
