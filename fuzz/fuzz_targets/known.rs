//! Hands any bytes to the function of the runtime that says what must hold for them: `known`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| coalesce_runtime::fuzzing::known(data));
