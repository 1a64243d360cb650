//! Images: uploads to items, and the pictures themselves.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::multipart::{Field, Multipart, MultipartError};
use axum::extract::{FromRequest, Request, State};
use axum::http::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use barograph_auction_api::{
    ErrorCode, ImageAccepted, ImageId, ImageQuery, ImageSize, ItemId, MAX_IMAGES, routes,
};
use barograph_auction_store::{ImageRow, codes};
use barograph_store_images::{PictureKind, kind};
use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::error::ApiError;
use super::extract::{Caller, PathParts, QueryString};
use super::items::{entry, own};
use super::respond;
use crate::app::App;
use crate::ids::Ids;

/// Concurrent uploads; each is held in memory, 16 MiB at the most. More are refused as busy.
const UPLOADS: usize = 16;

/// Time limit of an upload: that of the largest at 2 Mbit/s.
const UPLOAD_TIME: Duration = Duration::from_secs(70);

/// Caching of pictures. They never change, a new one has another number; a year is the longest time that
/// caches accept.
const FOREVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// Permits for uploads.
static READERS: Semaphore = Semaphore::const_new(UPLOADS);

/// Requests that may wait for pictures that other nodes have accepted and not yet written. More are answered
/// at once like requests for pictures that do not exist.
pub(super) const LATE: usize = 64;

/// Looks at the store for such a picture, each after twice the previous pause: 3 s in all, longer than a
/// write queue takes without backlog.
const LATE_LOOKS: u32 = 6;

/// The first pause.
pub(super) const LATE_PAUSE: Duration = Duration::from_millis(50);

/// Permits for waiting requests.
pub(super) static WAITERS: Semaphore = Semaphore::const_new(LATE);

type Answer = Result<Response, ApiError>;

/// `POST /item/{id}/image`
pub(crate) async fn add(
    State(app): State<Arc<App>>,
    caller: Caller,
    PathParts(id): PathParts<i64>,
    request: Request,
) -> Answer {
    let item = own(&app, ItemId(id), caller).await?;
    let number = app.images_of(&[item.id]).await?.first().map_or(0, Vec::len);
    if number >= MAX_IMAGES {
        let text = format!("an item has at most {MAX_IMAGES} images");
        return Err(ApiError::new(ErrorCode::TooManyImages, text));
    }
    let picture = {
        let busy = |_| ApiError::new(ErrorCode::Busy, "too many uploads at the same time");
        let _reader = READERS.try_acquire().map_err(busy)?;
        let slow = |_| ApiError::new(ErrorCode::TooSlow, "the upload did not come in time");
        timeout(UPLOAD_TIME, picture(request)).await.map_err(slow)??
    };
    let image = ImageId(app.ids.next());
    // The picture first: a link without a picture would be served, a picture without a link is never
    // requested.
    app.images.put(image, picture)?;
    let row = ImageRow {
        id: image.0,
        item_id: item.id.0,
        number: i64::try_from(number).unwrap_or(i64::MAX),
        sizes: codes::image::FULL,
        created_ms: app.clock.now(),
    };
    app.events.add_image(row).await?;
    app.item_changed(item.id, item.auction_id);
    let answer = ImageAccepted { id: image, href: routes::image_href(item.id, image) };
    Ok(respond::json(StatusCode::ACCEPTED, &answer))
}

/// Reads the picture of an upload.
async fn picture(request: Request) -> Result<Bytes, ApiError> {
    let form = Multipart::from_request(request, &()).await;
    let mut form = form.map_err(|e| ApiError::new(ErrorCode::NotMultipart, e.body_text()))?;
    let other = || ApiError::bad("the form must have one part, with the name `image`");
    let part = form.next_field().await.map_err(unreadable)?.filter(|part| part.name() == Some("image"));
    let picture = checked(part.ok_or_else(other)?).await?;
    match form.next_field().await.map_err(unreadable)? {
        None => Ok(picture),
        Some(_) => Err(other()),
    }
}

