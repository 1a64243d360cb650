//! Static sets: texts and JPEG files of about 100 KB in all, made from a seed. No two servers have equal sets.

use std::fs;
use std::io;
use std::path::Path;

use barograph_data::pictures::{PictureSize, Pictures, PicturesError};
use barograph_data::{Streams, text};

/// Factor of the pictures: 24 KB each.
const PICTURE_FACTOR: f64 = 0.033;

/// Characters of a paragraph.
const PARAGRAPH: usize = 600;

/// Paragraphs of the page and of the further text: 18 KB and 9 KB.
const PARAGRAPHS: [usize; 2] = [30, 15];

/// Path of the page of every set.
pub(crate) const PAGE: &str = "index.html";

/// Files of a set, in the order of a fetch.
pub(crate) const FILES: [&str; 5] = [PAGE, "about.txt", "one.jpg", "two.jpg", "three.jpg"];

/// A file of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SetFile {
    /// Its path below that of the set.
    pub(crate) name: &'static str,
    pub(crate) bytes: Vec<u8>,
}

/// The sets of all servers.
pub(crate) struct Sets {
    pictures: Pictures,
    streams: Streams,
}

impl Sets {
    /// Prepares the sets of a seed.
    ///
    /// # Errors
    /// If pictures are too much alike.
    pub(crate) fn new(seed: u64) -> Result<Self, PicturesError> {
        Ok(Sets { pictures: Pictures::build(seed, PICTURE_FACTOR, 1)?, streams: Streams::new(seed) })
    }

    /// Makes the set of a server.
    pub(crate) fn of(&self, server: u32) -> Vec<SetFile> {
        let mut rng = self.streams.stream("web farm", server.into());
        let mut paragraph = || text::words(&mut rng, PARAGRAPH..=PARAGRAPH);
        let page: String = (0..PARAGRAPHS[0]).map(|_| format!("<p>{}.</p>\n", paragraph())).collect();
        let page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<title>Server {server}</title>\n<h1>Server {server}</h1>\n{page}</html>\n"
        );
        let about: String = (0..PARAGRAPHS[1]).map(|_| format!("{}.\n\n", paragraph())).collect();
        let pictures = (0..3).map(|picture| {
            let mut file = Vec::new();
            self.pictures.compose(u64::from(server) * 3 + picture, PictureSize::Full, &mut file);
            file
        });
        let all = [page.into_bytes(), about.into_bytes()].into_iter().chain(pictures);
        FILES.into_iter().zip(all).map(|(name, bytes)| SetFile { name, bytes }).collect()
    }

    /// Writes the sets of servers 1 to `servers` below a folder, each in a folder with its number.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) fn write(&self, folder: &Path, servers: u32) -> io::Result<()> {
        for server in 1..=servers {
            let own = folder.join(server.to_string());
            fs::create_dir_all(&own)?;
            for file in self.of(server) {
                fs::write(own.join(file.name), file.bytes)?;
            }
        }
        Ok(())
    }
}

/// Media type of a file by its name.
pub(crate) fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.') {
        Some((_, "html")) => "text/html; charset=utf-8",
        Some((_, "txt")) => "text/plain; charset=utf-8",
        Some((_, "jpg")) => "image/jpeg",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_about_100_kb_and_differ_by_server_and_seed() {
        let [sets, same, reseeded] = [7, 7, 8].map(|seed| Sets::new(seed).unwrap());
        let of = |set: &[SetFile]| set.iter().map(|file| file.bytes.len()).sum::<usize>();
        for server in [1, 2, 999] {
            let set = sets.of(server);
            assert!((90_000..=110_000).contains(&of(&set)), "{server}: {}", of(&set));
            assert_eq!(set, same.of(server), "a seed repeats a set");
            let (other, reseeded) = (sets.of(server + 1), reseeded.of(server));
            for (file, (other, reseeded)) in set.iter().zip(other.iter().zip(&reseeded)) {
                assert!(file.bytes != other.bytes && file.bytes != reseeded.bytes, "{}", file.name);
                assert!(
                    !file.name.ends_with("jpg") || file.bytes.starts_with(&[0xff, 0xd8]),
                    "{}",
                    file.name
                );
            }
        }
    }

    #[test]
    fn sets_are_written_below_the_numbers_of_their_servers() {
        let folder = tempfile::tempdir().unwrap();
        let sets = Sets::new(1).unwrap();
        sets.write(folder.path(), 2).unwrap();
        for server in [1, 2] {
            for file in sets.of(server) {
                let path = folder.path().join(server.to_string()).join(file.name);
                assert_eq!(fs::read(path).unwrap(), file.bytes);
            }
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        assert_eq!(media_type(PAGE), "text/html; charset=utf-8");
        assert_eq!(media_type("core"), "application/octet-stream");
    }
}
