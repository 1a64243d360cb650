//! A cluster to try things on: `cargo run -p barograph-test-kubernetes --example cluster -- NODES`. It prints
//! the file of access, starts a server of metrics if it is built, and lives until its input ends.

use std::io::Read;

use barograph_test_kubernetes::Cluster;

#[expect(clippy::print_stdout, reason = "it tells where the cluster is")]
fn main() {
    let nodes = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(2);
    let Some(mut cluster) = Cluster::start(nodes) else { return };
    cluster.start_metrics();
    println!("{}", cluster.access().display());
    // However it ends, the cluster ends with it.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}
