//! What pods have written: answers, one a line, and what is none.

use std::io::BufRead;

use crate::orders::Answer;

/// What was found in the files of a process.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    /// Answers.
    pub(super) answers: u64,
    /// Lines that are none, though others follow. The last line of who was killed may be cut off.
    pub(super) torn: u64,
}

impl Written {
    /// Takes one answer of a file after another.
    pub(super) fn read(&mut self, file: impl BufRead, mut take: impl FnMut(&Answer)) {
        let mut last_is_torn = false;
        for line in file.split(b'\n') {
            self.torn += u64::from(last_is_torn);
            let answer = serde_json::from_slice(&line.expect("a line of an answer"));
            last_is_torn = answer.is_err();
            if let Ok(answer) = answer {
                self.answers += 1;
                take(&answer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_may_be_cut_off_and_no_other() {
        let whole = r#"{"key":"a","of_key":null,"run":null,"ended":null,"caller":null,"error":null,"pid":1,"arrived":1,"answered":2}"#;
        let read = |text: &str| {
            let (mut written, mut taken) = (Written::default(), 0);
            written.read(text.as_bytes(), |_| taken += 1);
            assert_eq!(written.answers, taken);
            (written.answers, written.torn)
        };
        assert_eq!(read(&format!("{whole}\n{whole}\n")), (2, 0));
        assert_eq!(read(&format!("{whole}\n{}", &whole[..40])), (1, 0));
        assert_eq!(read(&format!("{}\n{whole}\n", &whole[..40])), (1, 1));
        assert_eq!(read(""), (0, 0));
    }
}
