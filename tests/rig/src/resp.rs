//! A connection to Redis that speaks just enough of its protocol for a test to look behind the library's back.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A simple string, or a bulk string.
    Text(Vec<u8>),
    /// A number.
    Number(i64),
    /// Several replies.
    List(Vec<Value>),
    /// Nothing.
    Nil,
    /// What the server did not like.
    Error(String),
}

impl Value {
    /// The text; panics on anything else.
    pub fn text(&self) -> String {
        match self {
            Self::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            other => panic!("a text was expected, not {other:?}"),
        }
    }

    /// The number; panics on anything else.
    pub fn number(&self) -> i64 {
        match self {
            Self::Number(number) => *number,
            other => panic!("a number was expected, not {other:?}"),
        }
    }

    /// The list; panics on anything else.
    pub fn list(self) -> Vec<Self> {
        match self {
            Self::List(list) => list,
            other => panic!("a list was expected, not {other:?}"),
        }
    }

    /// Its bytes as one reads them: an error with its `-`, the parts of a list in lines, `nil` for nothing.
    pub fn bytes(self) -> Vec<u8> {
        match self {
            Self::Text(bytes) => bytes,
            Self::Number(number) => number.to_string().into(),
            Self::List(parts) => {
                let parts: Vec<_> = parts.into_iter().map(Self::bytes).collect();
                parts.join(&b'\n')
            }
            Self::Nil => b"nil".to_vec(),
            Self::Error(text) => format!("-{text}").into(),
        }
    }
}

/// One connection.
#[derive(Debug)]
pub struct Connection(BufReader<TcpStream>);

impl Connection {
    /// Connects to a port on loopback.
    ///
    /// # Errors
    ///
    /// When nobody listens there.
    pub fn open(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Sends a command and reads its reply.
    ///
    /// # Errors
    ///
    /// When the connection breaks.
    pub fn command(&mut self, words: &[&str]) -> io::Result<Value> {
        let words: Vec<_> = words.iter().map(|word| word.as_bytes()).collect();
        self.command_bytes(&words)
    }

    /// The same, for words that are not text.
    ///
    /// # Errors
    ///
    /// When the connection breaks.
    pub fn command_bytes(&mut self, words: &[&[u8]]) -> io::Result<Value> {
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            request.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            request.extend_from_slice(word);
            request.extend_from_slice(b"\r\n");
        }
        self.0.get_mut().write_all(&request)?;
        self.read()
    }

    /// Reads one reply.
    ///
    /// # Errors
    ///
    /// When the connection breaks.
    pub fn read(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (kind, rest) = line.trim_end().split_at(1);
        let length = || rest.parse::<i64>().map_err(io::Error::other);
        Ok(match kind {
            "+" => Value::Text(rest.as_bytes().to_vec()),
            "-" => Value::Error(rest.to_owned()),
            ":" => Value::Number(length()?),
            "$" | "*" if length()? < 0 => Value::Nil,
            "$" => {
                let mut bytes = vec![0; usize::try_from(length()?).map_err(io::Error::other)? + 2];
                self.0.read_exact(&mut bytes)?;
                bytes.truncate(bytes.len() - 2);
                Value::Text(bytes)
            }
            "*" => Value::List(
                (0..length()?)
                    .map(|_| self.read())
                    .collect::<io::Result<_>>()?,
            ),
            other => return Err(io::Error::other(format!("unknown reply kind {other:?}"))),
        })
    }
}
