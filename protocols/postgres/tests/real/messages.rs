//! Messages of a server.

/// A message: type, length, body.
pub(crate) fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[tag][..], &length, body].concat()
}

/// All of them, one after the other.
pub(crate) fn all(messages: &[Vec<u8>]) -> Vec<u8> {
    messages.concat()
}

/// The login is taken, and the session is ready.
pub(crate) fn welcome() -> Vec<u8> {
    all(&[
        message(b'R', &[0; 4]),
        message(b'S', b"server_version\x0015.0\0"),
        message(b'K', &[0, 0, 0, 7, 0, 0, 0, 8]),
        ready(),
    ])
}

pub(crate) fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

/// The description of a statement with the parameters and columns of these types.
pub(crate) fn description(parameters: &[u32], columns: &[u32]) -> Vec<u8> {
    let mut types = (parameters.len() as u16).to_be_bytes().to_vec();
    types.extend(parameters.iter().flat_map(|oid| oid.to_be_bytes()));
    let columns = match columns {
        [] => message(b'n', b""),
        columns => message(b'T', &fields(columns)),
    };
    all(&[message(b'1', b""), message(b't', &types), columns])
}

fn fields(columns: &[u32]) -> Vec<u8> {
    let mut body = (columns.len() as u16).to_be_bytes().to_vec();
    for oid in columns {
        body.extend(b"c\0\0\0\0\0\0\0");
        body.extend(oid.to_be_bytes());
        body.extend([0; 8]);
    }
    body
}

pub(crate) fn row(values: &[&[u8]]) -> Vec<u8> {
    let mut body = (values.len() as u16).to_be_bytes().to_vec();
    for value in values {
        body.extend((value.len() as u32).to_be_bytes());
        body.extend_from_slice(value);
    }
    message(b'D', &body)
}

pub(crate) fn bound() -> Vec<u8> {
    message(b'2', b"")
}

pub(crate) fn complete(tag: &str) -> Vec<u8> {
    message(b'C', format!("{tag}\0").as_bytes())
}

pub(crate) fn error(severity: &str, state: &str) -> Vec<u8> {
    message(b'E', format!("S{severity}\0V{severity}\0C{state}\0Msaid\0\0").as_bytes())
}
