//! Detection of a full disk.

use barograph_auction_store::StoreError;

/// Whether a store failed because the disk is full.
#[must_use]
pub fn is_full(error: &StoreError) -> bool {
    let StoreError::Refused { source, .. } = error else { return false };
    let refusal = source.downcast_ref::<rusqlite::Error>();
    refusal.and_then(rusqlite::Error::sqlite_error_code) == Some(rusqlite::ErrorCode::DiskFull)
}
