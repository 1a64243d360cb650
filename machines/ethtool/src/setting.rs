//! Settings of a device by name, with their values as words.

use std::io;

use crate::Line;

/// The name of the microseconds for which a device may delay an interrupt after a packet. All other names are those of
/// features, such as `rx-gro`, whose values are `on` and `off`.
pub const RX_USECS: &str = "rx-usecs";

/// Reads a setting; `None` if the device has none of this name that can be changed, or the kernel no such interface.
///
/// # Errors
/// If the kernel has no such device.
pub fn read(device: &str, name: &str) -> io::Result<Option<String>> {
    let Ok(mut line) = Line::open() else { return Ok(None) };
    if name == RX_USECS {
        return Ok(line.rx_usecs(device)?.map(|usecs| usecs.to_string()));
    }
    let has = |names: Vec<String>| names.iter().any(|known| known == name);
    if !has(line.changeable_features(device)?) {
        return Ok(None);
    }
    let is_on = has(line.active_features(device)?);
    Ok(Some(if is_on { "on" } else { "off" }.to_owned()))
}

/// Changes a setting, and reads it back.
///
/// # Errors
/// If the kernel or the driver refuses, or keeps another value.
pub fn write(device: &str, name: &str, value: &str) -> io::Result<()> {
    match (name, value) {
        (RX_USECS, value) => {
            let usecs = value.parse().map_err(|_| invalid(value))?;
            Line::open()?.set_rx_usecs(device, usecs)?;
        }
        (feature, "on" | "off") => Line::open()?.set_features(device, &[(feature, value == "on")])?,
        _ => return Err(invalid(value)),
    }
    match read(device, name)? {
        Some(now) if now == value => Ok(()),
        now => {
            let now = now.as_deref().unwrap_or("without it");
            Err(io::Error::other(format!("the driver stays at {now}")))
        }
    }
}

fn invalid(value: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{value:?} is no value"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
    fn settings_of_the_loopback_device_are_read() {
        if let Err(why) = Line::open() {
            println!("skipped: this kernel has no interface of ethtool: {why}");
            return;
        }
        let found = read("lo", "rx-gro").unwrap();
        assert!(matches!(found.as_deref(), Some("on" | "off")), "{found:?}");
        assert_eq!(read("lo", RX_USECS).unwrap(), None, "it has no interrupts");
        assert_eq!(read("lo", "no-such-feature").unwrap(), None);
        assert!(read("no-such-device", "rx-gro").is_err());
        assert!(read("no-such-device", RX_USECS).is_err());
    }

    #[test]
    fn values_are_checked_before_anything_is_set() {
        for (name, value) in [(RX_USECS, "x"), (RX_USECS, "-1"), ("rx-gro", "1"), ("rx-gro", "")] {
            let why = write("no-such-device", name, value).unwrap_err();
            assert_eq!(why.kind(), io::ErrorKind::InvalidInput, "{name} {value}: {why}");
        }
    }
}
