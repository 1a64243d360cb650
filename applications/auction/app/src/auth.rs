//! Passwords: hashing and verification, with settings for a benchmark.
//!
//! argon2id with 64 KiB of memory, one pass and one lane takes tens of microseconds, so that a login is real
//! work but not most of the application's work. A site with secrets to protect would use a thousand times
//! more.

use argon2::{Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version};

/// Memory of one hash in KiB.
const MEMORY_KIB: u32 = 64;

/// The password of every filled user.
pub(crate) const PASSWORD: &str = barograph_data::names::PASSWORD;

fn hasher() -> Argon2<'static> {
    let params = Params::new(MEMORY_KIB, 1, 1, None).expect("the settings are within argon2's bounds");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

/// The hash of a password as a PHC string, which names algorithm, settings and salt.
pub(crate) fn hash(password: &str, salt: [u8; 16]) -> String {
    hasher()
        .hash_password_with_salt(password.as_bytes(), &salt)
        .expect("a salt of 16 bytes is allowed")
        .to_string()
}

/// Whether a password matches a PHC string; a malformed string matches none.
pub(crate) fn verify(password: &str, phc: &str) -> bool {
    hasher().verify_password(password.as_bytes(), phc).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_belongs_to_its_password_only() {
        let phc = hash(PASSWORD, [7; 16]);
        assert!(phc.starts_with("$argon2id$v=19$m=64,t=1,p=1$"), "{phc}");
        assert!(verify(PASSWORD, &phc));
        assert!(!verify("another", &phc));
        assert!(!verify(PASSWORD, "no hash"));
        assert_ne!(phc, hash(PASSWORD, [8; 16]));
    }
}
