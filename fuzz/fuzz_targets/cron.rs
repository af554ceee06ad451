#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ferroflow_fuzz::cron(text));
