//! A killed service leaves nothing behind, with any number of processes.

use barograph_services::Flavour;

use crate::stand::{InstanceSpec, TestSite, or_skip};
use crate::traces;

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_service_leaves_nothing() {
    for name in ["postgres", "httpd", "nginx", "rabbitmq"] {
        let Some([service]) = or_skip([name]) else { continue };
        let stand = TestSite::new().await;
        let values: &[(&str, String)] = match name {
            "nginx" | "httpd" => &[("servers", "127.0.0.8:9".to_owned())],
            _ => &[],
        };
        let up = stand.start(service, InstanceSpec { name, flavour: Flavour::Tuned, values }).await;
        let before = traces::of_folder(&up.unit.workdir);
        assert!(before.len() > 1, "{name}: {before:?}");
        up.running.kill().await.unwrap();
        let left = traces::of_folder(&up.unit.workdir);
        assert!(left.is_empty(), "{name}: {left:?}");
        let segments = traces::segments_of(&before);
        assert!(segments.is_empty(), "{name}: {segments:?}");
        stand.end().await;
    }
}
