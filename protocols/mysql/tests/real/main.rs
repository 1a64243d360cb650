//! Servers of this test that answer well, badly, in part or not at all.

mod broken;
mod logins;
mod messages;
mod peer;
mod random;
mod steady;

#[global_allocator]
static ALLOCATOR: barograph_testkit::CountingAllocator = barograph_testkit::CountingAllocator;

/// Runs `work` on a loop like a worker's.
fn on_worker<T>(work: impl Future<Output = T>) -> T {
    barograph_reactor::block_on(work).unwrap()
}
