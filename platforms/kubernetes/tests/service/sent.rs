//! Units on nodes that do not see the folders of this machine.

use std::fs;

use barograph_platform::{Platform, Unit, UnitFile};
use barograph_platform_kubernetes::KubernetesPlatform;
use barograph_test_kubernetes::{Cluster, SHELL_IMAGE};

use crate::stand::{JOB, Stand, words};

/// A unit that shows its own file and one of the site, and writes beside the former.
fn unit(stand: &Stand) -> Unit {
    let file = UnitFile { path: "conf/words".into(), bytes: b"given ".to_vec(), mode: 0o600 };
    let token = stand.dir.path().join("common/token");
    let script = format!("cat conf/words {}; [ ! -e /etc/passwd ] && echo new > words", token.display());
    Unit { files: vec![file], ..stand.unit("store", &script, JOB) }
}

async fn open(cluster: &Cluster, id: &str, more: &[(&str, &str)]) -> Stand {
    let options = [&[("kubernetes-image", SHELL_IMAGE), ("kubernetes-files", "sent")], more].concat();
    let mut stand = Stand::closed(cluster, id, &options);
    let common = stand.dir.path().join("common");
    fs::create_dir(&common).unwrap();
    fs::write(common.join("token"), "secret").unwrap();
    stand.spec.writable = vec![common];
    stand.site = Some(KubernetesPlatform.open(&stand.spec, &stand.ledger).await.unwrap());
    stand
}

#[tokio::test(flavor = "multi_thread")]
async fn files_reach_units_through_the_cluster() {
    let Some(mut cluster) = Cluster::start(1) else { return };
    cluster.import_shell().unwrap();
    let secrets = || cluster.kubectl(&["get", "secrets", "-A", "-o", "name"]).unwrap();

    let stand = open(&cluster, "s", &[]).await;
    let unit = unit(&stand);
    stand.create(&unit).await.map_err(|fault| words(&fault)).unwrap();
    assert_eq!(stand.log("store").trim_end(), "given secret");
    assert!(!unit.workdir.join("words").exists(), "the folder of the machine is not the unit's");
    stand.close().await;
    assert_eq!(secrets(), "");

    // In a namespace that others use, too.
    let stand = open(&cluster, "t", &[("kubernetes-namespace", "default")]).await;
    stand.create(&self::unit(&stand)).await.map_err(|fault| words(&fault)).unwrap();
    assert!(secrets().contains("-store"), "{}", secrets());
    stand.close().await;
    assert_eq!(secrets(), "");
}