async fn checked(part: Field<'_>) -> Result<Bytes, ApiError> {
    let declared = part.content_type().unwrap_or("").to_owned();
    if !declared.starts_with("image/") {
        let text = format!("the content type of the part is `{declared}`, not one of an image");
        return Err(ApiError::new(ErrorCode::NotAnImage, text));
    }
    let picture = part.bytes().await.map_err(unreadable)?;
    match kind(&picture) {
        Some(PictureKind::Jpeg | PictureKind::Png | PictureKind::Webp) => Ok(picture),
        None => Err(ApiError::new(ErrorCode::NotAnImage, "the part is not a JPEG, PNG or WebP picture")),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what an error is mapped with")]
fn unreadable(error: MultipartError) -> ApiError {
    let large = error.status() == StatusCode::PAYLOAD_TOO_LARGE;
    ApiError::new(if large { ErrorCode::TooLarge } else { ErrorCode::BadRequest }, error.body_text())
}

/// `GET /item/{id}/image/{imageId}`
pub(crate) async fn of_item(
    State(app): State<Arc<App>>,
    _: Caller,
    PathParts((id, image)): PathParts<(i64, i64)>,
    QueryString(query): QueryString<ImageQuery>,
) -> Answer {
    let image = ImageId(image);
    if !entry(&app, ItemId(id)).await?.images.contains(&image) {
        return Err(ApiError::no_such("image of this item"));
    }
    serve(&app, image, query.size).await
}

/// `GET /image/{imageId}/{size}`
pub(crate) async fn for_all(
    State(app): State<Arc<App>>,
    PathParts((image, size)): PathParts<(i64, ImageSize)>,
    headers: HeaderMap,
) -> Answer {
    // Number and size identify the bytes: the store need not be read.
    let tag = format!("\"{image}-{}\"", size.name());
    let tag = HeaderValue::try_from(tag).map_err(|_| ApiError::no_such("image"))?;
    let mut response = if knows(&headers, &tag) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        serve(&app, ImageId(image), size).await?
    };
    response.headers_mut().insert(CACHE_CONTROL, FOREVER);
    response.headers_mut().insert(ETAG, tag);
    Ok(response)
}

/// Whether the client has these bytes. A proxy that compresses makes the tag a weak one, which is as good
/// here.
fn knows(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let known =
        headers.get_all(IF_NONE_MATCH).iter().flat_map(|value| value.as_bytes().split(|&b| b == b','));
    known.map(<[u8]>::trim_ascii).any(|one| one.strip_prefix(b"W/").unwrap_or(one) == tag.as_bytes())
}

async fn serve(app: &App, image: ImageId, size: ImageSize) -> Answer {
    let picture = match app.images.get(image, size).await? {
        Some(picture) => Some(picture),
        None => late(app, image, size).await?,
    };
    let picture = picture.ok_or_else(|| ApiError::no_such("size of this image"))?;
    // Pictures of a fill are JPEG.
    let kind = kind(&picture).unwrap_or(PictureKind::Jpeg).content_type();
    Ok(respond::body(StatusCode::OK, kind, picture))
}

/// Waits a moment for a picture that is not in the store: another node may have announced it and still have
/// it in its write queue.
async fn late(app: &App, image: ImageId, size: ImageSize) -> Result<Option<Bytes>, ApiError> {
    if app.bus.is_none() || size != ImageSize::Full || !Ids::is_of_a_run(image.0) {
        return Ok(None);
    }
    let Ok(_waiter) = WAITERS.try_acquire() else { return Ok(None) };
    let mut pause = LATE_PAUSE;
    for _ in 0..LATE_LOOKS {
        sleep(pause).await;
        pause *= 2;
        if let Some(picture) = app.images.get(image, size).await? {
            return Ok(Some(picture));
        }
    }
    Ok(None)
}
