//! The same tests for every place of pictures, with real services behind them.

mod s3;
mod service;

use std::path::Path;
use std::time::{Duration, Instant};

use barograph_auction_api::{ImageId, ImageSize};
use barograph_store_images::{Limits, PictureError, PictureLocation, Pictures, load, path_of};
use barograph_test_s3::{BUCKET, S3, SECRET};
use barograph_testkit::one_of_async;
use bytes::Bytes;
use tempfile::TempDir;

const SMALL: i64 = 150;
const FULL: i64 = 20;
const STAMP: &str = "data set 1";

/// Longer than all attempts of an upload together.
const PATIENCE: Duration = Duration::from_secs(60);

fn picture(id: i64, size: ImageSize) -> Vec<u8> {
    let length = if size == ImageSize::Full { 200_000 } else { 2_000 };
    let (id, size) = (id as u8, size.name().len() as u8);
    (0..length).map(|at| (at as u8).wrapping_mul(id).wrapping_add(size)).collect()
}

/// The images folder of a fill: many small pictures, and some in full size, in more than one folder.
fn filled() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let all = (1..=SMALL).map(|n| n * 10);
    for id in all.clone() {
        write(dir.path(), id, ImageSize::Thumbnail);
        write(dir.path(), id, ImageSize::Preview);
    }
    all.take(FULL as usize).for_each(|id| write(dir.path(), id, ImageSize::Full));
    std::fs::write(dir.path().join("thumbnail/0/notes.txt"), "not a picture").unwrap();
    dir
}

fn write(dir: &Path, id: i64, size: ImageSize) {
    let path = dir.join(path_of(ImageId(id), size));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, picture(id, size)).unwrap();
}

/// Loads in a task of its own, which also proves that a load is `Send`.
async fn load_all(
    from: &Path,
    to: &PictureLocation,
    stamp: &'static str,
) -> Result<Vec<(u64, u64)>, PictureError> {
    let (from, to) = (from.to_owned(), to.clone());
    let loading = tokio::spawn(async move {
        let mut told = Vec::new();
        load(&from, &to, stamp, &mut |done, of| told.push((done, of))).await.map(|()| told)
    });
    loading.await.unwrap()
}

async fn open(place: &PictureLocation) -> Pictures {
    Pictures::open(place, Limits::default()).await.unwrap()
}

async fn full(pictures: &Pictures, id: i64) -> Option<Bytes> {
    pictures.get(ImageId(id), ImageSize::Full).await.unwrap()
}

/// Loads, reads everything back, uploads, and reads the upload on another node.
async fn holds_what_was_loaded_and_uploaded(place: &PictureLocation) {
    let filled = filled();
    let told = load_all(filled.path(), place, STAMP).await.unwrap();
    let total = (2 * SMALL + FULL) as u64;
    assert_eq!((told.first(), told.last()), (Some(&(0, total)), Some(&(total, total))));

    let pictures = open(place).await;
    pictures.ping().await.unwrap();
    for (n, size) in (1..=SMALL).flat_map(|n| [(n, ImageSize::Thumbnail), (n, ImageSize::Preview)]) {
        let found = pictures.get(ImageId(n * 10), size).await.unwrap();
        assert_eq!(found.unwrap(), picture(n * 10, size));
    }
    assert_eq!(full(&pictures, 10).await.unwrap(), picture(10, ImageSize::Full));
    assert_eq!(full(&pictures, SMALL * 10).await, None);
    let smaller = pictures.get_or_smaller(ImageId(SMALL * 10), ImageSize::Full).await.unwrap().unwrap();
    assert_eq!(smaller, (ImageSize::Preview, picture(SMALL * 10, ImageSize::Preview).into()));
    assert_eq!(pictures.get(ImageId(11), ImageSize::Thumbnail).await.unwrap(), None);

    let large: Bytes = picture(99, ImageSize::Full).repeat(25).into();
    pictures.put(ImageId(99_999), large.clone()).unwrap();
    assert_eq!(full(&pictures, 99_999).await.unwrap(), large);
    assert_eq!(pictures.close().await, 0);
    let counts = pictures.counts();
    assert_eq!((counts.written, counts.failed, counts.last_error), (1, 0, None));
    assert!(full(&open(place).await, 99_999).await.unwrap() == large);
}

