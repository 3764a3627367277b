//! The operator's tool: `coalesce-ctl --help` says what it can do.

fn main() -> std::process::ExitCode {
    coalesce_runtime::cli::main()
}
