//! A HAR 1.2 recording, as far as it is read. Browsers leave much out, so nearly everything may be absent.

use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct Recording {
    pub(super) log: Log,
}

#[derive(Deserialize)]
pub(super) struct Log {
    #[serde(default)]
    pub(super) pages: Vec<Page>,
    pub(super) entries: Vec<Entry>,
}

#[derive(Deserialize)]
pub(super) struct Page {
    pub(super) id: String,
    #[serde(default)]
    pub(super) title: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    #[serde(default)]
    pub(super) pageref: String,
    pub(super) started_date_time: String,
    /// Milliseconds from the start to the last byte.
    #[serde(default)]
    pub(super) time: f64,
    pub(super) request: Request,
    pub(super) response: Response,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) url: String,
    #[serde(default)]
    pub(super) headers: Vec<Pair>,
    pub(super) post_data: Option<PostData>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PostData {
    #[serde(default)]
    pub(super) mime_type: String,
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    pub(super) params: Vec<Pair>,
}

#[derive(Deserialize)]
pub(super) struct Response {
    pub(super) status: i64,
    #[serde(default)]
    pub(super) content: Content,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Content {
    #[serde(default)]
    pub(super) mime_type: String,
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    pub(super) encoding: String,
}

#[derive(Deserialize)]
pub(super) struct Pair {
    pub(super) name: String,
    #[serde(default)]
    pub(super) value: String,
}

impl Response {
    /// The media type without its parameters.
    pub(super) fn media_type(&self) -> &str {
        self.content.mime_type.split(';').next().unwrap_or("").trim()
    }

    /// The body as text, where the recording has it.
    pub(super) fn text(&self) -> Option<&str> {
        let text = self.content.text.as_str();
        (self.content.encoding.is_empty() && !text.is_empty()).then_some(text)
    }
}
