//! The trace context of a flight: a W3C `traceparent`, as its text and as the bytes behind a payload.

use std::fmt;

/// Which trace a flight was part of, and which span of it ran the body.
///
/// It reaches other processes through Redis, so it is strict: version 00, no id of zeros, and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Traceparent {
    trace: [u8; 16],
    span: [u8; 8],
    flags: u8,
}

impl Traceparent {
    /// Bytes that it takes behind a payload.
    pub const LEN: usize = 25;

    const TEXT_LEN: usize = 55;

    /// Reads `00-<32 digits>-<16 digits>-<2 digits>`, in lower case. `None`: it is anything else.
    ///
    /// ```
    /// # extern crate coalesce_runtime as coalesce;
    /// use coalesce::coordination::Traceparent;
    ///
    /// let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    /// assert_eq!(Traceparent::parse(text).unwrap().to_string(), text);
    /// assert_eq!(Traceparent::parse(&text.to_uppercase()), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let text: &[u8; Self::TEXT_LEN] = text.as_bytes().try_into().ok()?;
        if !text.starts_with(b"00-") || text[35] != b'-' || text[52] != b'-' {
            return None;
        }
        Self {
            trace: unhex(&text[3..35])?,
            span: unhex(&text[36..52])?,
            flags: unhex::<1>(&text[53..])?[0],
        }
        .valid()
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote. `None`: it is none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (trace, rest) = bytes.split_first_chunk()?;
        let (span, rest) = rest.split_first_chunk()?;
        let [flags] = *rest else {
            return None;
        };
        let (trace, span) = (*trace, *span);
        Self { trace, span, flags }.valid()
    }

    /// Its bytes.
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [self.flags; Self::LEN];
        bytes[..16].copy_from_slice(&self.trace);
        bytes[16..24].copy_from_slice(&self.span);
        bytes
    }

    fn valid(self) -> Option<Self> {
        (self.trace != [0; 16] && self.span != [0; 8]).then_some(self)
    }
}

impl fmt::Display for Traceparent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let trace = u128::from_be_bytes(self.trace);
        let span = u64::from_be_bytes(self.span);
        write!(f, "00-{trace:032x}-{span:016x}-{:02x}", self.flags)
    }
}

fn unhex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = 16 * digit(pair[0])? + digit(pair[1])?;
    }
    Some(bytes)
}

const fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn what_was_written_is_read() {
        let parent = Traceparent::parse(TEXT).unwrap();
        assert_eq!(parent.to_string(), TEXT);
        assert_eq!(Traceparent::from_bytes(&parent.to_bytes()), Some(parent));
    }

    #[test]
    fn any_other_text_is_none() {
        for at in 0..TEXT.len() {
            for byte in [b' ', b'G', b'A', b'\n', b'"', b'g'] {
                let mut text = TEXT.as_bytes().to_vec();
                text[at] = byte;
                let text = String::from_utf8(text).unwrap();
                assert_eq!(Traceparent::parse(&text), None, "{text}");
            }
            assert_eq!(Traceparent::parse(&TEXT[..at]), None, "{at}");
        }
        let longer = format!("{TEXT}-00");
        let no_trace = TEXT.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32));
        let no_span = TEXT.replace("00f067aa0ba902b7", &"0".repeat(16));
        let other_version = TEXT.replacen("00", "01", 1);
        for text in [longer, no_trace, no_span, other_version] {
            assert_eq!(Traceparent::parse(&text), None, "{text}");
        }
    }

    #[test]
    fn bytes_of_another_length_or_of_zeros_are_none() {
        let bytes = Traceparent::parse(TEXT).unwrap().to_bytes();
        assert_eq!(Traceparent::from_bytes(&bytes[..24]), None);
        assert_eq!(Traceparent::from_bytes(&[&bytes[..], &[1]].concat()), None);
        assert_eq!(Traceparent::from_bytes(&[0; Traceparent::LEN]), None);
    }
}