/// A load empties the place first, and only a complete one leaves a stamp.
async fn is_emptied_by_a_load(place: &PictureLocation) {
    assert_eq!(open(place).await.stamp().await.unwrap().as_deref(), Some(STAMP));
    let filled = filled();
    std::fs::remove_dir_all(filled.path().join("full")).unwrap();
    load_all(filled.path(), place, "data set 2").await.unwrap();
    let pictures = open(place).await;
    assert_eq!(pictures.stamp().await.unwrap().as_deref(), Some("data set 2"));
    assert_eq!((full(&pictures, 99_999).await, full(&pictures, 10).await), (None, None));
    let thumbnail = pictures.get(ImageId(10), ImageSize::Thumbnail).await.unwrap();
    assert_eq!(thumbnail.unwrap(), picture(10, ImageSize::Thumbnail));

    let broken = filled.path().join("thumbnail/0/10.jpg");
    std::fs::remove_file(&broken).unwrap();
    std::os::unix::fs::symlink("nowhere", &broken).unwrap();
    let failed = load_all(filled.path(), place, "data set 3").await.unwrap_err();
    assert_eq!(failed.to_string(), format!("read {}", broken.display()));
    assert_eq!(open(place).await.stamp().await.unwrap(), None);
}

/// Number of outages.
const OUTAGES: usize = 4;

/// Time for which an upload is retried.
const TRIED_FOR: Duration = Duration::from_secs(10);

/// A server that is killed and returns is used again; uploads in between are written. On a busy machine the
/// restart may take longer than the retries of an upload, and then another outage decides.
async fn outlives_its_server(place: &PictureLocation, server: &mut dyn Server) {
    one_of_async(OUTAGES, async || outlives_an_outage(place, server).await).await;
}

/// Returns an error if the outage was longer than the retries of an upload.
async fn outlives_an_outage(place: &PictureLocation, server: &mut dyn Server) -> Result<(), String> {
    let pictures = open(place).await;
    pictures.put(ImageId(1), Bytes::from_static(b"before")).unwrap();
    pictures.flush().await;
    let began = Instant::now();
    server.kill().await;
    pictures.put(ImageId(2), Bytes::from_static(b"meanwhile")).unwrap();
    let failed = pictures.get(ImageId(1), ImageSize::Full).await.unwrap_err();
    assert!(failed.is_passing(), "{failed:?}");
    assert!(pictures.ping().await.is_err());
    assert_eq!(full(&pictures, 2).await.unwrap(), "meanwhile");
    server.restart().await;
    let outage = began.elapsed();
    tokio::time::timeout(PATIENCE, pictures.flush()).await.unwrap();
    let counts = pictures.counts();
    if counts.failed > 0 && outage >= TRIED_FOR {
        return Err(format!("the server came back after {outage:?}, and not within {TRIED_FOR:?}"));
    }
    assert_eq!((counts.written, counts.failed), (2, 0), "{:?}", counts.last_error);
    pictures.ping().await.unwrap();
    assert_eq!(full(&pictures, 1).await.unwrap(), "before");
    assert_eq!(full(&open(place).await, 2).await.unwrap(), "meanwhile");
    Ok(())
}

/// A server that can be killed.
trait Server {
    fn kill(&mut self) -> std::pin::Pin<Box<dyn Future<Output = ()> + '_>>;
    fn restart(&mut self) -> std::pin::Pin<Box<dyn Future<Output = ()> + '_>>;
}

async fn all(place: &PictureLocation, server: &mut dyn Server) {
    holds_what_was_loaded_and_uploaded(place).await;
    is_emptied_by_a_load(place).await;
    outlives_its_server(place, server).await;
}

