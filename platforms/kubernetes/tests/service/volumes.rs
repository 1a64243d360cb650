//! Units with volumes.

use std::fs;
use std::path::Path;

use barograph_platform::{DiskSpec, Platform, Readiness, Unit, UnitFile};
use barograph_platform_kubernetes::KubernetesPlatform;
use barograph_test_kubernetes::Cluster;

use crate::stand::{JOB, Stand, words};

/// A class whose only volume is this folder.
fn class_of(name: &str, folder: &Path) -> String {
    format!(
        "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {{ name: {name} }}\n\
         provisioner: kubernetes.io/no-provisioner\n---\n\
         apiVersion: v1\nkind: PersistentVolume\nmetadata: {{ name: {name} }}\nspec:\n  capacity: {{ storage: 64Mi }}\n  \
         accessModes: [ReadWriteOnce]\n  storageClassName: {name}\n  persistentVolumeReclaimPolicy: Retain\n  \
         hostPath: {{ path: {}, type: Directory }}\n",
        folder.display()
    )
}

/// A site whose unit `store` has a volume of a class.
async fn with_volume(cluster: &Cluster, id: &str, options: &[(&str, &str)]) -> Stand {
    let mut stand = Stand::closed(cluster, id, options);
    stand.spec.disks = vec![DiskSpec { unit: "store".to_owned(), bytes: 32 << 20 }];
    stand.site = Some(KubernetesPlatform.open(&stand.spec, &stand.ledger).await.unwrap());
    stand
}

/// A unit that counts its starts in its folder, beside a file that it was given.
fn store(stand: &Stand) -> Unit {
    let file = UnitFile { path: "conf/words".into(), bytes: b"given".to_vec(), mode: 0o644 };
    let script = "echo again >> conf/words; echo started >> starts; cat conf/words starts";
    Unit { files: vec![file], ..stand.unit("store", script, JOB) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unit_has_a_volume_that_stays_until_its_site_is_closed() {
    let Some(cluster) = Cluster::start(1) else { return };
    let folder = tempfile::tempdir().unwrap();
    cluster.kubectl_with(&["apply", "-f", "-"], &class_of("fast", folder.path())).unwrap();
    let claims = || cluster.kubectl(&["get", "persistentvolumeclaims", "-A", "-o", "name"]).unwrap();

    let stand = with_volume(&cluster, "v", &[("kubernetes-storage-class", "fast")]).await;
    let unit = store(&stand);
    for _ in 0..2 {
        stand.create(&unit).await.map_err(|fault| words(&fault)).unwrap();
    }
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("starts"), "started\nstarted\n");
    assert_eq!(read("conf/words"), "givenagain\nagain\n", "the files are copied once");
    assert!(!unit.workdir.join("starts").exists(), "the folder of the machine is not the unit's");
    assert!(claims().contains("-store"), "{}", claims());
    stand.close().await;
    assert_eq!(claims(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_in_a_shared_namespace_are_removed_and_one_without_a_volume_says_so() {
    let Some(cluster) = Cluster::start(1) else { return };
    let options = [("kubernetes-namespace", "default"), ("kubernetes-storage-class", "absent")];
    let stand = with_volume(&cluster, "w", &options).await;
    let unit = Unit { ready: Readiness::Runs, ..store(&stand) };
    let fault = stand.create(&unit).await.map(drop).unwrap_err();
    let said = words(&fault);
    assert!(said.contains("PersistentVolumeClaims") || said.contains("absent"), "{said}");
    let claims = || cluster.kubectl(&["get", "persistentvolumeclaims", "-n", "default", "-o", "name"]);
    assert!(claims().unwrap().contains("-store"));
    stand.close().await;
    assert_eq!(claims().unwrap(), "");
}
