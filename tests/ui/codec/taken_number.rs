//! A codec with a number of the library's.

use std::io;

use coalesce::codec::Codec;
use coalesce::coalesce;
use serde::{Serialize, de::DeserializeOwned};

#[derive(Clone, Copy)]
pub struct Mine;

impl Codec for Mine {
    const NUMBER: u8 = 1;

    fn encode<T: Serialize + ?Sized>(_: &T, _: &mut dyn io::Write) -> io::Result<()> {
        Ok(())
    }

    fn decode<T: DeserializeOwned>(_: &[u8]) -> Option<T> {
        None
    }
}

#[coalesce(codec = Mine)]
async fn get(id: u64) -> u64 {
    id
}

fn main() {
    // Found where the call is compiled to machine code.
    let _: Box<dyn Future<Output = u64>> = Box::new(get(1));
}
