//! Messages that distinguish a service with the right protocol from a port that is merely open.

/// Requests a PostgreSQL session of user and database `postgres`: length, protocol 3.0, pairs of texts.
pub(crate) fn postgres_startup() -> Vec<u8> {
    let words = b"user\0postgres\0database\0postgres\0\0";
    let length = (words.len() as u32 + 8).to_be_bytes();
    [&length[..], &196_608_u32.to_be_bytes(), words].concat()
}

/// First bytes of an AMQP 0-9-1 client.
pub(crate) const AMQP_HELLO: &[u8] = b"AMQP\0\0\x09\x01";

/// Asks a MongoDB server to identify itself: `{hello: 1, $db: "admin"}` in one OP_MSG.
pub(crate) fn mongodb_hello() -> Vec<u8> {
    let fields =
        [b"\x10hello\0".as_slice(), &1_u32.to_le_bytes(), b"\x02$db\0", &6_u32.to_le_bytes(), b"admin\0"]
            .concat();
    let document = [&(fields.len() as u32 + 5).to_le_bytes()[..], &fields, b"\0"].concat();
    // Flags and the kind of the only section, then that section.
    let body = [&[0; 5][..], &document].concat();
    let head = [body.len() as u32 + 16, 1, 0, MONGODB_MESSAGE].map(u32::to_le_bytes).concat();
    [head, body].concat()
}

/// Number of OP_MSG, at bytes 12 to 16 of a message.
pub(crate) const MONGODB_MESSAGE: u32 = 2013;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_right() {
        let startup = postgres_startup();
        assert_eq!(startup[..4], u32::try_from(startup.len()).unwrap().to_be_bytes());
        let hello = mongodb_hello();
        assert_eq!(hello[..4], u32::try_from(hello.len()).unwrap().to_le_bytes());
        assert_eq!(hello[21..25], u32::try_from(hello.len() - 21).unwrap().to_le_bytes());
    }
}
