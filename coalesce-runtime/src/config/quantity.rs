//! Durations, sizes and switches as people write them.

use std::time::Duration;

use crate::words::policy::Policy;

/// `"250ms"`, `"1h 30m"`; a bare number is seconds.
///
/// # Errors
///
/// A sentence that says what is wrong.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Ok(Duration::from_secs(seconds));
    }
    if text.starts_with('-') {
        return Err(format!("`{text}` is negative"));
    }
    // humantime reads `M` as a month of 30.44 days, which nobody means in a time to live.
    if text
        .bytes()
        .zip(text.bytes().skip(1).chain([b' ']))
        .any(|(unit, next)| unit == b'M' && !next.is_ascii_alphabetic())
    {
        return Err(format!(
            "`{text}` has the unit `M` (months): write `m` for minutes or `30d`"
        ));
    }
    humantime::parse_duration(text).map_err(|error| {
        format!("`{text}` is not a duration such as `250ms`, `30s` or `1h 30m`: {error}")
    })
}

/// `"1MiB"`, `"64 KB"`; a bare number is bytes.
///
/// # Errors
///
/// A sentence that says what is wrong.
pub(crate) fn size(text: &str) -> Result<usize, String> {
    let size: bytesize::ByteSize = text
        .trim()
        .parse()
        .map_err(|_| format!("`{text}` is not a size such as `64KiB` or `1MiB`"))?;
    match usize::try_from(size.as_u64()) {
        Ok(bytes) if (1..=Policy::MAX_PAYLOAD).contains(&bytes) => Ok(bytes),
        _ => Err(format!("`{text}` is not between 1 byte and 511 MiB")),
    }
}

/// `"true"` or `"false"`, and what people write instead.
///
/// # Errors
///
/// A sentence that says what is wrong.
pub(crate) fn switch(text: &str) -> Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "on" | "yes" | "1" => Ok(true),
        "false" | "off" | "no" | "0" => Ok(false),
        _ => Err(format!("`{text}` is neither `true` nor `false`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_people_write_them() {
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration(" 1h 30m "), Ok(Duration::from_secs(5400)));
        assert_eq!(duration("15"), Ok(Duration::from_secs(15)));
        assert_eq!(duration("0"), Ok(Duration::ZERO));
    }

    #[test]
    fn a_duration_that_is_none_says_so() {
        for (text, says) in [
            ("5 parsecs", "not a duration"),
            ("-5s", "negative"),
            ("-5", "negative"),
            ("", "not a duration"),
            ("1M", "months"),
        ] {
            let message = duration(text).unwrap_err();
            assert!(message.contains(says), "{text}: {message}");
        }
    }

    #[test]
    fn sizes_read_as_people_write_them() {
        assert_eq!(size("1MiB"), Ok(1_048_576));
        assert_eq!(size("64 KB"), Ok(64_000));
        assert_eq!(size("2048"), Ok(2048));
        for text in ["0", "1TiB", "big"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn switches_read_as_people_write_them() {
        assert_eq!(switch("TRUE"), Ok(true));
        assert_eq!(switch("off"), Ok(false));
        assert!(switch("maybe").is_err());
    }
}
