//! The line by which a unit reports that it is ready.

use std::net::SocketAddr;

use serde::Deserialize;

/// Defect of a ready line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadReadyLine {
    /// It has no address.
    #[error("no address in `{0}`")]
    NoAddress(String),
    /// Its address is not "IP:PORT" with a port above 0.
    #[error("no usable address in `{0}`: wanted is IP:PORT")]
    Address(String),
}

/// Further keys are allowed, as the unit may report more.
#[derive(Deserialize)]
struct ReadyLine {
    ready: bool,
    #[serde(default)]
    address: Option<String>,
}

/// Returns the address in a line `{"ready":true,"address":"127.0.0.1:PORT"}`; `None` for any other line.
pub fn ready_address(line: &str) -> Option<Result<SocketAddr, BadReadyLine>> {
    let line = line.trim();
    if !line.starts_with('{') {
        return None;
    }
    let parsed: ReadyLine = serde_json::from_str(line).ok()?;
    if !parsed.ready {
        return None;
    }
    let Some(text) = parsed.address else { return Some(Err(BadReadyLine::NoAddress(line.to_owned()))) };
    match text.parse::<SocketAddr>() {
        Ok(address) if address.port() != 0 => Some(Ok(address)),
        _ => Some(Err(BadReadyLine::Address(line.to_owned()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_ready_line_is_one() {
        let wanted = "127.0.0.1:81".parse().unwrap();
        for line in [
            r#"{"ready":true,"address":"127.0.0.1:81"}"#,
            r#" {"address":"127.0.0.1:81","pid":3,"ready":true} "#,
        ] {
            assert_eq!(ready_address(line), Some(Ok(wanted)));
        }
        for line in [
            "",
            "ready",
            "{",
            r#"{"ready":false,"address":"127.0.0.1:81"}"#,
            r#"{"rows":3}"#,
            "{\"ready\":1}",
        ] {
            assert_eq!(ready_address(line), None, "{line}");
        }
    }

    #[test]
    fn a_wrong_address_is_said() {
        for address in ["localhost:80", "127.0.0.1:0", "127.0.0.1"] {
            let line = format!(r#"{{"ready":true,"address":"{address}"}}"#);
            assert_eq!(ready_address(&line), Some(Err(BadReadyLine::Address(line.clone()))));
        }
        assert!(matches!(ready_address(r#"{"ready":true}"#), Some(Err(BadReadyLine::NoAddress(_)))));
    }
}
