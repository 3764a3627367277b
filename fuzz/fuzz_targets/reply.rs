//! Hands any bytes to the function of the runtime that says what must hold for them: `reply`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| coalesce_runtime::fuzzing::reply(data));
