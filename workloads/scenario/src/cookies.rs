//! The cookies of one user, kept until its session ends.
//!
//! There is one target, so a cookie's domain is ignored; path and expiry are used.

mod date;

use barograph_model::Nanos;

/// Most cookies of a target; browsers keep about as many for one site.
const MOST: usize = 180;

/// Longest name and value together, as in browsers.
const LONGEST: usize = 4096;

/// The cookies of one user.
#[derive(Debug, Default)]
pub(crate) struct Jar {
    cookies: Vec<Cookie>,
}

#[derive(Debug)]
struct Cookie {
    name: Vec<u8>,
    value: Vec<u8>,
    /// Prefix of the request's path.
    path: Vec<u8>,
    ends: Option<Nanos>,
}

/// A parsed `set-cookie` header.
#[derive(Debug, PartialEq)]
struct Set<'a> {
    name: &'a [u8],
    value: &'a [u8],
    path: &'a [u8],
    ends: Ends<'a>,
}

#[derive(Debug, PartialEq)]
enum Ends<'a> {
    Never,
    /// Seconds from now.
    After(i64),
    /// On a date.
    On(&'a [u8]),
}

/// The name and the value at the beginning of a `set-cookie` header.
pub(crate) fn pair(header: &[u8]) -> Option<(&[u8], &[u8])> {
    let first = header.split(|b| *b == b';').next()?;
    let at = memchr::memchr(b'=', first)?;
    let (name, value) = (first[..at].trim_ascii(), first[at + 1..].trim_ascii());
    (!name.is_empty() && name.len() + value.len() <= LONGEST).then_some((name, value))
}

fn parse(header: &[u8]) -> Option<Set<'_>> {
    let (name, value) = pair(header)?;
    let mut set = Set { name, value, path: b"/", ends: Ends::Never };
    for attribute in header.split(|b| *b == b';').skip(1) {
        let at = memchr::memchr(b'=', attribute).unwrap_or(attribute.len());
        let key = attribute[..at].trim_ascii();
        let said = attribute.get(at + 1..).unwrap_or_default().trim_ascii();
        if key.eq_ignore_ascii_case(b"path") && said.starts_with(b"/") {
            set.path = said;
        } else if key.eq_ignore_ascii_case(b"max-age") {
            set.ends = seconds(said).map_or(set.ends, Ends::After);
        } else if key.eq_ignore_ascii_case(b"expires") && set.ends == Ends::Never {
            // The age takes precedence, in either order.
            set.ends = Ends::On(said);
        }
    }
    Some(set)
}

/// Parses the seconds of an age: digits, perhaps with a minus sign. Overflow counts as the maximum.
fn seconds(said: &[u8]) -> Option<i64> {
    let digits = said.strip_prefix(b"-").unwrap_or(said);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let most = if said == digits { i64::MAX } else { i64::MIN };
    Some(std::str::from_utf8(said).ok()?.parse().unwrap_or(most))
}

impl Ends<'_> {
    /// The time of expiry; an unreadable date is ignored.
    fn at(&self, now: Nanos) -> Option<Nanos> {
        match self {
            Ends::Never => None,
            Ends::After(seconds) => {
                let seconds = u64::try_from(*seconds).unwrap_or(0);
                Some(Nanos(now.0.saturating_add(seconds.saturating_mul(1_000_000_000))))
            }
            Ends::On(date) => date::parse(date),
        }
    }
}

