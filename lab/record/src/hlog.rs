//! HdrHistogram interval logs: whole histograms per interval and operation, readable by the standard tools.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use barograph_stats::{Histogram, Interval, OpStats};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::interval_log::{
    IntervalLogIterator, IntervalLogWriterBuilder, LogEntry, Tag,
};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};

use crate::keep::name_of;
use crate::{Appender, RecordError};

/// Histograms hold microseconds; the column of the largest value is in milliseconds, as in the standard
/// tools.
const MICROS_PER_MILLI: f64 = 1_000.0;

/// Returns the name of an operation in interval logs: characters that separate lines and columns become
/// underscores.
#[must_use]
pub fn tag(op: &str) -> String {
    op.replace([',', ' ', '\r', '\n'], "_")
}

/// Writes one interval log.
#[derive(Debug)]
pub(crate) struct LogWriter {
    out: Appender<std::fs::File>,
    begun: bool,
}

impl LogWriter {
    pub(crate) fn open(path: PathBuf) -> Result<Self, RecordError> {
        Ok(LogWriter { out: Appender::open(path)?, begun: false })
    }

    /// Appends a line for each operation with samples in the histogram chosen by `pick`.
    pub(crate) fn append(
        &mut self,
        interval: &Interval,
        names: &[&str],
        pick: fn(&OpStats) -> &Histogram,
    ) -> Result<(), RecordError> {
        let mut text = Vec::new();
        let mut serializer = V2DeflateSerializer::new();
        let mut builder = IntervalLogWriterBuilder::new();
        builder.with_max_value_divisor(MICROS_PER_MILLI);
        let encode = |path: &Path, why: Box<dyn std::error::Error + Send + Sync>| RecordError::Encode {
            path: path.to_owned(),
            why,
        };
        let mut log = builder
            .begin_log_with(&mut text, &mut serializer)
            .map_err(|why| encode(self.out.path(), why.into()))?;
        for (i, op) in interval.ops.iter().enumerate().filter(|(_, op)| !pick(op).is_empty()) {
            let name = tag(&name_of(names, i));
            let (from, length) = (interval.from.into(), (interval.to - interval.from).into());
            log.write_histogram(pick(op), from, length, Tag::new(&name))
                .map_err(|why| encode(self.out.path(), why.to_string().into()))?;
        }
        // The builder writes its divisor line at each start; only the file's own header keeps it.
        let body = text.iter().position(|b| *b == b'\n').map_or(&text[..], |end| &text[end + 1..]);
        self.out.bytes(body)
    }

    /// Writes the header once; `zero` is the instant from which intervals are counted.
    pub(crate) fn begin(&mut self, zero: SystemTime) -> Result<(), RecordError> {
        if self.begun {
            return Ok(());
        }
        let since_1970 = zero.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64();
        let mut text = Vec::new();
        writeln!(text, "#[Histogram log format version 1.3]")
            .and_then(|()| writeln!(text, "#Values are microseconds; the tag is the operation."))
            .and_then(|()| writeln!(text, "#[StartTime: {since_1970:.3} (seconds since epoch)]"))
            .and_then(|()| writeln!(text, "#[BaseTime: {since_1970:.3} (seconds since epoch)]"))
            .and_then(|()| writeln!(text, "#[MaxValueDivisor: {MICROS_PER_MILLI:.3}]"))
            .and_then(|()| {
                writeln!(
                    text,
                    "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\""
                )
            })
            .expect("writing to memory does not fail");
        self.out.bytes(&text)?;
        self.begun = true;
        Ok(())
    }

    pub(crate) fn sync(&mut self) -> Result<(), RecordError> {
        self.out.sync()
    }
}

/// One decoded line of an interval log.
#[derive(Clone, Debug)]
pub struct LogHistogram {
    /// Name of the operation.
    pub op: String,
    /// Start of the interval, seconds since the load began.
    pub from_s: f64,
    /// Length of the interval in seconds.
    pub seconds: f64,
    /// The histogram, microseconds.
    pub histogram: Histogram,
}

/// An interval log in memory, decoded line by line during iteration.
#[derive(Clone, Debug)]
pub struct LogReader {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl LogReader {
    /// Reads the file without decoding it.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let bytes = std::fs::read(path).map_err(|why| RecordError::read(path, why))?;
        Ok(LogReader { path: path.to_owned(), bytes })
    }

    /// Returns every histogram in the order written. A line that cannot be decoded (for instance the
    /// truncated last one of a killed run) is an error item; later lines follow.
    pub fn histograms(&self) -> impl Iterator<Item = Result<LogHistogram, RecordError>> + '_ {
        let mut decode = Deserializer::new();
        self.bytes.split_inclusive(|b| *b == b'\n').enumerate().filter_map(move |(i, line)| {
            decode_line(line, &mut decode)
                .transpose()
                .map(|found| found.map_err(|why| RecordError::bad_line(&self.path, i + 1, why)))
        })
    }
}

/// Decodes a line; `None` for comments and headers.
fn decode_line(line: &[u8], decode: &mut Deserializer) -> Result<Option<LogHistogram>, String> {
    let found = match IntervalLogIterator::new(line).next() {
        None | Some(Ok(LogEntry::StartTime(_) | LogEntry::BaseTime(_))) => return Ok(None),
        Some(Ok(LogEntry::Interval(found))) => found,
        Some(Err(_)) => return Err("not a line of an interval log, or cut".to_owned()),
    };
    let bytes = STANDARD.decode(found.encoded_histogram()).map_err(|why| why.to_string())?;
    let histogram = decode.deserialize(&mut &bytes[..]).map_err(|why| why.to_string())?;
    Ok(Some(LogHistogram {
        op: found.tag().map_or_else(String::new, |t| t.as_str().to_owned()),
        from_s: found.start_timestamp().as_secs_f64(),
        seconds: found.duration().as_secs_f64(),
        histogram,
    }))
}