#[tokio::test]
async fn files() {
    let dir = tempfile::tempdir().unwrap();
    let place =
        PictureLocation::Files { read: dir.path().join("read"), write: Some(dir.path().join("write")) };
    holds_what_was_loaded_and_uploaded(&place).await;
    let upload = path_of(ImageId(99_999), ImageSize::Full);
    assert!(dir.path().join("write").join(&upload).is_file());
    assert!(!dir.path().join("read").join(&upload).exists());
    is_emptied_by_a_load(&place).await;
    assert!(!dir.path().join("write").join(&upload).exists());

    let url =
        PictureLocation::Url(format!("file://{}", dir.path().join("by url").display()).replace(' ', "%20"));
    holds_what_was_loaded_and_uploaded(&url).await;
    assert!(dir.path().join("by url").join(upload).is_file());
}

#[tokio::test]
async fn the_folder_of_a_fill_is_used_as_it_is() {
    let filled = filled();
    let uploads = tempfile::tempdir().unwrap();
    let place =
        PictureLocation::Files { read: filled.path().to_owned(), write: Some(uploads.path().to_owned()) };
    assert_eq!(load_all(filled.path(), &place, STAMP).await.unwrap(), []);
    let pictures = open(&place).await;
    assert_eq!(pictures.stamp().await.unwrap(), None);
    assert_eq!(full(&pictures, 10).await.unwrap(), picture(10, ImageSize::Full));
    assert_eq!(pictures.describe().product, "files");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_stores_share_the_pictures() {
    let folders: [TempDir; 3] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    let url = |folder: &TempDir| format!("file://{}", folder.path().display());
    let urls = folders.each_ref().map(url);
    let place = PictureLocation::Url(urls.join(" "));
    holds_what_was_loaded_and_uploaded(&place).await;
    is_emptied_by_a_load(&place).await;
    load_all(filled().path(), &place, STAMP).await.unwrap();
    assert_eq!(open(&place).await.describe().product, "files in 3 shards");
    for id in [10, 20, 30] {
        let path = path_of(ImageId(id), ImageSize::Full);
        let has = folders.each_ref().map(|folder| folder.path().join(&path).exists());
        assert_eq!(has, [0, 1, 2].map(|shard| shard == id % 3), "{id}");
    }
    // A store of another load is noticed.
    load_all(filled().path(), &PictureLocation::Url(urls[1].clone()), "data set 9").await.unwrap();
    assert_eq!(open(&place).await.stamp().await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn s3() {
    let mut server = S3::start().await;
    let place = PictureLocation::Url(server.url());
    all(&place, &mut server).await;
    let described = open(&place).await.describe();
    assert!(!format!("{described:?}").contains(SECRET), "{described:?}");
    let missing = PictureLocation::Url(server.url_of("nothing", SECRET));
    let Err(error) = Pictures::open(&missing, Limits::default()).await else { panic!("opened") };
    assert!(error.to_string().ends_with("there is no such bucket"), "{error:?}");
    let stranger = PictureLocation::Url(server.url_of(BUCKET, "hunter2"));
    let Err(error) = Pictures::open(&stranger, Limits::default()).await else { panic!("opened") };
    assert!(!error.is_passing() && !format!("{error:?}").contains("hunter2"), "{error:?}");
}

#[tokio::test]
async fn a_place_that_cannot_be_says_why_without_its_password() {
    for (url, why) in [
        ("ftp://u:hunter2@host", "pictures can be in"),
        ("postgres://u:hunter2@host:port", "does not understand"),
        ("postgres://u:hunter2@host/db?sslmode=require", "without TLS"),
        ("mongodb://u:hunter2@host:port/db", "does not understand"),
        ("postgres://u:hunter2@127.0.0.1:1/db", "cannot be reached"),
        ("file://host/folder", "file:///folder"),
    ] {
        let Err(error) = Pictures::open(&PictureLocation::Url(url.to_owned()), Limits::default()).await
        else {
            panic!("{url} was opened");
        };
        let says = format!("{error} {error:?}");
        assert!(says.contains(why) && !says.contains("hunter2"), "{says}");
    }
}
