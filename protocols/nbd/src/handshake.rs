//! The fixed newstyle handshake, without input or output.

use crate::NbdError;
use crate::input::Input;

const GREETING: u64 = u64::from_be_bytes(*b"NBDMAGIC");
const NEW_STYLE: u64 = u64::from_be_bytes(*b"IHAVEOPT");
const OLD_STYLE: u64 = 0x0000_4202_8186_1253;
const REPLY: u64 = 0x0003_e889_0455_65a9;

/// Flags of both sides: the fixed newstyle handshake, and no padding of zeros.
const FIXED: u16 = 1;
const NO_ZEROS: u16 = 2;

/// The option that names an export and ends the handshake.
const GO: u32 = 7;

/// Kinds of replies.
const ACKNOWLEDGED: u32 = 1;
const INFORMATION: u32 = 3;
const ERROR: u32 = 1 << 31;

/// Kinds of information.
const OF_EXPORT: u16 = 0;
const OF_BLOCK_SIZES: u16 = 3;

/// Most bytes of a reply: those of a long name and a message.
const LONGEST: u32 = 64 * 1024;

/// Most replies to the option.
const MOST_REPLIES: u32 = 64;

/// Flags of an export.
const READ_ONLY: u16 = 1 << 1;
const CAN_FLUSH: u16 = 1 << 2;

/// An export as its server describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Export {
    /// Bytes.
    pub size: u64,
    /// Whether it can be written to.
    pub writable: bool,
    /// Whether the server knows the command that writes everything to the disk.
    pub flushable: bool,
    /// What the server asks of offsets and lengths, in bytes.
    pub alignment: u32,
    /// Most bytes of a request.
    pub longest: u32,
}

/// A handshake on its way.
#[derive(Debug)]
pub(crate) struct Handshake {
    export: String,
    is_greeted: bool,
    replies: u32,
    /// Size and flags.
    found: Option<(u64, u16)>,
    /// Alignment, and most bytes of a request.
    blocks: (u32, u32),
}

impl Handshake {
    pub(crate) fn new(export: &str) -> Self {
        // Without a word of the server, 32 MiB are the most that every server takes.
        let blocks = (1, 32 << 20);
        Handshake { export: export.to_owned(), is_greeted: false, replies: 0, found: None, blocks }
    }

    /// Takes what has come, and appends what is to be sent; the export at the end.
    pub(crate) fn take(&mut self, input: &mut Input, out: &mut Vec<u8>) -> Result<Option<Export>, NbdError> {
        if !self.is_greeted {
            let Some(flags) = greeting(input)? else { return Ok(None) };
            self.answer(flags, out);
        }
        while let Some((kind, length)) = header(input)? {
            if input.rest().len() < REPLY_HEADER + length {
                return Ok(None);
            }
            input.take(REPLY_HEADER);
            let data = input.rest()[..length].to_vec();
            input.take(length);
            if self.reply(kind, &data)? {
                return self.end().map(Some);
            }
        }
        Ok(None)
    }

    /// Sends flags and the option.
    fn answer(&mut self, flags: u16, out: &mut Vec<u8>) {
        self.is_greeted = true;
        out.extend(u32::from(flags & (FIXED | NO_ZEROS)).to_be_bytes());
        out.extend(NEW_STYLE.to_be_bytes());
        out.extend(GO.to_be_bytes());
        let name = self.export.as_bytes();
        let length = 4 + name.len() as u32 + 2 + 2;
        out.extend(length.to_be_bytes());
        out.extend((name.len() as u32).to_be_bytes());
        out.extend(name);
        // One kind of information is asked for.
        out.extend(1_u16.to_be_bytes());
        out.extend(OF_BLOCK_SIZES.to_be_bytes());
    }

    /// Takes a reply to the option; true if it is the last one.
    fn reply(&mut self, kind: u32, data: &[u8]) -> Result<bool, NbdError> {
        self.replies += 1;
        if self.replies > MOST_REPLIES {
            return Err(NbdError::TooMany(MOST_REPLIES));
        }
        match kind {
            ACKNOWLEDGED => return Ok(true),
            INFORMATION => self.information(data),
            kind if kind & ERROR != 0 => return Err(NbdError::Refused(refusal(kind & !ERROR))),
            _ => {}
        }
        Ok(false)
    }

    fn information(&mut self, data: &[u8]) {
        let short = |at: usize| Some(u16::from_be_bytes(*data.get(at..)?.first_chunk()?));
        let word = |at: usize| Some(u32::from_be_bytes(*data.get(at..)?.first_chunk()?));
        let long = |at: usize| Some(u64::from_be_bytes(*data.get(at..)?.first_chunk()?));
        match short(0) {
            Some(OF_EXPORT) => self.found = long(2).zip(short(10)),
            Some(OF_BLOCK_SIZES) => {
                if let (Some(least), Some(most)) = (word(2), word(10)) {
                    self.blocks = (least.max(1), most);
                }
            }
            _ => {}
        }
    }

    fn end(&self) -> Result<Export, NbdError> {
        let (size, flags) = self.found.ok_or(NbdError::NoSize)?;
        let (alignment, longest) = self.blocks;
        let (writable, flushable) = (flags & READ_ONLY == 0, flags & CAN_FLUSH != 0);
        Ok(Export { size, writable, flushable, alignment, longest })
    }
}

/// Bytes of a greeting.
const GREETING_BYTES: usize = 18;

/// The flags of a greeting; `None` until it is there.
fn greeting(input: &mut Input) -> Result<Option<u16>, NbdError> {
    let word = |at: usize| Some(u64::from_be_bytes(*input.rest().get(at..)?.first_chunk()?));
    match (word(0), word(8)) {
        (Some(first), _) if first != GREETING => return Err(NbdError::NotNbd),
        (_, Some(OLD_STYLE)) => return Err(NbdError::OldStyle),
        (_, Some(second)) if second != NEW_STYLE => return Err(NbdError::NotNbd),
        _ => {}
    }
    let Some([.., high, low]) = input.next::<GREETING_BYTES>() else { return Ok(None) };
    let flags = u16::from_be_bytes([high, low]);
    if flags & FIXED == 0 { Err(NbdError::NotFixed) } else { Ok(Some(flags)) }
}

/// Bytes of a reply before its data.
const REPLY_HEADER: usize = 20;

/// Kind and length of the next reply, which is not taken; `None` until its beginning is there.
fn header(input: &Input) -> Result<Option<(u32, usize)>, NbdError> {
    let word = |at: usize| Some(u32::from_be_bytes(*input.rest().get(at..)?.first_chunk()?));
    let magic = input.rest().first_chunk().map(|magic| u64::from_be_bytes(*magic));
    if magic.is_some_and(|magic| magic != REPLY) {
        return Err(NbdError::NoReply);
    }
    let (Some(option), Some(kind), Some(length)) = (word(8), word(12), word(16)) else { return Ok(None) };
    match (option, length) {
        (GO, length) if length <= LONGEST => Ok(Some((kind, length as usize))),
        (GO, length) => Err(NbdError::TooLong(length)),
        (other, _) => Err(NbdError::OtherOption(other)),
    }
}

/// The meaning of a refusal.
const fn refusal(kind: u32) -> &'static str {
    match kind {
        1 => "it does not know the option GO",
        2 => "its rules forbid it",
        3 => "it calls the option invalid",
        4 => "its platform does not offer it",
        5 => "it asks for TLS",
        6 => "it has no export of this name",
        7 => "it is shutting down",
        8 => "it asks for block sizes",
        9 => "the option is too long for it",
        _ => "for a reason that is not known here",
    }
}
