//! Quantities of processors and memory as a cluster writes them.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// Returns processor time, in thousandths of a core.
pub(crate) fn cores(cores: f64) -> Quantity {
    const THOUSANDTHS: f64 = 1e3;
    Quantity(format!("{}m", (cores * THOUSANDTHS).ceil().max(1.0) as u64))
}

/// Returns bytes.
pub(crate) fn bytes(bytes: u64) -> Quantity {
    Quantity(bytes.to_string())
}

/// Reads a quantity: a number with a suffix for a power of ten or of two. `None` if it is none.
pub(crate) fn read(quantity: &Quantity) -> Option<f64> {
    let text = quantity.0.trim();
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    const SUFFIXES: [(&str, f64); 13] = [
        ("Ki", 1024.0),
        ("Mi", 1024.0 * 1024.0),
        ("Gi", 1024.0 * 1024.0 * 1024.0),
        ("Ti", 1024.0 * 1024.0 * 1024.0 * 1024.0),
        ("Pi", 1024.0 * 1024.0 * 1024.0 * 1024.0 * 1024.0),
        ("n", 1e-9),
        ("u", 1e-6),
        ("m", 1e-3),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("P", 1e15),
    ];
    let (number, factor) =
        SUFFIXES.iter().find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, factor)))?;
    Some(number.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_written_and_read() {
        assert_eq!(cores(0.25), Quantity("250m".to_owned()));
        assert_eq!(cores(0.0001), Quantity("1m".to_owned()), "nothing is no limit");
        assert_eq!(bytes(64 << 20), Quantity("67108864".to_owned()));
        for (text, number) in
            [("2", 2.0), ("1500m", 1.5), ("4Gi", 4_294_967_296.0), ("1e3", 1e3), ("2k", 2e3)]
        {
            assert_eq!(read(&Quantity(text.to_owned())), Some(number), "{text}");
        }
        for text in ["", "many", "Gi"] {
            assert_eq!(read(&Quantity(text.to_owned())), None, "{text}");
        }
    }
}
