//! Products: what a client sees, what it may write, and what can go wrong with either.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

/// A product as clients see it. It is also what replicas share, so a change of its fields needs a new
/// `version` at the annotated read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, sqlx::FromRow)]
pub struct Product {
    /// Its number.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
    /// What it costs, as text in JSON: a float is no amount of money.
    pub price: Decimal,
    /// How many there are.
    pub stocks: i32,
    /// Whether it is sold.
    pub available: bool,
}

/// What a client may write: everything but the number.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changes {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
    /// What it costs.
    pub price: Decimal,
    /// How many there are.
    pub stocks: i32,
    /// Whether it is sold.
    pub available: bool,
}

const LONGEST_NAME: usize = 200;
const LONGEST_DESCRIPTION: usize = 4000;

impl Changes {
    /// Checks what the table would refuse, and what would read badly. The message names no value.
    ///
    /// # Errors
    ///
    /// The first rule that does not hold.
    pub fn check(&self) -> Result<(), &'static str> {
        let is_line = |text: &str| !text.chars().any(char::is_control);
        let is_text = |text: &str| text.chars().all(|c| c == '\n' || !c.is_control());
        if self.name.trim().is_empty() || self.name.chars().count() > LONGEST_NAME {
            return Err("name has from 1 to 200 characters");
        }
        if !is_line(&self.name) {
            return Err("name is one line without control characters");
        }
        if self.description.chars().count() > LONGEST_DESCRIPTION {
            return Err("description has at most 4000 characters");
        }
        if !is_text(&self.description) {
            return Err("description has no control characters but line breaks");
        }
        let dearest = Decimal::new(9_999_999_999, 2);
        if self.price.is_sign_negative() || self.price > dearest || self.price.scale() > 2 {
            return Err("price is from 0 to 99999999.99, with two decimals at most");
        }
        if self.stocks < 0 {
            return Err("stocks is 0 or more");
        }
        Ok(())
    }
}

/// The number of a product as it stands in a path, if it is one.
pub fn number(text: &str) -> Option<i64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes() -> Changes {
        Changes {
            name: "Lamp".to_owned(),
            description: "It shines.\nBrightly.".to_owned(),
            price: Decimal::new(1990, 2),
            stocks: 3,
            available: true,
        }
    }

    #[test]
    fn what_the_table_would_refuse_is_refused_before() {
        assert_eq!(changes().check(), Ok(()));
        let edits: [fn(&mut Changes); 9] = [
            |changes| changes.name = "  ".to_owned(),
            |changes| changes.name = "x".repeat(LONGEST_NAME + 1),
            |changes| changes.name = "a\0b".to_owned(),
            |changes| changes.description = "x".repeat(LONGEST_DESCRIPTION + 1),
            |changes| changes.description = "a\u{7}".to_owned(),
            |changes| changes.price = Decimal::new(-1, 2),
            |changes| changes.price = Decimal::new(1, 3),
            |changes| changes.price = Decimal::new(100_000_000, 0),
            |changes| changes.stocks = -1,
        ];
        for (at, edit) in edits.iter().enumerate() {
            let mut wrong = changes();
            edit(&mut wrong);
            assert!(wrong.check().is_err(), "edit {at}");
        }
    }

    #[test]
    fn a_number_is_digits_and_fits() {
        assert_eq!(number("1"), Some(1));
        assert_eq!(number("9223372036854775807"), Some(i64::MAX));
        for text in ["", "-1", "+1", "1.0", "abc", "٣", "9223372036854775808"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn a_price_is_text_in_json() {
        let json = r#"{"name":"a","description":"","price":"19.90","stocks":0,"available":false}"#;
        let read: Changes = serde_json::from_str(json).unwrap();
        assert_eq!(read.price, Decimal::new(1990, 2));
        let as_float = json.replace("\"19.90\"", "19.90");
        assert!(serde_json::from_str::<Changes>(&as_float).is_err());
    }
}