impl Jar {
    /// Keeps the cookie of a `set-cookie` header, or removes it if it has expired.
    pub(crate) fn set(&mut self, header: &[u8], clock: fn() -> Nanos) {
        let Some(set) = parse(header) else { return };
        let known = self.cookies.iter().position(|c| c.name == set.name && c.path == set.path);
        let ends = match &set.ends {
            // Most cookies last as long as the session: the clock need not be read for them.
            Ends::Never => None,
            ends => {
                let now = clock();
                let ends = ends.at(now);
                if ends.is_some_and(|at| at <= now) {
                    known.map(|at| self.cookies.swap_remove(at));
                    return;
                }
                ends
            }
        };
        match known {
            Some(at) => {
                let cookie = &mut self.cookies[at];
                cookie.value.clear();
                cookie.value.extend_from_slice(set.value);
                cookie.ends = ends;
            }
            None if self.cookies.len() < MOST => self.cookies.push(Cookie {
                name: set.name.to_vec(),
                value: set.value.to_vec(),
                path: set.path.to_vec(),
                ends,
            }),
            None => {}
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }

    /// Appends the cookies for this path as the value of a `cookie` header.
    pub(crate) fn write(&self, path: &[u8], clock: fn() -> Nanos, out: &mut Vec<u8>) {
        let mut between: &[u8] = b"";
        for cookie in self.cookies.iter().filter(|cookie| cookie.goes_to(path, clock)) {
            for piece in [between, &cookie.name, b"=", &cookie.value] {
                out.extend_from_slice(piece);
            }
            between = b"; ";
        }
    }

    pub(crate) fn clear(&mut self) {
        self.cookies.clear();
    }
}

impl Cookie {
    fn goes_to(&self, path: &[u8], clock: fn() -> Nanos) -> bool {
        let path = path.split(|b| *b == b'?').next().unwrap_or_default();
        let below = path.strip_prefix(&*self.path);
        let fits = below.is_some_and(|rest| rest.is_empty() || self.path.ends_with(b"/") || rest[0] == b'/');
        fits && self.ends.is_none_or(|at| clock() < at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn clock() -> Nanos {
        // 2026-01-01T00:00:00Z
        Nanos(1_767_225_600_000_000_000)
    }

    fn sent(headers: &[&str], path: &str) -> String {
        let mut jar = Jar::default();
        headers.iter().for_each(|header| jar.set(header.as_bytes(), clock));
        let mut out = Vec::new();
        jar.write(path.as_bytes(), clock, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn cookies_are_kept_changed_and_forgotten() {
        for (headers, path, line) in [
            (&["a=1; HttpOnly", "b=x y; Path=/"][..], "/", "a=1; b=x y"),
            (&["a=1", "a=2"], "/x", "a=2"),
            (&["a=1", "b=2", "a=; Max-Age=0"], "/", "b=2"),
            (&["a=1; max-age=60; expires=Thu, 01 Jan 1970 00:00:00 GMT"], "/", "a=1"),
            (&["a=1", "a=gone; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], "/", ""),
            (&["a=1; Expires=Fri, 01 Jan 2027 00:00:00 GMT"], "/", "a=1"),
            (&["a=1", "a=; expires=Thu, 01-Jan-1970 00:00:00 GMT"], "/", ""),
            (&["a=1; Expires=Fri, 31 Dec 9999 23:59:59 GMT"], "/", "a=1"),
            (&["a=1; Expires=whenever"], "/", "a=1"),
            (&["a=1", "a=; Max-Age=-1"], "/", ""),
            (&["a=1", "a=2; Max-Age=99999999999999999999"], "/", "a=2"),
            (&["a=1; Max-Age=+0; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], "/", ""),
            (&["a=1; Path=/shop"], "/shop/cart?x=/", "a=1"),
            (&["a=1; Path=/shop"], "/shops", ""),
            (&["a=1; Path=/shop/"], "/shop", ""),
            (&["a=b=c"], "/", "a=b=c"),
            (&["nothing", "=x", ""], "/", ""),
        ] {
            assert_eq!(sent(headers, path), line, "{headers:?} for {path}");
        }
    }

    #[test]
    fn a_jar_has_a_bound() {
        let mut jar = Jar::default();
        (0..2 * MOST).for_each(|n| jar.set(format!("c{n}=1").as_bytes(), clock));
        assert_eq!(jar.cookies.len(), MOST);
        jar.set(format!("long={}", "x".repeat(LONGEST)).as_bytes(), clock);
        assert!(jar.cookies.iter().all(|cookie| cookie.name != b"long"));
    }

    proptest! {
        #[test]
        fn no_header_makes_it_panic(headers in prop::collection::vec("[a-b=; /0-9]{0,24}|(?i)a=1; (expires|max-age|path)=.{0,30}", 0..6)) {
            let mut jar = Jar::default();
            headers.iter().for_each(|header| jar.set(header.as_bytes(), clock));
            let mut out = Vec::new();
            jar.write(b"/a", clock, &mut out);
        }
    }
}
