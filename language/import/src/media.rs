//! Media types and the notation of their bodies.

/// Notation of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MediaKind {
    Json,
    Form,
    Multipart,
    /// Any other text.
    Text,
    /// Bytes that are not text.
    Binary,
}

/// The media type without its parameters, in lower case.
pub(crate) fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
}

/// A parameter of a media type, such as `boundary`.
pub(crate) fn parameter<'t>(media_type: &'t str, name: &str) -> Option<&'t str> {
    let parameters = media_type.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    let mut found = parameters.filter(|(key, _)| key.trim().eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value.trim().trim_matches('"'))
}

/// The notation of a body of this type.
pub(crate) fn kind(media_type: &str) -> MediaKind {
    let essence = essence(media_type);
    let (family, member) = essence.split_once('/').unwrap_or((&essence, ""));
    match (family, member) {
        ("application" | "*", "*") => MediaKind::Json,
        (_, "json") => MediaKind::Json,
        _ if member.ends_with("+json") => MediaKind::Json,
        ("application", "x-www-form-urlencoded") => MediaKind::Form,
        ("multipart", "form-data" | "*") => MediaKind::Multipart,
        _ if member == "xml" || member.ends_with("+xml") => MediaKind::Text,
        ("text" | "multipart" | "message", _) => MediaKind::Text,
        (
            "application",
            "graphql" | "javascript" | "ecmascript" | "csv" | "sql" | "toml" | "jwt" | "jose",
        ) => MediaKind::Text,
        ("application", _) if member.contains("yaml") => MediaKind::Text,
        ("application", _) if member.contains("ndjson") || member.contains("json") => MediaKind::Text,
        _ => MediaKind::Binary,
    }
}

/// A type for a document that allows a range.
pub(crate) fn one_of_range(media_type: &str) -> &str {
    match media_type.trim() {
        "*/*" | "application/*" => "application/json",
        "text/*" => "text/plain",
        "image/*" => "image/png",
        "audio/*" => "audio/mpeg",
        "video/*" => "video/mp4",
        "multipart/*" => "multipart/form-data",
        one => one,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_media_type_has_its_way() {
        let table: [(MediaKind, &[&str]); 5] = [
            (
                MediaKind::Json,
                &[
                    "application/json",
                    "Application/JSON; charset=utf-8",
                    "application/vnd.platform.v1+json",
                    "application/vnd.api+json;ext=x",
                    "application/merge-patch+json",
                    "application/json-patch+json",
                    "application/problem+json",
                    "text/json",
                    "*/*",
                    "application/*",
                ],
            ),
            (
                MediaKind::Form,
                &["application/x-www-form-urlencoded", "application/x-www-form-urlencoded;charset=UTF-8"],
            ),
            (MediaKind::Multipart, &["multipart/form-data", "multipart/form-data; boundary=x"]),
            (
                MediaKind::Text,
                &[
                    "text/plain",
                    "text/csv",
                    "text/xml; charset=utf-8",
                    "application/xml",
                    "application/soap+xml",
                    "image/svg+xml",
                    "application/x-ndjson",
                    "application/json-seq",
                    "application/jsonl",
                    "application/x-yaml",
                    "application/graphql",
                    "multipart/mixed",
                ],
            ),
            (
                MediaKind::Binary,
                &[
                    "application/octet-stream",
                    "image/png",
                    "application/pdf",
                    "application/zip",
                    "audio/mpeg",
                    "x",
                ],
            ),
        ];
        for (expected, types) in table {
            for media_type in types {
                assert_eq!(kind(media_type), expected, "{media_type}");
            }
        }
        assert_eq!(parameter("multipart/form-data; Boundary=\"a b\"", "boundary"), Some("a b"));
        assert_eq!(parameter("multipart/form-data", "boundary"), None);
    }
}
