//! Messages of a server.

/// The nonce of the greeting.
pub(crate) const NONCE: [u8; 20] = *b"abcdefghijklmnopqrst";

/// A packet: length, number, body.
pub(crate) fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let [a, b, c, _] = (body.len() as u32).to_le_bytes();
    [&[a, b, c, number][..], body].concat()
}

/// Messages in packets numbered from `first`.
pub(crate) fn numbered(first: u8, bodies: &[Vec<u8>]) -> Vec<u8> {
    bodies.iter().zip(0_u8..).flat_map(|(body, n)| packet(first.wrapping_add(n), body)).collect()
}

/// The answer to a command.
pub(crate) fn answer(bodies: &[Vec<u8>]) -> Vec<u8> {
    numbered(1, bodies)
}

/// The first message of a connection, with these capabilities beside those of every server.
pub(crate) fn greeting_with(plugin: &str, capabilities: u32) -> Vec<u8> {
    let capabilities = (capabilities | 0x0008_8200).to_le_bytes();
    let body = [
        b"\x0a5.5.5-10.11.0-MariaDB\0\x07\0\0\0",
        &NONCE[..8],
        b"\0",
        &capabilities[..2],
        b"\x2d\x02\0",
        &capabilities[2..],
        b"\x15",
        &[0; 10],
        &NONCE[8..],
        b"\0",
        plugin.as_bytes(),
        b"\0",
    ];
    packet(0, &body.concat())
}

/// The first message of a connection.
pub(crate) fn greeting() -> Vec<u8> {
    greeting_with("mysql_native_password", 0)
}

/// Greeting and end of the login: what a connection begins with.
pub(crate) fn welcome() -> [Vec<u8>; 2] {
    [greeting(), packet(2, &ok(0))]
}

/// The end of a statement that has affected this many rows.
pub(crate) fn ok(rows: u8) -> Vec<u8> {
    vec![0, rows, 0, 2, 0, 0, 0]
}

/// The end of columns or rows.
pub(crate) fn end() -> Vec<u8> {
    end_with(2)
}

pub(crate) fn end_with(status: u8) -> Vec<u8> {
    vec![0xfe, 0, 0, status, 0]
}

/// A column of the type with this code.
pub(crate) fn column(code: u8) -> Vec<u8> {
    let charset = if code == 253 { 45 } else { 63 };
    [&b"\x03def\0\0\0\x01c\0\x0c"[..], &[charset, 0, 0, 1, 0, 0, code, 0, 0, 0, 0, 0]].concat()
}

/// A binary row of values without nulls.
pub(crate) fn row(values: &[&[u8]]) -> Vec<u8> {
    let nulls = vec![0; (values.len() + 2).div_ceil(8)];
    [&[0][..], &nulls, &values.concat()].concat()
}

/// The description of a statement with this many parameters, and columns of these types.
pub(crate) fn prepared(parameters: u8, columns: &[u8]) -> Vec<u8> {
    let mut bodies = vec![vec![0, 9, 0, 0, 0, columns.len() as u8, 0, parameters, 0, 0, 0, 0]];
    if parameters > 0 {
        bodies.extend((0..parameters).map(|_| column(253)));
        bodies.push(end());
    }
    if !columns.is_empty() {
        bodies.extend(columns.iter().map(|code| column(*code)));
        bodies.push(end());
    }
    answer(&bodies)
}

/// The columns of a result, and their end.
pub(crate) fn head(columns: &[u8]) -> Vec<Vec<u8>> {
    let mut bodies = vec![vec![columns.len() as u8]];
    bodies.extend(columns.iter().map(|code| column(*code)));
    bodies.push(end());
    bodies
}

pub(crate) fn error(code: u16, state: &str) -> Vec<u8> {
    [&[0xff][..], &code.to_le_bytes(), b"#", state.as_bytes(), b"said"].concat()
}
