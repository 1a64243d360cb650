//! Sizes in bytes, as they are written in plans and shown to people.

/// Units of sizes, the largest first.
const UNITS: [(&str, u64); 4] = [("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)];

/// Reads a size as in `4096`, `4k` or `1GiB`; units are powers of 1024.
pub(crate) fn read(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let unit = text[digits..].trim().to_ascii_uppercase();
    let factor = match unit.strip_suffix("IB").unwrap_or(&unit) {
        "" | "B" => 1,
        unit => UNITS.iter().find(|(name, _)| *name == unit)?.1,
    };
    number.checked_mul(factor).filter(|bytes| *bytes > 0)
}

/// A size for people, as in `4 KiB`.
pub(crate) fn shown(bytes: u64) -> String {
    match UNITS.iter().find(|(_, factor)| bytes >= *factor && bytes.is_multiple_of(*factor)) {
        Some((unit, factor)) => format!("{} {unit}iB", bytes / factor),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_shown() {
        for (text, bytes, told) in [
            ("4k", 4_096, "4 KiB"),
            ("4096", 4_096, "4 KiB"),
            ("512 B", 512, "512 bytes"),
            ("1GiB", 1 << 30, "1 GiB"),
            ("1536m", 1536 << 20, "1536 MiB"),
            ("2 T", 2 << 40, "2 TiB"),
        ] {
            assert_eq!(read(text), Some(bytes), "{text}");
            assert_eq!(shown(bytes), told);
        }
        for text in ["", "0", "k", "4x", "-4k", "1.5g", "99999999999999999999", "99999999999T"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
