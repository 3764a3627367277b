//! The token: the unguessable owner id of one flight.

use std::fmt;

/// Owner id of one flight: 128 random bits.
///
/// It is the value of the lock while the flight runs and is written into the state the flight
/// leaves, so "is this mine?" and "is this another outcome than the one I saw?" are equality tests.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token([u8; Token::LEN]);

impl Token {
    /// Bytes in a token.
    pub const LEN: usize = 16;

    /// A new token from the operating system's random source.
    ///
    /// Should that source fail, which it does not on any system with a kernel newer than a decade,
    /// the process's own generator stands in: a guessable token is better than no coalescing.
    pub fn random() -> Self {
        let mut bytes = [0; Self::LEN];
        if getrandom::fill(&mut bytes).is_err() {
            bytes = fastrand::u128(..).to_be_bytes();
        }
        Self(bytes)
    }

    /// The token with these bytes.
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// The token's bytes, as the envelope holds them.
    pub const fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    /// The token in 32 lower-case hexadecimal digits, as the lock holds it.
    pub fn to_hex(self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.0))
    }

    /// Reads what [`Token::to_hex`] wrote.
    pub fn from_hex(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text)
            .ok()
            .filter(|text| text.len() == 2 * Self::LEN)?;
        let lower_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if !text.bytes().all(lower_hex) {
            return None;
        }
        u128::from_str_radix(text, 16)
            .ok()
            .map(|value| Self(value.to_be_bytes()))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The head is enough to tell two flights apart in a log and too little to forge an owner.
        write!(f, "Token({}…)", &self.to_hex()[..8])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_round_trips_and_keeps_leading_zeros() {
        let token = Token::from_bytes([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255]);
        assert_eq!(token.to_hex(), "000102030405060708090a0b0c0d0eff");
        assert_eq!(Token::from_hex(token.to_hex().as_bytes()), Some(token));
    }

    #[test]
    fn only_the_exact_form_is_read() {
        for text in [
            "",
            "00",
            "+00102030405060708090a0b0c0d0eff",
            "000102030405060708090A0B0C0D0EFF",
        ] {
            assert_eq!(Token::from_hex(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn debug_shows_too_little_to_own_a_flight() {
        let token = Token::from_bytes([0xab; Token::LEN]);
        assert_eq!(format!("{token:?}"), "Token(abababab…)");
    }

    /// Chance fails this once in 10^590 times, and a counter or a clock always.
    #[test]
    fn each_bit_of_a_token_is_random() {
        let tokens: Vec<_> = (0..2_000).map(|_| Token::random()).collect();
        let all: std::collections::HashSet<_> = tokens.iter().collect();
        assert_eq!(all.len(), tokens.len());
        for bit in 0..128 {
            let set = |token: &&Token| token.as_bytes()[bit / 8] >> (bit % 8) & 1 == 1;
            let ones = tokens.iter().filter(set).count();
            assert!((1..2_000).contains(&ones), "bit {bit}: {ones}");
        }
    }
}
